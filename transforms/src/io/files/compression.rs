//! Which compression a file has.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// How a file is compressed, or is to be.
///
/// Files of several members (`cat a.gz b.gz`), frames (zstd) or streams (bzip2) are read to the end, as the formats say
/// (RFC 1952 section 2.2, RFC 8878 section 3). Zero bytes after the last gzip member are padding, as for `gzip(1)`.
/// Anything else after the data, and data that is cut off, is an error: records are never lost in silence. A file of
/// no bytes holds no records, under each of these.
///
/// A compressed file cannot be entered in its middle, so it is read as one range.
///
/// ```
/// use purlin_transforms::io::files::Compression;
/// assert_eq!(Compression::Auto.resolve("log.txt.GZ".as_ref()), Compression::Gzip);
/// assert!(Compression::Auto.is_splittable("log.txt".as_ref()));
/// assert!(!Compression::Zstd.is_splittable("log.txt".as_ref()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Compression {
    /// By the end of the name, in any case: `.gz` gzip, `.zst` and `.zstd` zstd, `.bz2` bzip2, all else none.
    #[default]
    Auto,
    /// The bytes as they are, whatever the name.
    None,
    /// gzip; needs the cargo feature `gzip`, which is on by default.
    Gzip,
    /// Zstandard; needs the cargo feature `zstd`, which is on by default.
    Zstd,
    /// bzip2; needs the cargo feature `bzip2`, which is on by default.
    Bzip2,
}

impl Compression {
    /// What `Auto` comes to for a file of this name; all others are themselves. Never `Auto`.
    #[must_use]
    pub fn resolve(self, path: &Path) -> Compression {
        if self != Compression::Auto {
            return self;
        }
        let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("gz") => Compression::Gzip,
            Some("zst" | "zstd") => Compression::Zstd,
            Some("bz2") => Compression::Bzip2,
            _ => Compression::None,
        }
    }

    /// Whether a file of this name may be read in several ranges.
    pub fn is_splittable(self, path: &Path) -> bool {
        self.resolve(path) == Compression::None
    }

    /// The name of the format, which is also the cargo feature that it needs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Compression::Auto => "auto",
            Compression::None => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
        }
    }

    /// Whether `head`, the first bytes of a file, could begin such data; `head` may be shorter than the mark.
    pub(crate) fn agrees_with(self, head: &[u8]) -> bool {
        let begins = |mark: &[u8]| head.iter().zip(mark).all(|(a, b)| a == b);
        match self {
            Compression::Auto | Compression::None => true,
            Compression::Gzip => begins(&[0x1f, 0x8b]),
            Compression::Bzip2 => begins(b"BZh"),
            // The second is a skippable frame, whose first half byte is free.
            Compression::Zstd => {
                begins(&[0x28, 0xb5, 0x2f, 0xfd])
                    || (head.first().is_none_or(|b| b & 0xf0 == 0x50)
                        && head.iter().skip(1).zip(&[0x2a, 0x4d, 0x18]).all(|(a, b)| a == b))
            }
        }
    }

    /// What is wrong with it in this build, if the format's feature was left out.
    pub(crate) fn problem(self) -> Option<String> {
        let built_in = match self {
            Compression::Auto | Compression::None => true,
            Compression::Gzip => cfg!(feature = "gzip"),
            Compression::Zstd => cfg!(feature = "zstd"),
            Compression::Bzip2 => cfg!(feature = "bzip2"),
        };
        let name = self.name();
        (!built_in).then(|| {
            format!(
                "its files are {name}, which this build leaves out; turn on the cargo feature `{name}` of \
                 purlin-transforms"
            )
        })
    }

    /// The error of a build without the format's feature.
    #[cfg(not(all(feature = "gzip", feature = "zstd", feature = "bzip2")))]
    pub(crate) fn left_out(self, path: &Path) -> super::FileError {
        let (path, name) = (path.display(), self.name());
        let text = format!(
            "`{path}` is {name}, which this build leaves out; turn on the cargo feature `{name}` of purlin-transforms"
        );
        super::FileError::new(super::FileErrorKind::Options, path.to_string(), text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_under_auto_only() {
        for (name, expected) in [
            ("a.gz", Compression::Gzip),
            ("a.tar.ZST", Compression::Zstd),
            ("a.zstd", Compression::Zstd),
            ("a.bz2", Compression::Bzip2),
            ("a.gz.txt", Compression::None),
            (".gz", Compression::None),
            ("gz", Compression::None),
        ] {
            assert_eq!(Compression::Auto.resolve(name.as_ref()), expected, "{name}");
            assert_eq!(Compression::None.resolve(name.as_ref()), Compression::None);
        }
    }

    #[test]
    fn marks() {
        assert!(Compression::Gzip.agrees_with(&[0x1f]));
        assert!(!Compression::Gzip.agrees_with(&[0x1f, 0x8c, 0, 0]));
        assert!(Compression::Zstd.agrees_with(&[0x5a, 0x2a, 0x4d, 0x18]));
        assert!(Compression::Zstd.agrees_with(&[0x28, 0xb5, 0x2f, 0xfd]));
        assert!(!Compression::Zstd.agrees_with(b"zero"));
        assert!(!Compression::Bzip2.agrees_with(b"BZ1"));
    }
}
