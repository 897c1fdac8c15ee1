//! The search for what ends a record.

use memchr::{memchr, memmem};

/// A delimiter made ready for searching.
#[derive(Debug)]
pub(super) enum Delimiter {
    /// LF, with a CR before it that is no part of the record.
    Line,
    Byte(u8),
    Bytes {
        finder: Box<memmem::Finder<'static>>,
        /// Whether two occurrences can overlap, as for `aa` or `aba`.
        overlaps: bool,
    },
}

impl Delimiter {
    /// `bytes` is not empty.
    pub(super) fn new(bytes: Option<&[u8]>) -> Delimiter {
        match bytes {
            None => Delimiter::Line,
            Some(&[byte]) => Delimiter::Byte(byte),
            Some(bytes) => Delimiter::Bytes {
                finder: Box::new(memmem::Finder::new(bytes).into_owned()),
                overlaps: (1..bytes.len()).any(|n| bytes.starts_with(&bytes[bytes.len() - n..])),
            },
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Delimiter::Line | Delimiter::Byte(_) => 1,
            Delimiter::Bytes { finder, .. } => finder.needle().len(),
        }
    }

    pub(super) fn overlaps(&self) -> bool {
        matches!(self, Delimiter::Bytes { overlaps: true, .. })
    }

    /// Where the first occurrence begins.
    #[inline]
    pub(super) fn find(&self, bytes: &[u8]) -> Option<usize> {
        match self {
            Delimiter::Line => memchr(b'\n', bytes),
            Delimiter::Byte(byte) => memchr(*byte, bytes),
            Delimiter::Bytes { finder, .. } => finder.find(bytes),
        }
    }

    /// The record without what belongs to its end.
    #[inline]
    pub(super) fn trim<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        match (self, record) {
            (Delimiter::Line, [rest @ .., b'\r']) => rest,
            _ => record,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_delimiters_overlap_themselves() {
        for (bytes, overlaps) in
            [("aa", true), ("aba", true), ("\n\n", true), ("aab", false), ("abcde", false), ("\r\n", false)]
        {
            assert_eq!(Delimiter::new(Some(bytes.as_bytes())).overlaps(), overlaps, "{bytes}");
        }
    }
}
