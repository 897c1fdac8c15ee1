//! What one bundle reads from and writes to, shared by its kernels and by who asks about it meanwhile.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use purlin_sdk::PipelineError;

use super::{data::Outgoing, inbox::Inbox};
use crate::proto::fn_execution::{Elements, elements};

/// One bundle's input and output.
pub(super) struct BundleIo {
    /// The instruction that the bundle is.
    pub(super) instruction: String,
    /// What comes for it.
    pub(super) inbox: Arc<Inbox>,
    /// Where it goes, by URL.
    pub(super) links: HashMap<String, Outgoing>,
    /// How far each source is, in the order of the plan's.
    reading: Mutex<Vec<Reading>>,
}

/// How far a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// Elements that were worked off.
    pub(super) done: i64,
    /// Elements that are being worked on.
    pub(super) in_hand: i64,
    /// Where it ends: elements from here on are somebody else's.
    pub(super) stop: i64,
    /// Whether everything came and was worked off.
    pub(super) over: bool,
}

impl BundleIo {
    pub(super) fn new(
        instruction: &str,
        inbox: Arc<Inbox>,
        links: HashMap<String, Outgoing>,
        sources: usize,
    ) -> BundleIo {
        let reading = Reading { done: 0, in_hand: 0, stop: i64::MAX, over: false };
        BundleIo {
            instruction: instruction.to_owned(),
            inbox,
            links,
            reading: Mutex::new(vec![reading; sources]),
        }
    }

    /// How far the sources are; a source goes on only when the guard is dropped.
    pub(super) fn reading(&self) -> MutexGuard<'_, Vec<Reading>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins work on `n` more elements of `source`, and says how many of them are its own.
    pub(super) fn begin(&self, source: usize, n: usize) -> usize {
        let mut all = self.reading();
        let reading = &mut all[source];
        let left = usize::try_from(reading.stop - reading.done).unwrap_or(0);
        let granted = n.min(left);
        reading.in_hand = granted as i64;
        granted
    }

    /// Ends it.
    pub(super) fn end(&self, source: usize) {
        let reading = &mut self.reading()[source];
        reading.done += std::mem::take(&mut reading.in_hand);
    }

    /// Sends elements, and when they are the last ones that too, in a message of its own: Beam's Python engine drops
    /// elements that come together with it.
    ///
    /// # Errors
    /// When the stream is gone.
    pub(super) fn send_data(
        &self,
        url: &str,
        transform: &str,
        data: Vec<u8>,
        is_last: bool,
    ) -> Result<(), PipelineError> {
        let message = |data: Vec<u8>, is_last| elements::Data {
            instruction_id: self.instruction.clone(),
            transform_id: transform.to_owned(),
            data,
            is_last,
        };
        let last = is_last.then(|| message(Vec::new(), true));
        let data = if data.is_empty() { None } else { Some(message(data, false)) };
        self.send(url, Elements { data: data.into_iter().chain(last).collect(), timers: Vec::new() })
    }

    /// Sends timers, as [`send_data`](Self::send_data) sends elements.
    ///
    /// # Errors
    /// When the stream is gone.
    pub(super) fn send_timers(
        &self,
        url: &str,
        transform: &str,
        family: &str,
        timers: Vec<u8>,
        is_last: bool,
    ) -> Result<(), PipelineError> {
        let message = |timers: Vec<u8>, is_last| elements::Timers {
            instruction_id: self.instruction.clone(),
            transform_id: transform.to_owned(),
            timer_family_id: family.to_owned(),
            timers,
            is_last,
        };
        let last = is_last.then(|| message(Vec::new(), true));
        let timers = if timers.is_empty() { None } else { Some(message(timers, false)) };
        self.send(url, Elements { data: Vec::new(), timers: timers.into_iter().chain(last).collect() })
    }

    fn send(&self, url: &str, elements: Elements) -> Result<(), PipelineError> {
        let link = self.links.get(url);
        let sent = link.is_some_and(|link| link.blocking_send(elements).is_ok());
        if sent {
            return Ok(());
        }
        Err(PipelineError::runner(format!("the engine's stream of data at `{url}` is gone")))
    }
}

/// Where a stage's kernels find the bundle that they work on.
#[derive(Clone, Default)]
pub(super) struct CurrentIo(Arc<Mutex<Option<Arc<BundleIo>>>>);

impl CurrentIo {
    pub(super) fn set(&self, io: Option<Arc<BundleIo>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = io;
    }

    /// # Errors
    /// Never while a bundle runs.
    pub(super) fn get(&self) -> Result<Arc<BundleIo>, PipelineError> {
        let io = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        io.ok_or_else(|| PipelineError::runner("a kernel runs outside of a bundle"))
    }
}
