//! Lines from a socket.

use std::{
    fmt,
    io::{BufRead, BufReader},
    net::{Shutdown, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use purlin_sdk::{DoFnError, Result};

use crate::streaming::{Offset, ReadUpTo, StreamSource};

/// Lines of text from a TCP connection: for trying things out, since what was read cannot be read again after a restart.
/// Source: Spark's `socket`.
pub struct SocketStream {
    host: String,
    port: u16,
    connection: Option<TcpStream>,
    received: Arc<Mutex<Received>>,
}

#[derive(Default)]
struct Received {
    lines: Vec<String>,
    /// Lines before these are gone.
    gone: u64,
    error: Option<String>,
}

impl SocketStream {
    /// Connects to `host` when the query starts.
    pub fn connect(host: impl Into<String>, port: u16) -> SocketStream {
        SocketStream { host: host.into(), port, connection: None, received: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, why: impl fmt::Display) -> DoFnError {
        DoFnError::msg(format!("the socket {}:{} cannot be read: {why}", self.host, self.port))
    }

    fn open(&mut self) -> Result {
        let connection = TcpStream::connect((self.host.as_str(), self.port)).map_err(|e| self.failed(e))?;
        let mut lines = BufReader::new(connection.try_clone()?);
        self.connection = Some(connection);
        let received = self.received.clone();
        thread::Builder::new().name("purlin-socket".into()).spawn(move || {
            loop {
                let mut line = String::new();
                let read = lines.read_line(&mut line);
                let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
                match read {
                    // The other side closed: what is there stays.
                    Ok(0) => break,
                    Ok(_) => received.lines.push(line.trim_end_matches(['\n', '\r']).to_owned()),
                    Err(e) => {
                        received.error = Some(e.to_string());
                        break;
                    }
                }
            }
        })?;
        Ok(())
    }
}

fn number(offset: &Offset) -> Result<u64> {
    offset.as_u64().ok_or_else(|| DoFnError::msg(format!("`{offset}` is no offset of a SocketStream")))
}

impl StreamSource for SocketStream {
    type Row = String;

    fn description(&self) -> String {
        format!("SocketStream[{}:{}]", self.host, self.port)
    }

    fn initial_offset(&mut self) -> Result<Offset> {
        self.open()?;
        Ok(0.into())
    }

    fn latest_offset(&mut self, from: &Offset, up_to: ReadUpTo<'_>) -> Result<Option<Offset>> {
        let from = number(from)?;
        if self.connection.is_none() {
            return Err(self.failed("it cannot go on from a checkpoint, since a socket gives each line once"));
        }
        let received = self.lock();
        if let Some(error) = &received.error {
            return Err(self.failed(error));
        }
        let mut to = received.gone + received.lines.len() as u64;
        if let Some(end) = up_to.end {
            to = to.min(number(end)?);
        }
        Ok((to > from).then(|| to.into()))
    }

    fn read(&mut self, from: &Offset, to: &Offset) -> Result<Vec<String>> {
        let (from, to) = (number(from)?, number(to)?);
        let received = self.lock();
        let range = from.checked_sub(received.gone).zip(to.checked_sub(received.gone));
        let range = range.and_then(|(from, to)| Some(usize::try_from(from).ok()?..usize::try_from(to).ok()?));
        let lines = range.and_then(|range| received.lines.get(range));
        lines.map(<[String]>::to_vec).ok_or_else(|| self.failed("a socket gives each line once"))
    }

    fn commit(&mut self, to: &Offset) -> Result {
        let to = number(to)?;
        let mut received = self.lock();
        let done = usize::try_from(to.saturating_sub(received.gone)).unwrap_or(usize::MAX);
        let done = done.min(received.lines.len());
        received.lines.drain(..done);
        received.gone += done as u64;
        Ok(())
    }

    fn stop(&mut self) {
        if let Some(connection) = self.connection.take() {
            // It may be closed already.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl fmt::Debug for SocketStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description())
    }
}
