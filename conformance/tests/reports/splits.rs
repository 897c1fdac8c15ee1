//! Splits that are tried while user code is at work, on an engine that is driven alone.

use std::sync::{Arc, Mutex, PoisonError};

use purlin_conformance::{
    Committed, OffsetSource,
    cases::{
        probe::Probe,
        support::{Log, at, secs},
    },
};
use purlin_engine::{Engine, EngineConfig, Finished, Next, Task};
use purlin_sdk::{
    Clock, ManualClock, Pipeline,
    exec::{Checks, RunEnv},
    sdf::{Continuation, Manual, OffsetRange},
    window::FixedWindows,
};

/// An engine that user code can get at.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Option<Engine>>>);

impl Shared {
    fn with<R>(&self, f: impl FnOnce(&mut Engine) -> R) -> R {
        f(self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().unwrap())
    }

    /// Tries to split everything that is at work, and says how many bundles that was.
    fn try_splits(&self) -> usize {
        let candidates = self.with(Engine::begin_splits);
        for candidate in &candidates {
            let outcome = candidate.split().unwrap();
            self.with(|engine| engine.end_split(candidate.id(), outcome));
        }
        candidates.len()
    }

    fn finish(&self, task: Task, clock: &ManualClock) {
        let finished: Finished = task.run();
        assert!(finished.is_ok(), "{finished:?}");
        for finalizer in self.with(|engine| engine.commit(finished, clock.now())) {
            finalizer.run(clock.now());
        }
    }
}

/// Splits that are tried in each callback of a bundle of timers find the source that is at work beside it, and never
/// the bundle: every callback is called, once.
#[test]
fn b031_splits_leave_a_bundle_of_timers_alone() {
    let shared = Shared::default();
    let (tried, splitter) = (Log::default(), shared.clone());
    let noted = tried.clone();
    let (fired, read) = (Committed::new(), Committed::new());
    let p = Pipeline::new();
    let probe = Probe::new(|_, _, s, cx, _| s.a.set(cx, cx.window().max_timestamp()));
    let probe = probe.when_due(move |_, key, _, _, out| {
        noted.push(splitter.try_splits());
        out.emit(key.to_owned());
        Ok(())
    });
    let keys: Vec<String> = (10..40).map(|key| key.to_string()).collect();
    let values = p.create_timestamped("Values", keys.iter().map(|key| ((key.clone(), 1_i64), at(1))));
    let timers = values.window_into("Ten", FixedWindows::of(secs(10))).par_do_keyed("Timers", probe);
    fired.collect("Fired", &timers);
    let source =
        OffsetSource::<Manual, _, i64, _>::new(OffsetRange::new(0, 9), |_: &Vec<u8>, offsets, _, out| {
            let first = offsets.range().start;
            for i in first.. {
                if !offsets.try_claim(i) {
                    break;
                }
                out.emit(i);
            }
            Ok(Continuation::Stop)
        });
    read.collect("Offsets", &p.impulse("Impulse").par_do_splittable("Read", source));
    let clock = ManualClock::default();
    let config = EngineConfig { parallelism: 4, ..EngineConfig::default() };
    let env = RunEnv {
        options: Arc::new(()),
        clock: clock.handle(),
        parallelism: config.parallelism,
        atomic: false,
        checks: Checks::default(),
    };
    let engine = Engine::new(&p.build().unwrap(), env, config).unwrap();
    *shared.0.lock().unwrap() = Some(engine);
    // A bundle is at work from when it is handed out. The source's comes after all others, so the keys' wait for it; it is
    // run when there is nothing else to do.
    let (mut source, mut waiting, mut began) = (None, Vec::new(), false);
    loop {
        let next = shared.with(|engine| engine.next(clock.now()));
        match next {
            Next::Task(task) if !began && format!("{task:?}").contains("`Read`") => {
                source = Some(task);
                began = true;
                waiting.drain(..).for_each(|task: Box<Task>| shared.finish(*task, &clock));
            }
            Next::Task(task) if !began && format!("{task:?}").contains("`Timers`") => waiting.push(task),
            Next::Task(task) => shared.finish(*task, &clock),
            Next::Wait(_) => shared.finish(*source.take().expect("it waits for nothing"), &clock),
            Next::Idle => unreachable!("nothing is live here"),
            Next::Over => break,
        }
    }
    let mut callbacks: Vec<String> = fired.seen().into_iter().map(|seen| seen.value).collect();
    callbacks.sort();
    assert_eq!(callbacks, keys);
    assert_eq!(tried.take(), [1; 30]);
    assert_eq!(read.seen().len(), 9);
}
