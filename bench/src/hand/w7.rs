//! W7: all values of each key together, with little memory: records go to files by their key, then file by file they are
//! sorted.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use super::exchange::owner;
use super::on_shares;
use crate::generate::Generator;
use crate::{Failure, Outcome, Params, checksum};

/// How many files there are.
const FILES: usize = 64;

/// Bytes of a record: a key and a value.
const RECORD: usize = 8;

/// What a group adds to the checksum.
pub const fn answer(key: u64, values: u64, sum: u64) -> u64 {
    checksum::window_count(key, values as i64, sum)
}

/// The loop; several threads share the files.
///
/// # Errors
/// If the temporary files cannot be written or read.
pub fn grouped(params: &Params) -> Result<Outcome, Failure> {
    let events = Generator::new(params.keys);
    let mut files = Vec::new();
    for _ in 0..FILES {
        files.push(BufWriter::with_capacity(64 * 1024, tempfile::tempfile()?));
    }
    for event in (0..params.n).map(|index| events.event(index)) {
        let mut record = [0; RECORD];
        record[..4].copy_from_slice(&(event.key as u32).to_le_bytes());
        record[4..].copy_from_slice(&(event.price as u32).to_le_bytes());
        files[owner(event.key, FILES)].write_all(&record)?;
    }
    let files: Vec<File> = files.into_iter().map(BufWriter::into_inner).collect::<Result<_, _>>()?;
    let sums = on_shares(FILES as u64, params.threads, |share| {
        share.map(|file| groups(&files[file as usize])).sum::<Result<Sum, Failure>>()
    });
    let mut all = 0_u64;
    for sum in sums {
        all = all.wrapping_add(sum?.0);
    }
    Ok(Outcome::new(all, params.n))
}

/// A sum that wraps.
struct Sum(u64);

impl std::iter::Sum for Sum {
    fn sum<I: Iterator<Item = Sum>>(sums: I) -> Sum {
        Sum(checksum::of(sums.map(|sum| sum.0)))
    }
}

/// What the groups of a file add to the checksum.
fn groups(mut file: &File) -> Result<Sum, Failure> {
    let len = file.metadata()?.len() as usize / RECORD;
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let mut records = Vec::with_capacity(len);
    let mut record = [0; RECORD];
    for _ in 0..len {
        reader.read_exact(&mut record)?;
        // Big end first: the key orders.
        let [a, b, c, d, e, f, g, h] = record;
        records.push(u64::from_le_bytes([e, f, g, h, a, b, c, d]));
    }
    records.sort_unstable();
    let groups = records.chunk_by(|a, b| a >> 32 == b >> 32);
    Ok(Sum(checksum::of(groups.map(|group| {
        let sum = group.iter().map(|record| record & 0xffff_ffff).sum();
        answer(group[0] >> 32, group.len() as u64, sum)
    }))))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn groups_have_all_values() {
        let mut params = Params { n: 50_000, threads: 1, keys: 700, ..Params::default() };
        let mut groups: HashMap<u64, (u64, u64)> = HashMap::new();
        for event in (0..params.n).map(|i| Generator::new(params.keys).event(i)) {
            let (values, sum) = groups.entry(event.key).or_default();
            *values += 1;
            *sum += event.price;
        }
        let expected = checksum::of(groups.iter().map(|(key, (values, sum))| answer(*key, *values, *sum)));
        for threads in 1..3 {
            params.threads = threads;
            assert_eq!(grouped(&params).unwrap().checksum, expected);
        }
    }
}
