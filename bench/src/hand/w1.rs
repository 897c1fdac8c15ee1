//! W1: count words. A word is a maximal run of alphabetic characters, lower-cased.

use std::collections::HashMap as StdHashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::on_shares;
use crate::{Failure, Outcome, Params, checksum};

/// How much a reader takes from the file at a time, in bytes.
const READ: usize = 64 * 1024;

type Counts = HashMap<String, u64, FixedState>;

/// The loop: one line buffer, one map a thread, a `String` only for a word not seen before. Each thread takes the lines
/// that start in its part of the file; the maps merge at the end.
///
/// # Errors
/// If the file cannot be read or is not UTF-8.
pub fn counted(params: &Params) -> Result<Outcome, Failure> {
    let length = std::fs::metadata(&params.input)?.len();
    let parts = on_shares(length, params.threads, |part| count_part(&params.input, part));
    let mut all = Counts::default();
    for counts in parts {
        let mut counts = counts?;
        if counts.len() > all.len() {
            std::mem::swap(&mut counts, &mut all);
        }
        for (word, count) in counts {
            *all.entry(word).or_insert(0) += count;
        }
    }
    Ok(outcome(all.iter().map(|(word, count)| (word.as_str(), *count))))
}

/// What one writes first: a `String` for every line and every word, and the standard library's map.
///
/// # Errors
/// If the file cannot be read or is not UTF-8.
pub fn naive(params: &Params) -> Result<Outcome, Failure> {
    let mut counts: StdHashMap<String, u64> = StdHashMap::new();
    for line in BufReader::new(File::open(&params.input)?).lines() {
        for word in line?.split(|char: char| !char.is_alphabetic()) {
            if !word.is_empty() {
                *counts.entry(word.to_lowercase()).or_default() += 1;
            }
        }
    }
    Ok(outcome(counts.iter().map(|(word, count)| (word.as_str(), *count))))
}

fn outcome<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> Outcome {
    counts.fold(Outcome::default(), |sum, (word, count)| {
        Outcome::new(sum.checksum.wrapping_add(checksum::word_count(word, count)), sum.events + count)
    })
}

/// Counts the words of the lines that start within `part`.
fn count_part(path: &Path, part: Range<u64>) -> io::Result<Counts> {
    let mut counts = Counts::default();
    let mut file = File::open(path)?;
    // A line starts after a line end, so the look for one begins a byte early: a line that starts exactly here is ours.
    let mut at = part.start.saturating_sub(1);
    file.seek(SeekFrom::Start(at))?;
    let mut reader = BufReader::with_capacity(READ, file);
    if part.start > 0 {
        at += reader.skip_until(b'\n')? as u64;
    }
    let mut line = String::new();
    while at < part.end {
        line.clear();
        let read = reader.read_line(&mut line)?;
        if read == 0 {
            break;
        }
        at += read as u64;
        count_line(&mut line, &mut counts);
    }
    Ok(counts)
}

/// Counts the words of a line, which it may change.
#[inline]
fn count_line(line: &mut str, counts: &mut Counts) {
    if !line.is_ascii() {
        return count_unicode(line, counts);
    }
    line.make_ascii_lowercase();
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_lowercase() {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && bytes[at].is_ascii_lowercase() {
            at += 1;
        }
        *counts.entry_ref(&line[start..at]).or_insert(0) += 1;
    }
}

/// The same for lines beyond ASCII, where lower case may take other characters and more of them.
#[cold]
fn count_unicode(line: &str, counts: &mut Counts) {
    for word in line.split(|char: char| !char.is_alphabetic()).filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_insert(0) += 1;
    }
}

/// Reads a file through once, so that no system pays for a cold cache.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn warm(path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; READ];
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::text::Text;

    fn params(file: &tempfile::NamedTempFile, threads: usize) -> Params {
        Params { n: 0, threads, keys: 0, input: file.path().to_path_buf(), ..Params::default() }
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn words_are_runs_of_letters_in_lower_case() {
        for (text, word, count) in [
            ("The roof, the ROOF; roofs", "roof", 2),
            ("a1b-a\na", "a", 3),
            ("ÉTÉ été.\nété", "été", 3),
            ("\n\n  \n", "", 0),
            ("no line end", "end", 1),
        ] {
            let counts = count_part(file(text).path(), 0..text.len() as u64).unwrap();
            assert_eq!(counts.get(word).copied().unwrap_or(0), count, "{text:?} gave {counts:?}");
        }
    }

    #[test]
    fn every_split_of_a_file_counts_each_line_once() {
        let text = "one two\n\nthree\nfour one\nÄrger\r\nlast";
        let file = file(text);
        let length = text.len() as u64;
        let whole = count_part(file.path(), 0..length).unwrap();
        assert_eq!(whole.len(), 6);
        for cut in 0..=length {
            let mut sum = count_part(file.path(), 0..cut).unwrap();
            for (word, count) in count_part(file.path(), cut..length).unwrap() {
                *sum.entry(word).or_insert(0) += count;
            }
            assert_eq!(sum, whole, "cut at {cut}");
        }
    }

    #[test]
    fn both_loops_agree_on_any_number_of_threads() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        Text::new(1).write_to(100_000, &mut file).unwrap();
        let expected = naive(&params(&file, 1)).unwrap();
        assert!(expected.events > 10_000);
        for threads in 1..5 {
            assert_eq!(counted(&params(&file, threads)).unwrap(), expected);
        }
    }
}
