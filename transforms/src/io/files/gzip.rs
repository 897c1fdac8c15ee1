//! All members of a gzip file.

use std::{
    fmt,
    io::{self, BufRead, Read},
};

use flate2::bufread::GzDecoder;

/// Reads member after member. `flate2::MultiGzDecoder` does so too, but takes zero padding for a damaged header.
pub(super) struct Members<R> {
    state: State<R>,
}

enum State<R> {
    Member(GzDecoder<R>),
    /// Between two members, or before the first.
    Between(R),
    Done,
}

impl<R: BufRead> Members<R> {
    pub(super) fn new(source: R) -> Members<R> {
        Members { state: State::Between(source) }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            match &mut self.state {
                State::Done => return Ok(0),
                State::Member(member) => {
                    let n = member.read(into)?;
                    if n > 0 {
                        return Ok(n);
                    }
                }
                State::Between(source) => match source.fill_buf()?.first() {
                    None => self.state = State::Done,
                    Some(0) => {
                        skip_padding(source)?;
                        self.state = State::Done;
                    }
                    Some(_) => {}
                },
            }
            // One step on: from a member that ended to what follows it, or into the next member. An error above
            // leaves the state as it was, so that it is met again.
            self.state = match std::mem::replace(&mut self.state, State::Done) {
                State::Member(ended) => State::Between(ended.into_inner()),
                State::Between(source) => State::Member(GzDecoder::new(source)),
                State::Done => State::Done,
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
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the zero padding is followed by more data",
            ));
        }
        let n = chunk.len();
        source.consume(n);
    }
}

impl<R> fmt::Debug for Members<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Members")
    }
}
