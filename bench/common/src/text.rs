//! The text of W1: words drawn by Zipf's law (exponent 1.0) from a vocabulary of 100,000, ten words a line.

use std::collections::HashSet;
use std::io::{self, Write};

use crate::generate::{below, splitmix64};

/// How many different words there are.
pub const VOCABULARY: usize = 100_000;

/// How many words a line has.
pub const WORDS_PER_LINE: usize = 10;

/// The longest word, in bytes.
const LONGEST: usize = 15;

/// How many bytes gather before they are written.
const CHUNK: usize = 64 * 1024;

/// A word in a slot of fixed size, so that a draw touches one cache line.
#[derive(Debug, Clone, Copy)]
struct Word {
    bytes: [u8; LONGEST],
    len: u8,
}

impl Word {
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// One column of the alias table: below the threshold the column's own rank, above it the other one.
#[derive(Debug, Clone, Copy)]
struct Column {
    threshold: u32,
    other: u32,
}

/// Writes text. The vocabulary is always the same; the seed chooses the draws.
///
/// ```
/// use purlin_bench_common::text::Text;
///
/// let mut page = Vec::new();
/// let written = Text::new(1).write_to(1_000, &mut page)?;
/// assert!(written >= 1_000 && page.is_ascii() && page.ends_with(b"\n"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Text {
    seed: u64,
    words: Vec<Word>,
    columns: Vec<Column>,
}

impl Text {
    /// A text with a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed: splitmix64(seed), words: vocabulary(), columns: alias_table(VOCABULARY) }
    }

    /// Writes whole lines until at least `bytes` bytes are out, and returns how many there were. The first word of a line
    /// has a capital, so that a count that forgets to fold case is found out. Memory does not grow with the text.
    ///
    /// # Errors
    /// What the writer returns.
    pub fn write_to(&self, bytes: u64, out: &mut impl Write) -> io::Result<u64> {
        let mut buffer = Vec::with_capacity(CHUNK + WORDS_PER_LINE * (LONGEST + 1));
        let (mut written, mut draw) = (0_u64, self.seed);
        while written + (buffer.len() as u64) < bytes {
            let start = buffer.len();
            for _ in 0..WORDS_PER_LINE {
                draw = draw.wrapping_add(1);
                buffer.extend_from_slice(self.words[self.rank(splitmix64(draw))].as_bytes());
                buffer.push(b' ');
            }
            buffer[start].make_ascii_uppercase();
            if let Some(last) = buffer.last_mut() {
                *last = b'\n';
            }
            if buffer.len() >= CHUNK {
                out.write_all(&buffer)?;
                written += buffer.len() as u64;
                buffer.clear();
            }
        }
        out.write_all(&buffer)?;
        out.flush()?;
        Ok(written + buffer.len() as u64)
    }

    /// The rank that a uniform number draws: its upper part picks a column, a part that this leaves free picks the side.
    fn rank(&self, uniform: u64) -> usize {
        let column = below(uniform, VOCABULARY as u64) as usize;
        let Column { threshold, other } = self.columns[column];
        if (uniform as u32) <= threshold { column } else { other as usize }
    }
}

/// All words by rank, each once. Frequent words are short, as in real text: about 6.5 letters a word over all draws.
fn vocabulary() -> Vec<Word> {
    let mut seen = HashSet::with_capacity(VOCABULARY);
    let mut words = Vec::with_capacity(VOCABULARY);
    let mut state = 0;
    while words.len() < VOCABULARY {
        state = splitmix64(state);
        let (shortest, span) = if words.len() < 100 { (3, 4) } else { (6, 5) };
        let len = shortest + below(state, span) as usize;
        let mut bytes = [0; LONGEST];
        for byte in &mut bytes[..len] {
            state = splitmix64(state);
            *byte = b'a' + below(state, 26) as u8;
        }
        if seen.insert(bytes) {
            words.push(Word { bytes, len: len as u8 });
        }
    }
    words
}

/// Walker's alias table (built as Vose does) for weights 1, 1/2, 1/3, ...: a draw in constant time.
fn alias_table(ranks: usize) -> Vec<Column> {
    let total: f64 = (1..=ranks).map(|rank| 1.0 / rank as f64).sum();
    let mut share: Vec<f64> = (1..=ranks).map(|rank| ranks as f64 / (rank as f64 * total)).collect();
    let mut columns: Vec<Column> =
        (0..ranks).map(|rank| Column { threshold: u32::MAX, other: rank as u32 }).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..ranks).partition(|&rank| share[rank] < 1.0);
    while let (Some(&low), Some(&high)) = (small.last(), large.last()) {
        small.pop();
        columns[low] = Column { threshold: (share[low] * f64::from(u32::MAX)) as u32, other: high as u32 };
        share[high] -= 1.0 - share[low];
        if share[high] < 1.0 {
            large.pop();
            small.push(high);
        }
    }
    // What is left over is full but for rounding, and keeps its own rank.
    columns
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn page(seed: u64, bytes: u64) -> String {
        let mut page = Vec::new();
        let written = Text::new(seed).write_to(bytes, &mut page).unwrap();
        assert_eq!(written, page.len() as u64);
        String::from_utf8(page).unwrap()
    }

    #[test]
    fn lines_have_ten_words_and_a_capital() {
        let page = page(0, 200_000);
        assert!(page.len() < 200_000 + WORDS_PER_LINE * (LONGEST + 1));
        for line in page.lines() {
            assert_eq!(line.split(' ').count(), WORDS_PER_LINE);
            assert_eq!(line.bytes().filter(u8::is_ascii_uppercase).count(), 1);
            assert!(line.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b' '));
        }
    }

    #[test]
    fn a_seed_fixes_the_text() {
        assert_eq!(page(3, 10_000), page(3, 10_000));
        assert_ne!(page(3, 10_000), page(4, 10_000));
    }

    #[test]
    fn words_follow_zipf() {
        let text = Text::new(9);
        let page = page(9, 4_000_000).to_ascii_lowercase();
        let mut counts: HashMap<&[u8], f64> = HashMap::new();
        let mut total = 0.0;
        for word in page.split_ascii_whitespace() {
            *counts.entry(word.as_bytes()).or_default() += 1.0;
            total += 1.0;
        }
        let harmonic: f64 = (1..=VOCABULARY).map(|rank| 1.0 / rank as f64).sum();
        for rank in [1, 2, 3, 10, 50, 100, 300] {
            let expected: f64 = total / (harmonic * rank as f64);
            let seen = counts[text.words[rank - 1].as_bytes()];
            assert!((seen - expected).abs() < 5.0 * expected.sqrt(), "rank {rank}: {seen} for {expected}");
        }
        let letters = page.len() as f64 / total - 1.0;
        assert!((6.0..7.0).contains(&letters), "{letters} letters a word");
    }
}
