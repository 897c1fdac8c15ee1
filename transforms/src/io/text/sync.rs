//! Where to begin the search for the first record of a range.
//!
//! A record starts at `s > 0` iff an occurrence of the delimiter `[s - d, s)` is one of those that a search from the
//! front of the file takes. Where occurrences cannot overlap every occurrence is taken, so a search from `start - d`
//! finds the right records. Where they can (`aa` in `aaa`), a search that begins inside a chain of overlapping
//! occurrences may take the wrong ones. It is in step wherever no occurrence lies across the place at which it begins:
//! so we go back to the front of the chain.

use std::io::{self, Read, Seek, SeekFrom};

use super::delimiter::Delimiter;

pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// Bytes looked at in one step backwards.
const BLOCK: u64 = 64 << 10;

/// A place at or before `start - d` from which a search forward finds the delimiters that a search from `floor` does.
/// `floor` is the front of the file or any start of a record.
pub(super) fn search_from<R: Read + Seek>(
    file: &mut R,
    delimiter: &Delimiter,
    start: u64,
    floor: u64,
) -> io::Result<u64> {
    let d = delimiter.len() as u64;
    let mut at = start.saturating_sub(d).max(floor);
    let mut block = Vec::new();
    if !delimiter.overlaps() {
        return above_bom(file, at, floor);
    }
    while at > floor {
        let low = at.saturating_sub(BLOCK.max(2 * d)).max(floor);
        read_range(file, low, at.saturating_add(d - 1), &mut block)?;
        loop {
            // The earliest occurrence that begins before `at` and ends behind it.
            let from = (at + 1).saturating_sub(d).max(floor);
            if from < low {
                break; // the block does not reach back far enough
            }
            let (i, j) = ((from - low) as usize, ((at + d - 1 - low) as usize).min(block.len()));
            match block.get(i..j).and_then(|bytes| delimiter.find(bytes)) {
                Some(found) => at = from + found as u64,
                None => return above_bom(file, at, floor),
            }
            if at == floor {
                break;
            }
        }
    }
    above_bom(file, at, floor)
}

/// `at`, but not inside a byte-order mark, which belongs to no record and to no delimiter.
fn above_bom<R: Read + Seek>(file: &mut R, at: u64, floor: u64) -> io::Result<u64> {
    let mark = BOM.len() as u64;
    if at >= mark || floor > 0 {
        return Ok(at);
    }
    let mut head = Vec::new();
    read_range(file, 0, mark, &mut head)?;
    Ok(if head == BOM { mark } else { at })
}

/// Replaces `into` by the bytes of `[from, to)`, as far as the file has them.
fn read_range<R: Read + Seek>(file: &mut R, from: u64, to: u64, into: &mut Vec<u8>) -> io::Result<()> {
    into.clear();
    file.seek(SeekFrom::Start(from))?;
    file.take(to - from).read_to_end(into)?;
    Ok(())
}
