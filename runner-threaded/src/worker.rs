//! One worker: commit, take, run, and what to do when there is nothing.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, MutexGuard, atomic::Ordering},
    time::Duration,
};

use crossbeam::deque::{Steal, Worker as Deque};
use purlin_engine::{Engine, Finished, Next, SplitCandidate, Task};
use purlin_sdk::{PipelineError, Timestamp};

use crate::run::Run;

/// Bundles that a worker takes at once when there are many.
const TAKE: usize = 4;

/// How soon a worker without work looks again whether a splittable DoFn at work can be split; doubled each time it
/// cannot.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
const LOOK_LATEST: Duration = Duration::from_millis(100);

/// A bundle is worth splitting when it has been at work for this long: below it the pieces would cost more than they
/// bring, the more of them the more workers are idle.
const WORTH_SPLITTING: Duration = Duration::from_millis(2);

pub(crate) struct Worker {
    run: Arc<Run>,
    mine: Deque<Box<Task>>,
    patience: Duration,
    looking: bool,
}

impl Worker {
    pub(crate) fn new(run: Arc<Run>, mine: Deque<Box<Task>>) -> Worker {
        Worker { run, mine, patience: LOOK_AGAIN, looking: false }
    }

    /// Works until the run is over.
    pub(crate) fn work(mut self) {
        // A panic in the engine itself must end the run like any other error, and not leave the others waiting.
        let worked = catch_unwind(AssertUnwindSafe(|| {
            let mut finished = None;
            while let Some(task) = self.next(finished.take()) {
                self.stop_looking();
                self.patience = LOOK_AGAIN;
                finished = Some(task.run());
            }
        }));
        if let Err(payload) = worked {
            self.run.lock().fail(PipelineError::panic(None, None, &*payload));
            // What it took is told to stop by now; taken back, it is not waited for.
            while let Some(task) = self.mine.pop() {
                let finished = task.run();
                self.run.lock().commit(finished, self.run.clock.now());
            }
        }
        self.run.news.notify_all();
        self.run.leave();
    }

    /// Whether this worker is the one that looks for what can be split.
    fn looks(&mut self) -> bool {
        self.looking |= !self.run.looking.swap(true, Ordering::SeqCst);
        self.looking
    }

    /// Leaves that to another one.
    fn stop_looking(&mut self) {
        if std::mem::take(&mut self.looking) {
            // Under the lock: a worker that saw that somebody looks is asleep by now, and hears of it.
            let engine = self.run.lock();
            self.run.looking.store(false, Ordering::SeqCst);
            drop(engine);
            if self.run.idle.load(Ordering::SeqCst) > 0 {
                self.run.news.notify_one();
            }
        }
    }

    /// Commits what was done, and takes what is next; nothing when the run is over.
    fn next(&mut self, finished: Option<Finished>) -> Option<Box<Task>> {
        if let Some(finished) = finished {
            self.commit(finished);
        }
        loop {
            if let Some(task) = self.mine.pop().or_else(|| self.steal()) {
                return Some(task);
            }
            let run = self.run.clone();
            let mut engine = run.lock();
            if run.shared.cancel_requested() {
                engine.cancel();
            } else if run.shared.drain_requested() {
                engine.drain();
            }
            match engine.next(run.clock.now()) {
                Next::Task(task) => {
                    self.take_more(&mut engine);
                    return Some(task);
                }
                Next::Wait(until) => self.wait(&run, engine, until),
                Next::Idle => {
                    run.idle.fetch_add(1, Ordering::SeqCst);
                    drop(run.news.wait(engine));
                    run.idle.fetch_sub(1, Ordering::SeqCst);
                }
                Next::Over => return None,
            }
        }
    }

    fn commit(&mut self, finished: Finished) {
        let now = self.run.clock.now();
        let (finalizers, ready) = {
            let mut engine = self.run.lock();
            let finalizers = engine.commit(finished, now);
            self.run.tell_checkpointer(&engine, now);
            (finalizers, engine.has_ready_work())
        };
        if ready && self.run.idle.load(Ordering::Relaxed) > 0 {
            self.run.news.notify_one();
        }
        if !finalizers.is_empty() {
            finalizers.into_iter().for_each(|finalizer| finalizer.run(now));
            self.run.lock().finalized();
        }
    }

    /// Takes a few bundles more when there is plenty, so that the lock is taken less often.
    fn take_more(&mut self, engine: &mut Engine) {
        let others = self.run.stealers.len() > 1;
        while others && self.mine.len() < TAKE - 1 {
            match engine.next_of_many() {
                Some(task) => self.mine.push(task),
                None => break,
            }
        }
        let more = !self.mine.is_empty() || engine.has_ready_work();
        if more && self.run.idle.load(Ordering::Relaxed) > 0 {
            self.run.news.notify_one();
        }
    }

    fn steal(&self) -> Option<Box<Task>> {
        for stealer in &self.run.stealers {
            loop {
                match stealer.steal() {
                    Steal::Success(task) => return Some(task),
                    Steal::Empty => break,
                    Steal::Retry => {}
                }
            }
        }
        None
    }

    /// Nothing to run: splits what is at work, or sleeps.
    fn wait<'a>(&mut self, run: &'a Run, mut engine: MutexGuard<'a, Engine>, until: Option<Timestamp>) {
        let is_due =
            run.virtual_clock.is_some() && engine.is_quiet() && run.is_checkpoint_due(run.clock.now());
        if engine.waits_for_checkpoint() || is_due {
            // Time must not go on before. Whoever makes it tells the news.
            run.cut.notify_all();
            run.idle.fetch_add(1, Ordering::SeqCst);
            match until.filter(|_| run.virtual_clock.is_none()) {
                Some(at) => drop(run.news.wait_timeout(engine, (at - run.clock.now()).to_std())),
                None => drop(run.news.wait(engine)),
            }
            run.idle.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        if engine.is_quiet()
            && let (Some(clock), Some(at)) = (&run.virtual_clock, until)
        {
            clock.set(at);
            return;
        }
        let candidates = if self.looks() { engine.begin_splits() } else { Vec::new() };
        let mut timeout = until.map(|at| (at - run.clock.now()).to_std());
        if run.virtual_clock.is_some() {
            // What is parked is due when nothing runs any more; whoever commits last moves the clock.
            timeout = None;
            if engine.in_flight() == 0 && !engine.is_quiet() {
                // A worker that is splitting what is done holds the watermark: time must not go on without it.
                timeout = Some(LOOK_AGAIN);
            }
        }
        if !candidates.is_empty() {
            drop(engine);
            if self.split(candidates) {
                self.patience = LOOK_AGAIN;
                return;
            }
            engine = run.lock();
            // What came in while the lock was not held must not be slept over.
            if engine.has_ready_work() {
                return;
            }
            timeout = Some(timeout.map_or(self.patience, |t| t.min(self.patience)));
            self.patience = (self.patience * 2).min(LOOK_LATEST);
        }
        if engine.in_flight() == 0 && timeout.is_none() {
            // The last bundle came back meanwhile.
            return;
        }
        run.idle.fetch_add(1, Ordering::SeqCst);
        match timeout {
            Some(timeout) => drop(run.news.wait_timeout(engine, timeout)),
            None => drop(run.news.wait(engine)),
        }
        run.idle.fetch_sub(1, Ordering::SeqCst);
    }

    /// Splits the candidate with most work left; whether it could be.
    fn split(&self, candidates: Vec<SplitCandidate>) -> bool {
        let remaining: Vec<f64> = candidates.iter().map(SplitCandidate::remaining).collect();
        let most = (0..candidates.len())
            .filter(|i| candidates[*i].age() >= WORTH_SPLITTING)
            .max_by(|a, b| remaining[*a].total_cmp(&remaining[*b]));
        let mut chosen = most.map(|i| (i, candidates[i].split()));
        let mut engine = self.run.lock();
        let mut done = false;
        for (i, candidate) in candidates.iter().enumerate() {
            let outcome = match chosen.take_if(|(c, _)| *c == i) {
                Some((_, Ok(outcome))) => outcome,
                Some((_, Err(error))) => {
                    engine.fail(error);
                    None
                }
                None => None,
            };
            done |= outcome.is_some();
            engine.end_split(candidate.id(), outcome);
        }
        self.run.tell_checkpointer(&engine, self.run.clock.now());
        done
    }
}
