//! Code of the user's that panics where one does not think of it: while it is dropped, copied, measured, or asked for a
//! window. The run fails and says where, nothing hangs, and what was set up is torn down.

use std::{
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicI64, Ordering},
        mpsc,
    },
};

use purlin_sdk::{
    DoFn, DoFnError, Emitter, ErrorKind, ParDo, Phase, Pipeline, PipelineError, ProcessContext, Result,
    RunState, Runner, SetupContext, Timestamp,
    testing::TestStream,
    window::{AssignContext, FixedWindows, Window, WindowFn},
};
use serde::{Deserialize, Serialize, Serializer};

use super::{
    lifecycle::{Call, Ledger, Watched},
    support::{assert_says, at, secs},
};
use crate::runners::{end_of, run, start};

/// How often something may be done before it panics; for ever, below zero.
#[derive(Clone, Default)]
struct Fuse(Arc<AtomicI64>);

impl Fuse {
    fn of(times: i64) -> Fuse {
        Fuse(Arc::new(AtomicI64::new(times)))
    }

    fn burn(&self) {
        burn(&self.0);
    }
}

impl fmt::Debug for Fuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fuse({:?})", self.0)
    }
}

fn all_torn_down(ledgers: &[Ledger]) {
    for calls in ledgers.iter().flat_map(Ledger::instances) {
        assert_eq!(calls.iter().filter(|c| **c == Call::Teardown).count(), 1, "{calls:?}");
        assert_eq!(calls.last(), Some(&Call::Teardown), "{calls:?}");
    }
}

fn check(error: &PipelineError, steps: &[&str], phase: Phase) {
    let step = error.step().map_or("", |s| s.path());
    assert!(steps.contains(&step), "{error}");
    assert_eq!((error.kind(), error.phase()), (ErrorKind::Panic, Some(phase)), "{error}");
    assert_says(&error.to_string(), &["on purpose", "cases/faults.rs"]);
}

/// A connection that cannot be closed once it is open.
#[derive(Clone)]
struct Connection {
    open: bool,
}

impl DoFn for Connection {
    type Input = i64;
    type Output = i64;

    fn setup(&mut self, _: &SetupContext<'_>) -> Result {
        self.open = true;
        Ok(())
    }

    fn process(&mut self, n: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        out.emit(n);
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.open && !std::thread::panicking() {
            panic!("on purpose");
        }
    }
}

/// A `Drop` that panics fails the run, and all others are torn down.
pub fn a_drop_that_panics(runner: &dyn Runner) {
    let (before, behind, elsewhere) = (Ledger::default(), Ledger::default(), Ledger::default());
    let error = run(runner, |p| {
        let all = p.create("Numbers", 0..20).par_do("Before", Watched::new(&before));
        all.par_do("Open", Connection { open: false }).par_do("Behind", Watched::new(&behind));
        all.reshuffle("Apart").par_do("Elsewhere", Watched::new(&elsewhere));
    })
    .expect_err("the panic is lost");
    check(&error, &["Open"], Phase::Teardown);
    assert!([&before, &behind, &elsewhere].iter().all(|l| !l.instances().is_empty()));
    all_torn_down(&[before, behind, elsewhere]);
}

/// What a closure holds on to may panic too.
pub fn a_drop_in_a_closure_that_panics(runner: &dyn Runner) {
    let held = Held(Fuse::of(-1));
    let error = run(runner, |p| {
        p.create("Numbers", 0..20).map("Hold", move |n| {
            // From now on a copy is not dropped any more.
            held.0.0.store(0, Ordering::SeqCst);
            n
        });
    })
    .expect_err("the panic is lost");
    check(&error, &["Hold"], Phase::Teardown);
}

#[derive(Clone)]
struct Held(Fuse);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.burn();
    }
}

/// In a mark a test may do with the run what it may do elsewhere.
pub fn marks_may_use_the_handle(runner: &dyn Runner) {
    for what in ["metrics", "state", "cancel", "drain"] {
        let (give, given) = mpsc::channel::<purlin_sdk::RunHandle>();
        let given = Mutex::new(given);
        let seen = Arc::new(OnceLock::new());
        let noted = seen.clone();
        let told = move || {
            let handle = given.lock().unwrap_or_else(PoisonError::into_inner).recv().expect("it has started");
            match what {
                "metrics" => drop(noted.set(handle.metrics().committed.counter("Count", "seen"))),
                "state" => assert_eq!(handle.state(), RunState::Running),
                "cancel" => handle.cancel(),
                _ => handle.drain(),
            }
        };
        let script = TestStream::new().elements((0..3_i64).map(|n| (n, at(n)))).mark(told).element(4);
        let handle = start(runner, |p| {
            p.apply("Script", script).map_cx("Count", |_: i64, cx: &ProcessContext<'_>| {
                cx.counter("seen").inc(1);
                Ok(())
            });
        })
        .expect("the pipeline is refused");
        give.send(handle.clone()).expect("the run is over");
        let outcome = end_of(&handle).expect("the run fails");
        let (state, count) = match what {
            "cancel" => (RunState::Cancelled, 3),
            "drain" => (RunState::Drained, 3),
            _ => (RunState::Done, 4),
        };
        assert_eq!(outcome.state, state, "{what}");
        assert_eq!(outcome.metrics.committed.counter("Count", "seen"), count, "{what}");
        if what == "metrics" {
            assert_eq!(seen.get(), Some(&3));
        }
    }
}

/// A mark that panics fails the run.
pub fn a_mark_that_panics(runner: &dyn Runner) {
    let ledger = Ledger::default();
    let error = run(runner, |p| {
        let script = TestStream::new().element(1_i64).mark(|| panic!("on purpose")).element(2);
        p.apply("Script", script).par_do("Behind", Watched::new(&ledger));
    })
    .expect_err("the panic is lost");
    assert_eq!(error.step().map(|s| s.path()), Some("Script/Stream"), "{error}");
    assert_says(&error.to_string(), &["on purpose", "cases/faults.rs"]);
    all_torn_down(&[ledger]);
}

/// Fixed windows of ten seconds that cannot always be asked which one a reader looks at.
#[derive(Debug)]
struct Moody(Fuse);

impl WindowFn for Moody {
    fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
        out.push(FixedWindows::of(secs(10)).window_of(cx.timestamp()).into());
        Ok(())
    }

    fn side_window(&self, main_max: Timestamp) -> Result<Window> {
        self.0.burn();
        Ok(FixedWindows::of(secs(10)).window_of(main_max).into())
    }
}

/// A thousand elements in a hundred windows, grouped, and with a ledger before they are read by what `read` applies.
fn many_windows(p: &Pipeline, ledger: &Ledger) -> purlin_sdk::PCollection<i64> {
    p.create_timestamped("Main", (0..1000).map(|n| (n, at(n))))
        .window_into("Main windows", FixedWindows::of(secs(10)))
        .par_do("Watched", Watched::new(ledger))
        .map("Pair", |n| (n % 3, n))
        .group_by_key("Group")
        .flat_map("Values", |(_, values)| values)
}

/// `side_window` panics, in the reader or before it.
pub fn a_side_window_that_panics(runner: &dyn Runner) {
    for times in [0, 3, 20, 50, 90, 150] {
        let ledger = Ledger::default();
        let error = run(runner, |p| {
            let side = p.create_timestamped("Side", (0..1000).map(|n| (n, at(n))));
            let view = side.window_into("Side windows", Moody(Fuse::of(times))).view_as_list("View");
            let given = view.clone();
            let read = move |n: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, usize>| -> Result {
                out.emit(cx.side(&view)?.len() + usize::try_from(n).map_err(DoFnError::from)?);
                Ok(())
            };
            many_windows(p, &ledger).par_do_with("Read", ParDo::from_fn(read).side(&given));
        })
        .expect_err("the panic is lost");
        let phase = error.phase().expect("an error with a phase");
        match phase {
            Phase::Window => check(&error, &["View"], phase),
            _ => check(&error, &["Read"], Phase::Process),
        }
        all_torn_down(&[ledger]);
    }
}

/// How often a [`Shy`] may be written and copied before it panics. The cases that use them run one after another.
static WRITES: AtomicI64 = AtomicI64::new(-1);
static COPIES: AtomicI64 = AtomicI64::new(-1);

fn burn(left: &AtomicI64) {
    if !std::thread::panicking() && left.fetch_sub(1, Ordering::SeqCst) == 0 {
        panic!("on purpose");
    }
}

/// A number that cannot always be written, nor copied.
#[derive(Debug, Deserialize)]
struct Shy(i64);

impl Serialize for Shy {
    fn serialize<S: Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        burn(&WRITES);
        self.0.serialize(s)
    }
}

impl Clone for Shy {
    fn clone(&self) -> Shy {
        burn(&COPIES);
        Shy(self.0)
    }
}

/// Runs many bundles of [`Shy`] numbers; `left` is lit when the first of them is made.
fn run_shy(runner: &dyn Runner, left: &'static AtomicI64, times: i64) -> Option<PipelineError> {
    let ledger = Ledger::default();
    left.store(-1, Ordering::SeqCst);
    let lit = OnceLock::new();
    let ran = run(runner, |p| {
        let shy = many_windows(p, &ledger).map("Shy", move |n| {
            lit.get_or_init(|| left.store(times, Ordering::SeqCst));
            Shy(n)
        });
        shy.reshuffle("Apart").map("Value", |n| n.0);
    });
    left.store(-1, Ordering::SeqCst);
    all_torn_down(&[ledger]);
    let error = ran.err()?;
    let step = error.step().map_or("", |s| s.path());
    assert!(["Shy", "Apart", "Value"].contains(&step), "{error}");
    assert_eq!(error.kind(), ErrorKind::Panic, "{error}");
    assert!(error.phase().is_some(), "{error}");
    assert_says(&error.to_string(), &["on purpose", "cases/faults.rs"]);
    Some(error)
}

/// `Serialize` panics, where elements are written or where their size is estimated; and `Clone`, where the input of a
/// bundle is kept for another try. To be run with retries.
pub fn what_the_engine_calls_that_panics(runner: &dyn Runner) {
    for times in [0, 1, 9, 30, 60] {
        let error = run_shy(runner, &WRITES, times);
        // How often they are measured hangs on the bundles.
        assert!(error.is_some() || times > 9, "the panic is lost");
        let error = run_shy(runner, &COPIES, times).expect("the panic is lost");
        assert_eq!(error.phase(), Some(Phase::StartBundle), "{error}");
    }
}
