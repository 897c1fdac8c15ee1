//! Runs that fail and go on from their last checkpoint, on every runner and from one runner to another.

mod whole_table;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use purlin_conformance::{
    Committed, OffsetSource,
    runners::{end_of, start},
};
use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{
    CombineFn, DoFn, DoFnError, Duration, Emitter, ManualClock, PCollection, Pipeline, ProcessContext,
    Result, RunResult, Runner, Timestamp,
    metrics::DROPPED_DUE_TO_LATENESS,
    sdf::{Continuation, Manual, OffsetRange},
    window::FixedWindows,
};
use purlin_transforms::{Count, Sum, io::TextIo};

/// A runner with a name for messages, made for a checkpoint directory; `true` goes on from there.
type Make = Box<dyn Fn(&Path, bool) -> Box<dyn Runner>>;

fn direct(seed: u64) -> Make {
    Box::new(move |dir, restore| {
        let runner = DirectRunner::new().seed(seed).clock(ManualClock::default()).checkpoint_dir(dir);
        Box::new(runner.checkpoint_every(Duration::from_millis(1500)).restore(restore))
    })
}

fn threaded(threads: usize) -> Make {
    Box::new(move |dir, restore| {
        let runner =
            ThreadedRunner::new().parallelism(threads).clock(ManualClock::default()).checkpoint_dir(dir);
        Box::new(runner.checkpoint_every(Duration::from_millis(1500)).restore(restore))
    })
}

/// Every runner.
fn makes() -> Vec<Make> {
    (0..6).map(direct).chain([1, 2, 16].map(threaded)).collect()
}

fn manifests(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let all = entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "manifest"));
    let mut all: Vec<_> = all.collect();
    all.sort();
    all
}

#[track_caller]
fn assert_says(result: RunResult, parts: &[&str]) {
    let text = result.unwrap_err().to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is not said in: {text}");
    }
}

fn run_on(runner: &dyn Runner, build: impl FnOnce(&Pipeline)) -> RunResult {
    end_of(&start(runner, build)?)
}

/// Whole seconds, one each second, up to `end`; the watermark goes with them.
fn seconds(p: &Pipeline, end: i64) -> PCollection<i64> {
    let range = OffsetRange::new(0, end);
    let source = OffsetSource::<Manual, _, _, _>::new(range, |_: &Vec<u8>, at, _, out| {
        let n = at.range().start;
        if at.try_claim(n) {
            out.emit_at(n, Timestamp::from_secs(n));
            at.set_watermark(Timestamp::from_secs(n))?;
            return Ok(Continuation::Resume(Duration::from_secs(1)));
        }
        Ok(Continuation::Stop)
    });
    p.impulse("Impulse").par_do_splittable("Seconds", source.whole())
}

/// Fails at `at` in the first life, and counts the elements of each.
#[derive(Clone)]
struct Fails {
    at: i64,
    first_life: Arc<AtomicBool>,
    seen: Arc<AtomicUsize>,
}

impl Fails {
    fn at(at: i64) -> Fails {
        Fails { at, first_life: Arc::new(AtomicBool::new(true)), seen: Arc::default() }
    }

    fn applied(&self, numbers: &PCollection<i64>) -> PCollection<i64> {
        let fails = self.clone();
        numbers.map_cx("Fails", move |n, _| {
            if n == fails.at && fails.first_life.swap(false, Ordering::SeqCst) {
                return Err(DoFnError::msg("killed"));
            }
            fails.seen.fetch_add(1, Ordering::SeqCst);
            Ok(n)
        })
    }

    /// Lets a first life begin.
    fn again(&self, at: i64) -> Fails {
        Fails { at, ..Fails::at(at) }
    }
}

/// Saved around a watermark of 15 s and killed at 25 s, it neither drops what is read again nor emits a window twice.
#[test]
fn b062_watermark_and_positions_come_from_one_cut() {
    for make in makes() {
        let temp = tempfile::tempdir().unwrap();
        let fails = Fails::at(25);
        let out = Committed::new();
        let build = |p: &Pipeline| {
            let windowed = fails
                .applied(&seconds(p, 40))
                .window_into("Tens", FixedWindows::of(Duration::from_secs(10)))
                .key_by("Key", |n| n % 2);
            out.collect("Collect", &windowed.apply("Sum", Sum::per_key()));
        };
        let runner = make(temp.path(), false);
        assert_says(
            run_on(&*runner, build),
            &["`Fails`", "killed", "is whole: go on from there by --restore"],
        );
        assert!(!manifests(temp.path()).is_empty());
        let first = fails.seen.swap(0, Ordering::SeqCst);
        let runner = make(temp.path(), true);
        let outcome = run_on(&*runner, build).unwrap();
        assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0, "on {runner:?}");
        let sums = |w: i64| {
            [0, 1].map(|k| (10 * w, k, (0..10).map(|i| 10 * w + i).filter(|n| n % 2 == k).sum::<i64>()))
        };
        let mut found: Vec<_> = out
            .seen()
            .iter()
            .map(|s| (s.window.as_interval().unwrap().start().as_millis() / 1000, s.value.0, s.value.1))
            .collect();
        found.sort_unstable();
        assert_eq!(found, (0..4).flat_map(sums).collect::<Vec<_>>(), "on {runner:?}");
        // It did go on, and not begin anew.
        let second = fails.seen.load(Ordering::SeqCst);
        assert!(first >= 25 && (15..40).contains(&second), "{first} and {second} elements on {runner:?}");
    }
}

/// A run goes on with another number of threads, and on another runner, again and again.
#[test]
fn from_one_runner_to_another() {
    let temp = tempfile::tempdir().unwrap();
    let fails = Fails::at(0);
    let out = Committed::new();
    let lives = [(7, threaded(4)), (13, direct(1)), (19, threaded(1)), (26, threaded(16)), (31, direct(2))];
    let fives = |p: &Pipeline, fails: &Fails| {
        fails
            .applied(&seconds(p, 40))
            .window_into("Fives", FixedWindows::of(Duration::from_secs(5)).offset(Duration::from_secs(2)))
            .key_by("Key", |n| n % 3)
            .group_by_key("Group")
            .map("Len", |(k, group)| (k, group.len()))
    };
    for (at, make) in &lives {
        let fails = fails.again(*at);
        let result = run_on(&*make(temp.path(), true), |p| out.collect("Collect", &fives(p, &fails)));
        assert_says(result, &["killed"]);
    }
    let fails = fails.again(-1);
    run_on(&*threaded(2)(temp.path(), true), |p| out.collect("Collect", &fives(p, &fails))).unwrap();
    let total: usize = out.values().iter().map(|(_, n)| n).sum();
    assert_eq!((out.len(), total), (9 * 3 - 1, 40), "{:?}", out.sorted());
    // A run that is over has nothing left to do.
    let fails = fails.again(-1);
    run_on(&*threaded(2)(temp.path(), true), |p| out.collect("Collect", &fives(p, &fails))).unwrap();
    assert_eq!((out.len(), fails.seen.load(Ordering::SeqCst)), (9 * 3 - 1, 0));
}

/// What must not happen before there is a checkpoint does not, and happens once.
#[test]
fn finalizers_and_stable_input_wait_for_the_disk() {
    /// Tells whether there was a checkpoint when it saw an element.
    #[derive(Clone)]
    struct Stable {
        dir: PathBuf,
        early: Arc<AtomicUsize>,
    }
    impl DoFn for Stable {
        type Input = i64;
        type Output = i64;
        const REQUIRES_STABLE_INPUT: bool = true;
        fn process(&mut self, n: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
            if manifests(&self.dir).is_empty() {
                self.early.fetch_add(1, Ordering::SeqCst);
            }
            out.emit(n);
            Ok(())
        }
    }
    for make in makes() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("checkpoints");
        let (early, called) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let out = Committed::new();
        let runner = make(&dir, false);
        run_on(&*runner, |p| {
            let (dir, early, called) = (dir.clone(), early.clone(), called.clone());
            let stable = Stable { dir: dir.clone(), early: early.clone() };
            let numbers = p.create("Numbers", 0..5_i64).map_cx("Finalize", move |n, cx| {
                let (dir, early, called) = (dir.clone(), early.clone(), called.clone());
                cx.finalize(move || {
                    called.fetch_add(1, Ordering::SeqCst);
                    early.fetch_add(usize::from(manifests(&dir).is_empty()), Ordering::SeqCst);
                    Ok(())
                });
                Ok(n)
            });
            out.collect("Collect", &numbers.par_do("Stable", stable));
        })
        .unwrap();
        assert_eq!(out.sorted(), [0, 1, 2, 3, 4], "on {runner:?}");
        let counts = (early.load(Ordering::SeqCst), called.load(Ordering::SeqCst));
        assert_eq!(counts, (0, 5), "on {runner:?}");
        // Without checkpoints nothing waits.
        let out = Committed::new();
        run_on(&DirectRunner::new(), |p| {
            let stable = Stable { dir: "nowhere".into(), early: early.clone() };
            out.collect("Collect", &p.create("Numbers", 0..5_i64).par_do("Stable", stable));
        })
        .unwrap();
        assert_eq!((out.len(), early.load(Ordering::SeqCst)), (5, 5));
    }
}

/// Stateless transforms may come and go; anything else is refused, with what is different.
#[test]
fn another_pipeline_is_refused_but_for_stateless_transforms() {
    for make in [direct(3), threaded(2)] {
        let temp = tempfile::tempdir().unwrap();
        let fails = Fails::at(25);
        let out = Committed::new();
        let tens = |numbers: &PCollection<i64>| {
            let numbers = numbers.window_into("Tens", FixedWindows::of(Duration::from_secs(10)));
            numbers.key_by("Key", |n| n % 2).apply("Count", Count::per_key())
        };
        let first = |p: &Pipeline| out.collect("Collect", &tens(&fails.applied(&seconds(p, 40))));
        assert_says(run_on(&*make(temp.path(), false), first), &["killed"]);

        let other = |p: &Pipeline| {
            let numbers = fails.applied(&seconds(p, 40));
            numbers.key_by("Other", |n| n % 3).apply("Others", Count::per_key());
            out.collect("Collect", &tens(&numbers));
        };
        let parts =
            ["cannot go on from the checkpoint", "added: `Others", "checkpoint is number", "begin anew"];
        assert_says(run_on(&*make(temp.path(), true), other), &parts);
        let wider = |p: &Pipeline| {
            let numbers =
                fails.applied(&seconds(p, 40)).window_into("Tens", FixedWindows::of(Duration::from_secs(20)));
            out.collect("Collect", &numbers.key_by("Key", |n| n % 2).apply("Count", Count::per_key()));
        };
        assert_says(
            run_on(&*make(temp.path(), true), wider),
            &["changed: `Count", "windows was", "10s", "20s"],
        );
        let gone = |p: &Pipeline| drop(p.create("Nothing", [1]));
        assert_says(run_on(&*make(temp.path(), true), gone), &["removed: `Seconds`", "removed: `Count"]);

        let kept = |p: &Pipeline| {
            let numbers = fails.applied(&seconds(p, 40)).map("Same", |n| n).reshuffle("Spread");
            out.collect("Collect", &tens(&numbers).filter("All", |_| true));
        };
        run_on(&*make(temp.path(), true), kept).unwrap();
        assert_eq!(out.values().iter().map(|(_, n)| n).sum::<u64>(), 40);
    }
}

/// What cannot be kept is refused when the run starts, and runs without checkpoints.
#[test]
fn state_that_cannot_be_kept_is_refused_at_start() {
    /// Its accumulator is written as it says itself, and is not read back from that.
    #[derive(Clone)]
    struct Texts;
    impl CombineFn for Texts {
        type Input = String;
        type Accumulator = serde_json::Value;
        type Output = String;
        fn create(&self) -> serde_json::Value {
            serde_json::Value::Null
        }
        fn add_input(&self, acc: &mut serde_json::Value, x: String) {
            *acc = x.into();
        }
        fn merge(&self, acc: &mut serde_json::Value, other: serde_json::Value) {
            *acc = other;
        }
        fn extract(&self, acc: serde_json::Value) -> String {
            acc.to_string()
        }
    }
    let build = |p: &Pipeline| {
        p.create("Texts", ["a".to_owned()]).combine_globally("Last", Texts);
    };
    for make in [direct(0), threaded(2)] {
        let temp = tempfile::tempdir().unwrap();
        let parts = [
            "`Last",
            "checkpoints/main.rs:",
            "accumulators",
            "serde_json::value::Value",
            "without checkpoints",
        ];
        assert_says(run_on(&*make(temp.path(), false), build), &parts);
    }
    run_on(&DirectRunner::new(), build).unwrap();
}

#[test]
fn directories_that_do_not_fit_are_refused() {
    let one = |p: &Pipeline| drop(p.create("One", [1]).key_by("Key", |_| ()).group_by_key("Group"));
    for make in [direct(0), threaded(2)] {
        let temp = tempfile::tempdir().unwrap();
        run_on(&*make(temp.path(), true), one).unwrap();
        assert_says(
            run_on(&*make(temp.path(), false), one),
            &["has checkpoints of another run", "--restore"],
        );
        let _taken = purlin_engine::CheckpointDir::open(temp.path()).unwrap();
        assert_says(run_on(&*make(temp.path(), true), one), &["in use by another process"]);
    }
    let nowhere = "give the checkpoint directory";
    assert_says(run_on(&DirectRunner::new().restore(true), one), &[nowhere]);
    assert_says(run_on(&ThreadedRunner::new().restore(true), one), &[nowhere]);
    let temp = tempfile::tempdir().unwrap();
    let never = DirectRunner::new().checkpoint_dir(temp.path()).checkpoint_every(Duration::ZERO);
    assert_says(run_on(&never, one), &["every 0", "above zero"]);
}

/// A damaged checkpoint is passed over, and files come out as they would have; when all are damaged, that is told.
#[test]
fn a_damaged_checkpoint_is_passed_over() {
    for make in [direct(5), threaded(1), threaded(2)] {
        let temp = tempfile::tempdir().unwrap();
        let (dir, fails) = (temp.path().join("checkpoints"), Fails::at(33));
        let prefix = temp.path().join("out").display().to_string();
        let build = |p: &Pipeline| {
            fails
                .applied(&seconds(p, 40))
                .window_into("Tens", FixedWindows::of(Duration::from_secs(10)))
                .map("Text", |n| n.to_string())
                .apply("Write", TextIo::write(&prefix).shards(1));
        };
        assert_says(run_on(&*make(&dir, false), build), &["killed"]);
        let newest = manifests(&dir).pop().unwrap();
        let segments = newest.with_extension("segments");
        let mut bytes = fs::read(&segments).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&segments, bytes).unwrap();
        fs::read_dir(temp.path()).unwrap();
        run_on(&*make(&dir, true), build).unwrap();
        let mut lines = Vec::new();
        for entry in fs::read_dir(temp.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_str().unwrap().starts_with("out-") {
                lines.push(fs::read_to_string(path).unwrap().lines().count());
            }
        }
        assert_eq!(lines, [10; 4]);
        for manifest in manifests(&dir) {
            fs::write(manifest, "").unwrap();
        }
        assert_says(run_on(&*make(&dir, true), build), &["no checkpoint in", "is cut off", "begin anew"]);
    }
}
