//! The thread that makes checkpoints while workers go on.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, MutexGuard, atomic::Ordering},
};

use purlin_engine::{Checkpoints, Cut, Engine, Snapshot};
use purlin_sdk::PipelineError;

use crate::run::Run;

pub(crate) struct Checkpointer {
    run: Arc<Run>,
    checkpoints: Checkpoints,
}

impl Checkpointer {
    pub(crate) fn new(run: Arc<Run>, checkpoints: Checkpoints) -> Checkpointer {
        Checkpointer { run, checkpoints }
    }

    /// Makes checkpoints until the run is over, and a last one when it is done. Gives what to tell with an error that
    /// ended the run.
    pub(crate) fn work(mut self) -> String {
        let worked = catch_unwind(AssertUnwindSafe(|| while self.next() {}));
        if let Err(payload) = worked {
            self.run.lock().fail(PipelineError::panic(None, None, &*payload));
        }
        self.run.news.notify_all();
        self.checkpoints.way_on()
    }

    fn note(&mut self) {
        self.checkpoints.note(self.run.clock.now());
        self.run.checkpoint_due.store(self.checkpoints.due().as_millis(), Ordering::SeqCst);
    }

    /// Waits for the next one to be due and makes it; whether there may be one more.
    fn next(&mut self) -> bool {
        let run = self.run.clone();
        let Some((cut, last)) = self.cut(&run) else { return false };
        // Stages that waited for the cut are ready again.
        run.news.notify_all();
        let written =
            cut.and_then(|cut| encoded(&run, cut)).and_then(|snapshot| self.checkpoints.write(&snapshot));
        let finalizers = match written {
            Ok(()) => run.lock().snapshot_is_durable(),
            Err(error) => {
                run.lock().fail(error);
                return false;
            }
        };
        self.note();
        run.news.notify_all();
        let now = run.clock.now();
        finalizers.into_iter().for_each(|finalizer| finalizer.run(now));
        !last
    }

    /// A cut, and whether it is the last one; nothing when the run failed or was cancelled.
    fn cut(&self, run: &Run) -> Option<(Result<Cut, PipelineError>, bool)> {
        let mut engine = run.lock();
        loop {
            let over = run.is_over.load(Ordering::SeqCst);
            let now = run.clock.now();
            if engine.is_failing() {
                return None;
            }
            if over || engine.waits_for_checkpoint() || self.checkpoints.due() <= now {
                break;
            }
            engine = self.wait(run, engine, (self.checkpoints.due() - now).to_std());
        }
        engine.request_snapshot();
        while !engine.can_snapshot() {
            if engine.is_failing() {
                return None;
            }
            engine = run.cut.wait(engine).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        Some((engine.begin_snapshot(), run.is_over.load(Ordering::SeqCst)))
    }

    fn wait<'a>(
        &self,
        run: &Run,
        engine: MutexGuard<'a, Engine>,
        timeout: std::time::Duration,
    ) -> MutexGuard<'a, Engine> {
        if run.virtual_clock.is_some() || run.lives_on_a_script {
            // Whoever moves the clock says so.
            return run.cut.wait(engine).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        match run.cut.wait_timeout(engine, timeout) {
            Ok((engine, _)) => engine,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }
}

/// Encodes all of `cut`, and gives back part by part what is.
fn encoded(run: &Run, mut cut: Cut) -> Result<Snapshot, PipelineError> {
    while let Some(lent) = cut.encode_next()? {
        run.lock().give_back(lent);
        if run.idle.load(Ordering::Relaxed) > 0 {
            run.news.notify_one();
        }
    }
    cut.finish()
}
