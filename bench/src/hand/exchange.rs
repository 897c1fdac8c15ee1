//! Threads that send each record to the owner of its key. Buffers go in batches and come back empty; a thread's own
//! records never leave it; a thread that cannot send receives meanwhile, so that none waits for another in a circle.

use std::mem;

use crossbeam::channel::{Receiver, Sender, TrySendError, bounded, select};

use super::on_threads;
use crate::Failure;
use crate::generate::{BATCH, below};

/// How many batches may wait for a thread.
const WAITING: usize = 16;

/// What a thread does with the records it owns.
pub(super) trait Owner<R> {
    /// Takes a record.
    fn take(&mut self, record: R);

    /// No record before this comes from anybody.
    fn advance(&mut self, watermark: i64);
}

#[derive(Debug)]
struct Message<R> {
    from: usize,
    records: Vec<R>,
    /// What the sender sends after this lies at or after it.
    watermark: i64,
}

/// The thread that owns a key.
#[inline]
pub(super) fn owner(key: u64, threads: usize) -> usize {
    below(key.wrapping_mul(0x9e37_79b9_7f4a_7c15), threads as u64) as usize
}

/// One thread's end of the exchange.
pub(super) struct Worker<'a, R, O> {
    me: usize,
    marks: Vec<i64>,
    outgoing: Vec<Vec<R>>,
    inboxes: &'a [Sender<Message<R>>],
    inbox: &'a Receiver<Message<R>>,
    empties: &'a [Sender<Vec<R>>],
    empty: &'a Receiver<Vec<R>>,
    owner: O,
}

/// Runs `produce` on each thread and returns the owners once all have taken all records.
pub(super) fn run<R: Send, O: Owner<R> + Send>(
    threads: usize,
    owner: impl Fn() -> O + Sync,
    produce: impl Fn(&mut Worker<'_, R, O>) -> Result<(), Failure> + Sync,
) -> Result<Vec<O>, Failure> {
    let threads = threads.max(1);
    let (inboxes, inbox_ends): (Vec<_>, Vec<_>) =
        (0..threads).map(|_| bounded::<Message<R>>(WAITING)).unzip();
    let (empties, empty_ends): (Vec<_>, Vec<_>) =
        (0..threads).map(|_| bounded::<Vec<R>>(WAITING * threads)).unzip();
    let owners = on_threads(threads, |me| {
        let mut worker = Worker {
            me,
            marks: vec![i64::MIN; threads],
            outgoing: (0..threads).map(|_| Vec::with_capacity(BATCH as usize)).collect(),
            inboxes: &inboxes,
            inbox: &inbox_ends[me],
            empties: &empties,
            empty: &empty_ends[me],
            owner: owner(),
        };
        produce(&mut worker)?;
        worker.finish()
    });
    owners.into_iter().collect()
}

impl<R: Send, O: Owner<R>> Worker<'_, R, O> {
    /// Takes a record of a key to the key's owner; what is sent after it lies at or after `watermark`.
    #[inline]
    pub(super) fn give(&mut self, key: u64, record: R, watermark: i64) -> Result<(), Failure> {
        let to = owner(key, self.marks.len());
        if to == self.me {
            self.owner.take(record);
            return Ok(());
        }
        self.outgoing[to].push(record);
        if self.outgoing[to].len() == BATCH as usize { self.send(to, watermark) } else { Ok(()) }
    }

    /// All that this thread gives from now on lies at or after `watermark`. Also takes what others have sent.
    pub(super) fn passed(&mut self, watermark: i64) {
        while let Ok(message) = self.inbox.try_recv() {
            self.receive(message);
        }
        self.advance(self.me, watermark);
    }

    fn finish(mut self) -> Result<O, Failure> {
        let me = self.me;
        for to in (0..self.marks.len()).filter(|&to| to != me) {
            self.send(to, i64::MAX)?;
        }
        self.marks[me] = i64::MAX;
        while self.marks.iter().any(|mark| *mark < i64::MAX) {
            let message = self.inbox.recv()?;
            self.receive(message);
        }
        Ok(self.owner)
    }

    fn send(&mut self, to: usize, watermark: i64) -> Result<(), Failure> {
        let spare = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH as usize));
        let records = mem::replace(&mut self.outgoing[to], spare);
        let (inboxes, inbox) = (self.inboxes, self.inbox);
        let mut message = match inboxes[to].try_send(Message { from: self.me, records, watermark }) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Full(message)) => Some(message),
            Err(gone) => return Err(gone.to_string().into()),
        };
        loop {
            select! {
                recv(inbox) -> received => self.receive(received?),
                send(inboxes[to], message.take().ok_or("a message was sent twice")?) -> sent => {
                    return sent.map_err(|gone| gone.to_string().into());
                }
            }
        }
    }

    fn receive(&mut self, Message { from, mut records, watermark }: Message<R>) {
        for record in records.drain(..) {
            self.owner.take(record);
        }
        // If the sender has enough of them already, the buffer is dropped.
        let _ = self.empties[from].try_send(records);
        self.advance(from, watermark);
    }

    fn advance(&mut self, of: usize, watermark: i64) {
        self.marks[of] = watermark;
        let least = self.marks.iter().copied().min().unwrap_or(i64::MAX);
        if least < i64::MAX {
            self.owner.advance(least);
        }
    }
}
