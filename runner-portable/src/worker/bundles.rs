//! The bundles that the engine asked for: those that wait, run, or are over.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use purlin_sdk::exec::{BundleControl, Finalizer};

use super::{io::BundleIo, pool::Stage, state::BundleState};

/// Bundles that are over and may still be asked about: so many are remembered.
const REMEMBERED: usize = 10_000;

/// A bundle that runs.
pub(super) struct Running {
    pub(super) io: Arc<BundleIo>,
    pub(super) control: Arc<BundleControl>,
    pub(super) stage: Arc<Stage>,
    /// Its state with the engine, if it needs any.
    pub(super) state: Option<Arc<BundleState>>,
}

/// What is known of an instruction.
pub(super) enum Known {
    /// It runs.
    Running(Arc<Running>),
    /// It has not started, or is over: there is nothing to tell, and nothing wrong.
    Quiet,
    /// No such bundle was asked for.
    Unknown,
}

/// All bundles.
#[derive(Default)]
pub(super) struct Bundles(Mutex<All>);

#[derive(Default)]
struct All {
    open: HashMap<String, Open>,
    over: HashSet<String>,
    order: VecDeque<String>,
    finalizers: HashMap<String, Vec<Finalizer>>,
}

struct Open {
    descriptor: String,
    since: Instant,
    running: Option<Arc<Running>>,
}

/// A bundle that is open, for whoever asks how the worker is.
pub(super) struct Report {
    pub(super) instruction: String,
    pub(super) descriptor: String,
    pub(super) since: Instant,
    pub(super) running: bool,
}

impl Bundles {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a bundle before anything is done for it.
    pub(super) fn open(&self, instruction: &str, descriptor: &str) {
        let open = Open { descriptor: descriptor.to_owned(), since: Instant::now(), running: None };
        self.lock().open.insert(instruction.to_owned(), open);
    }

    /// It starts.
    pub(super) fn start(&self, instruction: &str, running: &Arc<Running>) {
        if let Some(open) = self.lock().open.get_mut(instruction) {
            open.running = Some(running.clone());
        }
    }

    /// It is over, with callbacks for when it is committed.
    pub(super) fn close(&self, instruction: &str, finalizers: Vec<Finalizer>) {
        let mut all = self.lock();
        all.open.remove(instruction);
        if !finalizers.is_empty() {
            all.finalizers.insert(instruction.to_owned(), finalizers);
        }
        if all.over.insert(instruction.to_owned()) {
            all.order.push_back(instruction.to_owned());
        }
        if all.order.len() > REMEMBERED
            && let Some(oldest) = all.order.pop_front()
        {
            all.over.remove(&oldest);
            all.finalizers.remove(&oldest);
        }
    }

    /// The callbacks of a bundle that was committed, each to be called once.
    pub(super) fn finalizers(&self, instruction: &str) -> Vec<Finalizer> {
        self.lock().finalizers.remove(instruction).unwrap_or_default()
    }

    /// The callbacks of all bundles that the engine has not called for, in the order in which they were over.
    pub(super) fn leftovers(&self) -> Vec<Finalizer> {
        let mut all = self.lock();
        let All { order, finalizers, .. } = &mut *all;
        order.iter().filter_map(|instruction| finalizers.remove(instruction)).flatten().collect()
    }

    pub(super) fn get(&self, instruction: &str) -> Known {
        let all = self.lock();
        match all.open.get(instruction) {
            Some(Open { running: Some(running), .. }) => Known::Running(running.clone()),
            Some(_) => Known::Quiet,
            None if all.over.contains(instruction) => Known::Quiet,
            None => Known::Unknown,
        }
    }

    /// Asks all that run to stop.
    pub(super) fn cancel(&self) {
        for open in self.lock().open.values() {
            if let Some(running) = &open.running {
                running.control.cancel();
            }
        }
    }

    /// What is open.
    pub(super) fn report(&self) -> Vec<Report> {
        let all = self.lock();
        let report = |(instruction, open): (&String, &Open)| Report {
            instruction: instruction.clone(),
            descriptor: open.descriptor.clone(),
            since: open.since,
            running: open.running.is_some(),
        };
        all.open.iter().map(report).collect()
    }
}
