//! Reading a file, decompressed on the way.

use std::{
    fmt,
    fs::File,
    io::{self, Read, Seek},
    path::Path,
};

use super::{Compression, FileError, FileErrorKind};
#[cfg(any(feature = "gzip", feature = "zstd", feature = "bzip2"))]
use {
    super::members::{Member, Members},
    std::io::BufReader,
};

/// Compressed bytes are taken from the file in pieces of this size.
#[cfg(any(feature = "gzip", feature = "zstd", feature = "bzip2"))]
const CHUNK: usize = 64 << 10;

/// The bytes of a file, decompressed. A plain file is not buffered: whoever reads brings a buffer.
///
/// ```no_run
/// use std::io::Read;
/// use purlin_transforms::io::files::{Compression, Input};
/// let mut text = String::new();
/// Input::open("log.gz".as_ref(), Compression::Auto)?.read_to_string(&mut text)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Input {
    source: Source,
    compression: Compression,
}

enum Source {
    Plain(File),
    #[cfg(any(feature = "gzip", feature = "zstd", feature = "bzip2"))]
    Packed(Box<dyn Read + Send>),
}

impl Input {
    /// Opens `path`. A compressed file is looked at for the mark that its format begins with.
    ///
    /// # Errors
    /// [`Io`](FileErrorKind::Io) where the file cannot be opened; [`Corrupt`](FileErrorKind::Corrupt) where it does
    /// not begin as its compression says; [`Options`](FileErrorKind::Options) where this build leaves the
    /// compression out.
    pub fn open(path: &Path, compression: Compression) -> Result<Input, FileError> {
        let failed = |e| FileError::io(path, format!("cannot open `{}`", path.display()), e);
        let compression = compression.resolve(path);
        let mut file = File::open(path).map_err(failed)?;
        if compression == Compression::None {
            return Ok(Input { source: Source::Plain(file), compression });
        }
        let mut head = Vec::with_capacity(4);
        Read::by_ref(&mut file).take(4).read_to_end(&mut head).map_err(failed)?;
        file.rewind().map_err(failed)?;
        if head.is_empty() {
            return Ok(Input { source: Source::Plain(file), compression });
        }
        if !compression.agrees_with(&head) {
            let (path_text, name) = (path.display(), compression.name());
            let text = format!(
                "`{path_text}` is to be read as {name} but does not begin like it; if it is plain, say \
                 Compression::None, which reads it as it is"
            );
            return Err(FileError::new(FileErrorKind::Corrupt, path, text));
        }
        Ok(Input { source: unpack(file, compression, path)?, compression })
    }

    /// What the file is compressed with: never [`Compression::Auto`].
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// The file itself where it can be entered anywhere.
    pub(crate) fn plain(&mut self) -> Option<&mut File> {
        match &mut self.source {
            Source::Plain(file) => Some(file),
            #[cfg(any(feature = "gzip", feature = "zstd", feature = "bzip2"))]
            Source::Packed(_) => None,
        }
    }
}

/// Puts the decoder in front of `file`; `compression` is resolved.
fn unpack(file: File, compression: Compression, path: &Path) -> Result<Source, FileError> {
    let _ = path; // for the errors of builds with something left out
    #[cfg(any(feature = "gzip", feature = "zstd", feature = "bzip2"))]
    fn members<M: Member<BufReader<File>> + Send + 'static>(file: File, compression: Compression) -> Source {
        let buffered = BufReader::with_capacity(CHUNK, file);
        Source::Packed(Box::new(Members::<_, M>::new(buffered, compression)))
    }
    Ok(match compression {
        Compression::Auto | Compression::None => Source::Plain(file),
        #[cfg(feature = "gzip")]
        Compression::Gzip => members::<flate2::bufread::GzDecoder<_>>(file, compression),
        #[cfg(feature = "zstd")]
        Compression::Zstd => members::<zstd::Decoder<'static, _>>(file, compression),
        #[cfg(feature = "bzip2")]
        Compression::Bzip2 => members::<bzip2::bufread::BzDecoder<_>>(file, compression),
        #[cfg(not(all(feature = "gzip", feature = "zstd", feature = "bzip2")))]
        other => return Err(other.left_out(path)),
    })
}

impl Read for Input {
    /// An error of the decoder comes out as [`io::ErrorKind::InvalidData`], one of the operating system as it is.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.source {
            Source::Plain(file) => file.read(into),
            #[cfg(any(feature = "gzip", feature = "zstd", feature = "bzip2"))]
            Source::Packed(reader) => reader.read(into).map_err(|cause| explain(self.compression, cause)),
        }
    }
}

#[cfg(any(feature = "gzip", feature = "zstd", feature = "bzip2"))]
fn explain(compression: Compression, cause: io::Error) -> io::Error {
    if cause.raw_os_error().is_some() || cause.kind() == io::ErrorKind::Interrupted {
        return cause;
    }
    let name = compression.name();
    let text = match cause.kind() {
        io::ErrorKind::UnexpectedEof => {
            format!("the {name} data is cut off; the file is incomplete, so write or copy it again ({cause})")
        }
        _ => format!("the {name} data is damaged, or something else follows it ({cause})"),
    };
    io::Error::new(io::ErrorKind::InvalidData, text)
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("compression", &self.compression).finish_non_exhaustive()
    }
}
