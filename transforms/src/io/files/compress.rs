//! Writing a file, compressed on the way.

use std::{
    fmt,
    fs::File,
    io::{self, Write},
    path::Path,
};

use super::{Compression, FileError};

/// A file and the encoder in front of it.
pub(super) enum Output {
    Plain(File),
    #[cfg(feature = "gzip")]
    Gzip(flate2::write::GzEncoder<File>),
    #[cfg(feature = "zstd")]
    Zstd(zstd::Encoder<'static, File>),
    #[cfg(feature = "bzip2")]
    Bzip2(bzip2::write::BzEncoder<File>),
}

impl Output {
    /// `compression` is resolved; each format at its usual level. `path` is the final name, for errors.
    pub(super) fn new(file: File, compression: Compression, path: &Path) -> Result<Output, FileError> {
        Ok(match compression {
            Compression::Auto | Compression::None => Output::Plain(file),
            #[cfg(feature = "gzip")]
            Compression::Gzip => {
                Output::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            #[cfg(feature = "zstd")]
            Compression::Zstd => {
                let failed =
                    |e| FileError::io(path, format!("cannot start zstd for `{}`", path.display()), e);
                // The checksum is what tells a damaged file; the library leaves it out unless asked.
                let mut encoder = zstd::Encoder::new(file, 0).map_err(failed)?;
                encoder.include_checksum(true).map_err(failed)?;
                Output::Zstd(encoder)
            }
            #[cfg(feature = "bzip2")]
            Compression::Bzip2 => {
                Output::Bzip2(bzip2::write::BzEncoder::new(file, bzip2::Compression::default()))
            }
            #[cfg(not(all(feature = "gzip", feature = "zstd", feature = "bzip2")))]
            other => return Err(other.left_out(path)),
        })
    }

    /// Writes what ends the format and gives the file back.
    pub(super) fn finish(self) -> io::Result<File> {
        match self {
            Output::Plain(file) => Ok(file),
            #[cfg(feature = "gzip")]
            Output::Gzip(encoder) => encoder.finish(),
            #[cfg(feature = "zstd")]
            Output::Zstd(encoder) => encoder.finish(),
            #[cfg(feature = "bzip2")]
            Output::Bzip2(encoder) => encoder.finish(),
        }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Output::Plain(file) => file,
            #[cfg(feature = "gzip")]
            Output::Gzip(encoder) => encoder,
            #[cfg(feature = "zstd")]
            Output::Zstd(encoder) => encoder,
            #[cfg(feature = "bzip2")]
            Output::Bzip2(encoder) => encoder,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}
