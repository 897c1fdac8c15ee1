//! What a system is asked to do.

use std::panic;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use crate::Failure;
use crate::nexmark::Preloaded;

/// What a work reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Nothing: the work is the machinery itself.
    Nothing,
    /// Text of `n` bytes, made once and kept.
    Text,
    /// `n` events over this many keys, generated as they are read.
    Events {
        /// How many keys there are.
        keys: u64,
    },
    /// `n` events of an auction house, in memory before the clock starts.
    Nexmark,
}

impl Input {
    /// How many keys the events have; 0 where there are none.
    pub const fn keys(self) -> u64 {
        match self {
            Input::Events { keys } => keys,
            Input::Nothing | Input::Text | Input::Nexmark => 0,
        }
    }
}

/// The size of a work and what it reads.
#[derive(Debug, Clone, Default)]
pub struct Params {
    /// The size: events, or bytes of text.
    pub n: u64,
    /// How many threads may work.
    pub threads: usize,
    /// How many keys the events have.
    pub keys: u64,
    /// The text file; empty for works on generated events.
    pub input: PathBuf,
    /// What is in memory before the clock starts.
    pub preloaded: Arc<Preloaded>,
}

impl Params {
    /// Loads what is to be in memory before the clock starts: on a thread of its own, since memory is given back faster
    /// by the thread that took it, and most systems work on threads of theirs.
    pub fn preload(&mut self) {
        let n = self.n;
        let loading = thread::spawn(move || Preloaded::new(n));
        self.preloaded = Arc::new(loading.join().unwrap_or_else(|cause| panic::resume_unwind(cause)));
    }
}

/// One measurement, as a peer's program is asked for it on its command line.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// The work's name.
    pub work: String,
    /// Its size and input.
    pub params: Params,
}

impl Ask {
    /// The command line that [`Ask::parse`] reads.
    pub fn args(&self) -> [String; 5] {
        [
            self.work.clone(),
            self.params.n.to_string(),
            self.params.threads.to_string(),
            self.params.keys.to_string(),
            self.params.input.display().to_string(),
        ]
    }

    /// Reads a command line without the program's name.
    ///
    /// # Errors
    /// If it is not that of [`Ask::args`].
    ///
    /// ```
    /// use purlin_bench_common::Ask;
    ///
    /// let ask = Ask::parse(["W2", "1000", "2", "10", ""].map(String::from))?;
    /// assert_eq!((ask.params.n, ask.params.threads, ask.params.keys), (1_000, 2, 10));
    /// assert!(Ask::parse([String::from("W2")]).is_err());
    /// # Ok::<(), purlin_bench_common::Failure>(())
    /// ```
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Ask, Failure> {
        let args: Vec<String> = args.into_iter().collect();
        let [work, n, threads, keys, input] = args.as_slice() else {
            return Err("usage: WORK N THREADS KEYS INPUT (what the benchmark asks its peers)".into());
        };
        let params = Params {
            n: n.parse()?,
            threads: threads.parse()?,
            keys: keys.parse()?,
            input: PathBuf::from(input),
            ..Params::default()
        };
        Ok(Ask { work: work.clone(), params })
    }
}
