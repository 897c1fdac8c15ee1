//! Threads that send each event to the owner of its key. Buffers go in batches and come back empty; a thread's own events
//! never leave it; a thread that cannot send receives meanwhile, so that none waits for another in a circle.

use std::mem;
use std::sync::atomic::AtomicU64;

use crossbeam::channel::{Receiver, Sender, TrySendError, bounded, select};

use super::windows::{Windows, closed_by, results};
use super::{Source, on_threads};
use crate::generate::{BATCH, Generator, below};
use crate::{Failure, Params};

/// How many batches may wait for a thread.
const WAITING: usize = 16;

/// A key and a timestamp: all of an event that its owner needs.
type Record = (u64, i64);

#[derive(Debug)]
struct Message {
    from: usize,
    records: Vec<Record>,
    /// What the sender sends after this lies at or after it.
    watermark: i64,
}

/// Counts, and returns the checksum.
pub(super) fn run(params: &Params) -> Result<u64, Failure> {
    let threads = params.threads.max(1);
    let (inboxes, inbox_ends): (Vec<_>, Vec<_>) = (0..threads).map(|_| bounded::<Message>(WAITING)).unzip();
    let (empties, empty_ends): (Vec<_>, Vec<_>) =
        (0..threads).map(|_| bounded::<Vec<Record>>(WAITING * threads)).unzip();
    let claims = AtomicU64::new(0);
    let sums = on_threads(threads, |me| {
        Worker {
            me,
            windows: Windows::new(),
            marks: vec![i64::MIN; threads],
            outgoing: (0..threads).map(|_| Vec::with_capacity(BATCH as usize)).collect(),
            inboxes: &inboxes,
            inbox: &inbox_ends[me],
            empties: &empties,
            empty: &empty_ends[me],
            sum: 0,
        }
        .run(Source::new(params), &claims)
    });
    sums.into_iter().try_fold(0_u64, |all, sum| Ok(all.wrapping_add(sum?)))
}

struct Worker<'a> {
    me: usize,
    windows: Windows,
    marks: Vec<i64>,
    outgoing: Vec<Vec<Record>>,
    inboxes: &'a [Sender<Message>],
    inbox: &'a Receiver<Message>,
    empties: &'a [Sender<Vec<Record>>],
    empty: &'a Receiver<Vec<Record>>,
    sum: u64,
}

impl Worker<'_> {
    fn run(mut self, mut source: Source, claims: &AtomicU64) -> Result<u64, Failure> {
        let threads = self.marks.len() as u64;
        while let Some(batch) = source.claim(claims) {
            for event in source.fill(batch.clone()) {
                let owner = below(event.key.wrapping_mul(0x9e37_79b9_7f4a_7c15), threads) as usize;
                if owner == self.me {
                    self.windows.count(event.key, event.ts);
                    continue;
                }
                self.outgoing[owner].push((event.key, event.ts));
                if self.outgoing[owner].len() == BATCH as usize {
                    self.send(owner, Generator::watermark(batch.start))?;
                }
            }
            while let Ok(message) = self.inbox.try_recv() {
                self.receive(message);
            }
            self.advance(self.me, Generator::watermark(batch.end));
        }
        let me = self.me;
        for to in (0..self.marks.len()).filter(|&to| to != me) {
            self.send(to, i64::MAX)?;
        }
        self.marks[me] = i64::MAX;
        while self.marks.iter().any(|mark| *mark < i64::MAX) {
            let message = self.inbox.recv()?;
            self.receive(message);
        }
        let sum = &mut self.sum;
        self.windows.close(source.all_closed(), |window, counts| {
            *sum = sum.wrapping_add(results(window, counts));
        });
        Ok(self.sum)
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

    fn receive(&mut self, Message { from, mut records, watermark }: Message) {
        for (key, ts) in records.drain(..) {
            self.windows.count(key, ts);
        }
        // If the sender has enough of them already, the buffer is dropped.
        let _ = self.empties[from].try_send(records);
        self.advance(from, watermark);
    }

    fn advance(&mut self, of: usize, watermark: i64) {
        self.marks[of] = watermark;
        let least = self.marks.iter().copied().min().unwrap_or(i64::MAX);
        if least < i64::MAX {
            let sum = &mut self.sum;
            self.windows.close(closed_by(least), |window, counts| {
                *sum = sum.wrapping_add(results(window, counts));
            });
        }
    }
}
