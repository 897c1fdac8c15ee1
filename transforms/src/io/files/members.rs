//! All members of a compressed file, one after the other.

use std::{
    fmt,
    io::{self, BufRead, Read},
};

use super::Compression;

/// The decoder of one gzip member, zstd frame or bzip2 stream. It takes no byte behind it.
pub(super) trait Member<R>: Read + Sized {
    /// Begins a member at the front of `source`.
    fn begin(source: R) -> io::Result<Self>;
    /// What follows the member, once all of it was read.
    fn into_source(self) -> R;
}

#[cfg(feature = "gzip")]
impl<R: BufRead> Member<R> for flate2::bufread::GzDecoder<R> {
    fn begin(source: R) -> io::Result<Self> {
        Ok(flate2::bufread::GzDecoder::new(source))
    }

    fn into_source(self) -> R {
        self.into_inner()
    }
}

#[cfg(feature = "zstd")]
impl<R: BufRead> Member<R> for zstd::Decoder<'static, R> {
    fn begin(source: R) -> io::Result<Self> {
        Ok(zstd::Decoder::with_buffer(source)?.single_frame())
    }

    fn into_source(self) -> R {
        self.finish()
    }
}

#[cfg(feature = "bzip2")]
impl<R: BufRead> Member<R> for bzip2::bufread::BzDecoder<R> {
    fn begin(source: R) -> io::Result<Self> {
        Ok(bzip2::bufread::BzDecoder::new(source))
    }

    fn into_source(self) -> R {
        self.into_inner()
    }
}

/// Reads member after member. The decoders' own readers of several members do so too, but take what else follows a
/// member for one that is cut off, and zero padding behind gzip for a damaged header.
pub(super) struct Members<R, M> {
    state: State<R, M>,
    compression: Compression,
}

enum State<R, M> {
    Member(M),
    /// Between two members, or before the first.
    Between(R),
    Done,
    Failed,
}

impl<R: BufRead, M: Member<R>> Members<R, M> {
    /// Reads `source`, whose members are compressed like this.
    pub(super) fn new(source: R, compression: Compression) -> Members<R, M> {
        Members { state: State::Between(source), compression }
    }
}

impl<R: BufRead, M: Member<R>> Read for Members<R, M> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            match &mut self.state {
                State::Done => return Ok(0),
                State::Failed => return Err(io::Error::other("the decoder could not be made")),
                State::Member(member) => {
                    let n = member.read(into)?;
                    if n > 0 {
                        return Ok(n);
                    }
                }
                State::Between(source) => match source.fill_buf()? {
                    [] => self.state = State::Done,
                    [0, ..] if self.compression == Compression::Gzip => {
                        skip_padding(source)?;
                        self.state = State::Done;
                    }
                    // The rest of a mark that is cut by the buffer is the decoder's to look at.
                    head if !self.compression.agrees_with(&head[..head.len().min(4)]) => {
                        return Err(invalid("the last member is followed by something that is none"));
                    }
                    _ => {}
                },
            }
            // One step on: from a member that ended to what follows it, or into the next member. An error above
            // leaves the state as it was, so that it is met again.
            self.state = match std::mem::replace(&mut self.state, State::Failed) {
                State::Member(ended) => State::Between(ended.into_source()),
                State::Between(source) => State::Member(M::begin(source)?),
                State::Done => State::Done,
                State::Failed => State::Failed,
            };
        }
    }
}

/// Reads zero bytes up to the end of the file.
fn skip_padding(source: &mut impl BufRead) -> io::Result<()> {
    loop {
        let chunk = source.fill_buf()?;
        if chunk.is_empty() {
            return Ok(());
        }
        if chunk.iter().any(|&b| b != 0) {
            return Err(invalid("the zero padding is followed by more data"));
        }
        let n = chunk.len();
        source.consume(n);
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl<R, M> fmt::Debug for Members<R, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Members")
    }
}
