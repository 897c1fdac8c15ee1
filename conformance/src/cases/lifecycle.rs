//! The life of DoFn instances: which methods are called, how often, and in which order, whatever fails.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use purlin_sdk::{
    BundleContext, BundleEmitter, DoFn, DoFnError, Emitter, ErrorKind, KeyedDoFn, PCollection, Phase,
    Pipeline, PipelineError, ProcessContext, Result, Runner, SetupContext, Timestamp,
    window::{IntervalWindow, Window},
};

use super::probe::Cells;
use crate::{Committed, Meeting, runners::run};

/// A method of a DoFn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `setup`
    Setup,
    /// `start_bundle`
    Start,
    /// `process`
    Process,
    /// `finish_bundle`
    Finish,
    /// `teardown`
    Teardown,
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It returns an error.
    Error,
    /// It panics.
    Panic,
}

/// What was called on which instance. Clones are one ledger.
#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<BTreeMap<usize, Vec<Call>>>>);

impl Ledger {
    fn with<R>(&self, f: impl FnOnce(&mut BTreeMap<usize, Vec<Call>>) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Enters a new instance, and gives its number.
    fn enter(&self) -> usize {
        self.with(|all| {
            all.insert(all.len(), Vec::new());
            all.len() - 1
        })
    }

    fn call(&self, instance: usize, call: Call) {
        self.with(|all| all.entry(instance).or_default().push(call));
    }

    /// The calls on each instance that had any.
    pub fn instances(&self) -> Vec<Vec<Call>> {
        self.with(|all| all.values().cloned().collect())
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.instances()).finish()
    }
}

/// Hands numbers on, keeps a ledger, and fails where it is told to.
#[derive(Clone, Debug)]
pub struct Watched {
    ledger: Ledger,
    fails: Option<(Call, How)>,
    /// The only instance that fails, by its number; all of them without one.
    only: Option<usize>,
    /// Where all instances meet in `setup`.
    meeting: Option<Meeting>,
    instance: Option<usize>,
}

impl Watched {
    /// One that does not fail.
    pub fn new(ledger: &Ledger) -> Watched {
        Watched { ledger: ledger.clone(), fails: None, only: None, meeting: None, instance: None }
    }

    /// One that fails in `call`.
    pub fn failing(ledger: &Ledger, call: Call, how: How) -> Watched {
        Watched { fails: Some((call, how)), ..Watched::new(ledger) }
    }

    fn called(&mut self, call: Call) -> Result {
        let instance = *self.instance.get_or_insert_with(|| self.ledger.enter());
        self.ledger.call(instance, call);
        match self.fails {
            Some((c, how)) if c == call && self.only.is_none_or(|only| only == instance) => match how {
                How::Error => Err(DoFnError::msg("on purpose")),
                How::Panic => panic!("on purpose"),
            },
            _ => Ok(()),
        }
    }
}

impl DoFn for Watched {
    type Input = i64;
    type Output = i64;

    fn setup(&mut self, _: &SetupContext<'_>) -> Result {
        // A clone of an instance that is set up is none of its own.
        self.instance = None;
        if let Some(meeting) = &self.meeting {
            meeting.attend()?;
        }
        self.called(Call::Setup)
    }

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.called(Call::Start)
    }

    fn process(&mut self, n: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        self.called(Call::Process)?;
        out.emit(n);
        Ok(())
    }

    fn finish_bundle(&mut self, _: &BundleContext<'_>, _: &mut BundleEmitter<'_, i64>) -> Result {
        self.called(Call::Finish)
    }

    fn teardown(&mut self, _: &SetupContext<'_>) -> Result {
        self.called(Call::Teardown)
    }
}

/// The same as a keyed DoFn, with state of its own.
#[derive(Clone, Debug)]
struct Keyed(Watched);

impl KeyedDoFn for Keyed {
    type Key = i64;
    type Value = i64;
    type Output = i64;
    type State = Cells;

    fn setup(&mut self, cx: &SetupContext<'_>) -> Result {
        DoFn::setup(&mut self.0, cx)
    }

    fn start_bundle(&mut self, cx: &BundleContext<'_>) -> Result {
        DoFn::start_bundle(&mut self.0, cx)
    }

    fn process(
        &mut self,
        _: &i64,
        n: i64,
        state: &mut Cells,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result {
        state.n.write(n);
        DoFn::process(&mut self.0, n, cx, out)
    }

    fn finish_bundle(&mut self, cx: &BundleContext<'_>, out: &mut BundleEmitter<'_, i64>) -> Result {
        DoFn::finish_bundle(&mut self.0, cx, out)
    }

    fn teardown(&mut self, cx: &SetupContext<'_>) -> Result {
        DoFn::teardown(&mut self.0, cx)
    }
}

/// Applies it, as a keyed DoFn or as it is.
fn apply(pc: &PCollection<i64>, name: &str, dofn: Watched, keyed: bool) -> PCollection<i64> {
    if keyed {
        pc.key_by(&format!("Key{name}"), |n| n % 7).par_do_keyed(name, Keyed(dofn))
    } else {
        pc.par_do(name, dofn)
    }
}

/// Checks that the calls on an instance come in the order that is promised.
fn check_order(calls: &[Call]) {
    use Call::{Finish, Process, Setup, Start, Teardown};
    assert_eq!(calls.first(), Some(&Setup), "{calls:?}");
    assert_eq!(calls.last(), Some(&Teardown), "{calls:?}");
    for pair in calls.windows(2) {
        let fits = matches!(pair, [Setup | Finish, Start | Teardown] | [Start | Process, Process | Finish]);
        assert!(fits, "{pair:?} in {calls:?}");
    }
}

fn phase_of(call: Call) -> Phase {
    match call {
        Call::Setup => Phase::Setup,
        Call::Start => Phase::StartBundle,
        Call::Process => Phase::Process,
        Call::Finish => Phase::FinishBundle,
        Call::Teardown => Phase::Teardown,
    }
}

fn check_error(error: &PipelineError, step: &str, call: Call, how: How) {
    let kind = match how {
        How::Error => ErrorKind::User,
        How::Panic => ErrorKind::Panic,
    };
    let at = (error.step().map(|s| s.path()), error.phase(), error.kind());
    assert_eq!(at, (Some(step), Some(phase_of(call)), kind), "{error}");
    let cause = error.cause().to_string();
    assert!(cause.contains("on purpose") && !cause.contains("oison"), "{cause}");
}

/// Setup once, then bundles, then teardown once; with two DoFns in a row.
pub fn call_sequence(runner: &dyn Runner) {
    call_sequence_of(runner, false);
}

/// The same for keyed DoFns.
pub fn call_sequence_of_keyed_dofns(runner: &dyn Runner) {
    call_sequence_of(runner, true);
}

fn call_sequence_of(runner: &dyn Runner, keyed: bool) {
    let (first, second) = (Ledger::default(), Ledger::default());
    let out = Committed::new();
    run(runner, |p| {
        let numbers = p.create("Numbers", 0..100);
        let one = apply(&numbers, "First", Watched::new(&first), keyed);
        out.collect("Collect", &apply(&one, "Second", Watched::new(&second), keyed));
    })
    .expect("the run fails");
    assert_eq!(out.sorted(), (0..100).collect::<Vec<_>>());
    for ledger in [first, second] {
        let instances = ledger.instances();
        instances.iter().for_each(|calls| check_order(calls));
        let count = |call| instances.iter().flatten().filter(|c| **c == call).count();
        assert_eq!(count(Call::Process), 100);
        assert_eq!((count(Call::Setup), count(Call::Teardown)), (instances.len(), instances.len()));
        assert_eq!(count(Call::Start), count(Call::Finish));
        assert!(count(Call::Start) > 0);
    }
}

/// Whatever fails, by an error or a panic: the run fails and says where, the instance is torn down once and not used
/// again, and so are all others.
pub fn b167_teardown_after_a_failure(runner: &dyn Runner) {
    teardown_after_a_failure_of(runner, false);
}

/// The same for keyed DoFns.
pub fn b167_teardown_of_keyed_dofns_after_a_failure(runner: &dyn Runner) {
    teardown_after_a_failure_of(runner, true);
}

fn teardown_after_a_failure_of(runner: &dyn Runner, keyed: bool) {
    for how in [How::Error, How::Panic] {
        for call in [Call::Setup, Call::Start, Call::Process, Call::Finish] {
            let (ledger, other) = (Ledger::default(), Ledger::default());
            let out = Committed::new();
            let error = run(runner, |p| {
                let others = p.create("Numbers", 0..20).par_do("Other", Watched::new(&other));
                let failing = Watched::failing(&ledger, call, how);
                out.collect("Collect", &apply(&others, "Failing", failing, keyed));
            })
            .expect_err("the failure is lost");
            check_error(&error, "Failing", call, how);
            assert_eq!(out.values(), Vec::<i64>::new());
            let failed = ledger.instances();
            assert!(!failed.is_empty());
            for calls in failed.iter().chain(&other.instances()) {
                assert_eq!(calls.first(), Some(&Call::Setup), "{how:?} in {call:?}: {calls:?}");
                let torn_down = calls.iter().filter(|c| **c == Call::Teardown).count();
                assert_eq!(
                    (torn_down, calls.last()),
                    (1, Some(&Call::Teardown)),
                    "{how:?} in {call:?}: {calls:?}"
                );
            }
            for calls in &failed {
                // After the call that failed there is nothing but the teardown.
                let at = calls.iter().position(|c| *c == call);
                assert!(at.is_none_or(|at| at + 2 == calls.len()), "{how:?} in {call:?}: {calls:?}");
            }
        }
    }
}

/// A teardown that fails fails the run that was good so far, and keeps no other from being torn down.
pub fn b168_a_failing_teardown(runner: &dyn Runner) {
    for how in [How::Error, How::Panic] {
        let (before, ledger, behind) = (Ledger::default(), Ledger::default(), Ledger::default());
        let out = Committed::new();
        let error = run(runner, |p| {
            let all = p
                .create("Numbers", 0..20)
                .par_do("Before", Watched::new(&before))
                .par_do("Failing", Watched::failing(&ledger, Call::Teardown, how))
                .par_do("Behind", Watched::new(&behind));
            out.collect("Collect", &all);
        })
        .expect_err("the failure is lost");
        check_error(&error, "Failing", Call::Teardown, how);
        assert_eq!(out.sorted(), (0..20).collect::<Vec<_>>());
        for calls in [before, ledger, behind].iter().flat_map(Ledger::instances) {
            check_order(&calls);
        }
    }
}

/// One of eight instances that are set up at once fails: the others are torn down, and it processes nothing. Needs a
/// runner that runs eight bundles at once.
pub fn b168_one_of_eight_setups_fails(runner: &dyn Runner) {
    for how in [How::Error, How::Panic] {
        let ledger = Ledger::default();
        let failing = Watched {
            only: Some(3),
            meeting: Some(Meeting::of(8)),
            ..Watched::failing(&ledger, Call::Setup, how)
        };
        let error = run(runner, |p| {
            p.create("Numbers", 0..8).par_do("Failing", failing);
        })
        .expect_err("the failure is lost");
        check_error(&error, "Failing", Call::Setup, how);
        let instances = ledger.instances();
        assert_eq!(instances.len(), 8);
        assert_eq!(instances[3], [Call::Setup, Call::Teardown]);
        for calls in instances {
            assert_eq!(
                (calls.first(), calls.last()),
                (Some(&Call::Setup), Some(&Call::Teardown)),
                "{calls:?}"
            );
            assert_eq!(calls.iter().filter(|c| **c == Call::Teardown).count(), 1, "{calls:?}");
        }
    }
}

/// Keeps the elements of a bundle until its end.
#[derive(Clone)]
struct Keep {
    started: bool,
    kept: Vec<(i64, Timestamp)>,
}

impl DoFn for Keep {
    type Input = i64;
    type Output = i64;

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        assert!(!self.started && self.kept.is_empty(), "bundles nest");
        self.started = true;
        Ok(())
    }

    fn process(&mut self, n: i64, cx: &ProcessContext<'_>, _: &mut Emitter<'_, i64>) -> Result {
        self.kept.push((n, cx.timestamp()));
        Ok(())
    }

    fn finish_bundle(&mut self, _: &BundleContext<'_>, out: &mut BundleEmitter<'_, i64>) -> Result {
        self.started = false;
        for (n, ts) in self.kept.drain(..) {
            out.emit_in(n, ts, window_of(ts));
        }
        Ok(())
    }
}

fn window_of(ts: Timestamp) -> Window {
    let start = Timestamp::from_secs(ts.as_millis().div_euclid(10_000) * 10);
    Window::Interval(IntervalWindow::new(start, start + purlin_sdk::Duration::from_secs(10)))
}

/// What `finish_bundle` emits has the timestamp and window that it gives.
pub fn finish_bundle_says_timestamp_and_window(runner: &dyn Runner) {
    let out = Committed::new();
    let elements = || (0..30_i64).map(|i| (i, Timestamp::from_secs(i)));
    run(runner, |p: &Pipeline| {
        let kept = p
            .create_timestamped("Numbers", elements())
            .par_do("Keep", Keep { started: false, kept: Vec::new() });
        out.collect("Collect", &kept);
    })
    .expect("the run fails");
    let mut seen: Vec<_> = out.seen().into_iter().map(|s| (s.value, s.timestamp, s.window)).collect();
    seen.sort_by_key(|s| s.0);
    assert_eq!(seen, elements().map(|(i, ts)| (i, ts, window_of(ts))).collect::<Vec<_>>());
}
