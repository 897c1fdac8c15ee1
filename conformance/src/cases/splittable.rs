//! Splittable DoFns: splits, checkpoints, drain.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
    mpsc,
};

use purlin_sdk::{
    DoFnError, Duration, Emitter, ErrorKind, Pipeline, ProcessContext, Result, Runner, Tag, Timestamp,
    sdf::{Boundedness, Continuation, Manual, OffsetRange, ParDoSplittable},
    window::{FixedWindows, SlidingWindows},
};

use super::sources::Sum;
use crate::{
    Committed, Meeting, OffsetSource, Offsets,
    runners::{end_of, results, run, start},
};

fn secs(s: i64) -> Timestamp {
    Timestamp::from_secs(s)
}

/// Claims and emits all that is left.
fn emit_all<I>(
    _: &I,
    at: &dyn Offsets,
    _: &ProcessContext<'_>,
    out: &mut Emitter<'_, i64>,
) -> Result<Continuation> {
    let mut i = at.range().start;
    while at.try_claim(i) {
        out.emit(i);
        i += 1;
    }
    Ok(Continuation::Stop)
}

/// Claims and emits `n` offsets, then asks to go on later.
fn emit_some<I>(
    n: i64,
    later: Duration,
) -> impl Fn(&I, &dyn Offsets, &ProcessContext<'_>, &mut Emitter<'_, i64>) -> Result<Continuation> + Clone {
    move |_, at, _, out| {
        let first = at.range().start;
        for i in first..first + n {
            if !at.try_claim(i) {
                return Ok(Continuation::Stop);
            }
            out.emit(i);
        }
        Ok(Continuation::Resume(later))
    }
}

/// Work that is empty is done.
pub fn b021_empty_restrictions_are_done(runner: &dyn Runner) {
    for boundedness in [Boundedness::Bounded, Boundedness::Unbounded] {
        for pieces in [
            vec![OffsetRange::new(7, 7)],
            vec![],
            vec![OffsetRange::new(7, 7), OffsetRange::new(0, 2), OffsetRange::new(2, 2)],
        ] {
            let expected: Vec<i64> = pieces.iter().flat_map(|r| r.start..r.end).collect();
            let mut source = OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(7, 7), emit_all)
                .pieces(move |_, _| pieces.clone());
            if boundedness == Boundedness::Unbounded {
                source = source.unbounded();
            }
            let all = results(runner, |p| {
                let read = p.impulse("Impulse").par_do_splittable("Read", source);
                // The end of the window is reached, or nothing would come out.
                read.window_into("Window", FixedWindows::of(Duration::from_secs(1)))
                    .map("Key", |n| (n, ()))
                    .group_by_key("Group")
                    .map("Keys", |(n, _)| n)
            });
            assert_eq!(all, expected);
        }
    }
}

/// After a checkpoint the residual is gone on with.
pub fn b026_resumes_with_the_residual(runner: &dyn Runner) {
    let source =
        OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 6), emit_some(3, Duration::from_secs(5)));
    let all = results(runner, |p| p.impulse("Impulse").par_do_splittable("Read", source));
    assert_eq!(all, [0, 1, 2, 3, 4, 5]);
}

/// An element in two windows is worked on in each, and the outputs stay there.
pub fn b028_outputs_stay_in_the_window(runner: &dyn Runner) {
    let out = Committed::new();
    let source = OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 2), |_: &i64, at, cx, out| {
        let mut i = at.range().start;
        while at.try_claim(i) {
            out.emit(cx.window());
            i += 1;
        }
        Ok(Continuation::Stop)
    });
    run(runner, |p| {
        let windowed = p
            .create_timestamped("One", [(1_i64, secs(7))])
            .window_into("Slide", SlidingWindows::of(Duration::from_secs(10), Duration::from_secs(5)));
        out.collect("Collect", &windowed.par_do_splittable("Read", source));
    })
    .expect("the run fails");
    let seen = out.seen();
    assert!(seen.iter().all(|s| s.value == s.window && s.timestamp == secs(7)), "{seen:?}");
    let mut ends: Vec<_> = seen.iter().map(|s| s.window.max_timestamp().as_millis()).collect();
    ends.sort();
    assert_eq!(ends, [9_999, 9_999, 14_999, 14_999]);
}

/// Drains a run of `source` while its `process` is at its call number `at_call`, and gives what it made, the number of
/// calls, and the processing time at the end.
fn drained<F>(runner: &dyn Runner, at_call: usize, source: OffsetSource<Manual, Vec<u8>, i64, F>) -> Drained
where
    F: Fn(&Vec<u8>, &dyn Offsets, &ProcessContext<'_>, &mut Emitter<'_, i64>) -> Result<Continuation>
        + Clone
        + Send
        + 'static,
{
    let (called, is_called) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let may_go = Arc::new(Mutex::new(may_go));
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let last = Arc::new(Mutex::new(Timestamp::MIN));
    let latest = last.clone();
    let source = source.first(move |cx| {
        *latest.lock().expect("no test panics with the lock") = cx.now();
        if count.fetch_add(1, Ordering::SeqCst) + 1 == at_call {
            called.send(()).map_err(DoFnError::msg)?;
            may_go.lock().expect("no test panics with the lock").recv()?;
        }
        Ok(())
    });
    let (out, sums) = (Committed::new(), Committed::new());
    let handle = start(runner, |p| {
        let read = p.impulse("Impulse").par_do_splittable("Read", source);
        out.collect("Collect", &read);
        let sum = read
            .window_into("Window", FixedWindows::of(Duration::from_hours(1)))
            .map("Key", |n| ((), n))
            .combine_per_key("Sum", Sum)
            .map("Value", |((), n)| n);
        sums.collect("Sums", &sum);
    })
    .expect("the pipeline is refused");
    is_called.recv().expect("the run is over before it is drained");
    handle.drain();
    // Of no interest when the run failed meanwhile: its end says so.
    let _ = go.send(());
    assert_eq!(end_of(&handle).expect("the run fails").state.to_string(), "DRAINED");
    let clock = *last.lock().expect("no test panics with the lock");
    Drained { out: out.sorted(), sums: sums.values(), calls: calls.load(Ordering::SeqCst), clock }
}

struct Drained {
    out: Vec<i64>,
    /// What windows held.
    sums: Vec<i64>,
    calls: usize,
    /// Processing time at the last call.
    clock: Timestamp,
}

/// On drain unbounded work ends where it is, and windows close.
pub fn b030_drain_ends_unbounded_work(runner: &dyn Runner) {
    let source = OffsetSource::endless(emit_some(1, Duration::from_secs(1)));
    let drained = drained(runner, 3, source);
    assert_eq!((drained.out, drained.calls), (vec![0, 1, 2], 3));
    assert_eq!(drained.sums, [3]);
}

/// On drain bounded work is finished, without the wait that it asked for.
pub fn b030_drain_finishes_bounded_work(runner: &dyn Runner) {
    // A pause at the first call only: one that is asked for after the drain is kept.
    let pause = emit_some(1, Duration::from_hours(1));
    let source = OffsetSource::new(OffsetRange::new(0, 10), move |e, at: &dyn Offsets, cx, out| {
        if at.range().start == 0 { pause(e, at, cx, out) } else { emit_all(e, at, cx, out) }
    })
    .whole();
    let drained = drained(runner, 1, source);
    assert_eq!(drained.out, (0..10).collect::<Vec<_>>());
    assert_eq!(drained.sums, [45]);
    assert!(drained.clock < secs(3600), "went on at {} only", drained.clock);
}

/// On drain a splittable DoFn may keep some of its work.
pub fn b030_drain_keeps_what_truncation_keeps(runner: &dyn Runner) {
    let source = OffsetSource::endless(emit_some(1, Duration::from_secs(1)))
        .truncate(|r| Some(OffsetRange::new(r.start, r.start + 2)));
    let drained = drained(runner, 4, source);
    assert_eq!(drained.out, [0, 1, 2, 3, 4, 5]);
    assert_eq!(drained.sums, [15]);
}

/// A checkpoint that is asked for before the first claim takes nothing away.
pub fn b012_a_checkpoint_before_the_first_claim_does_no_harm(runner: &dyn Runner) {
    let drained = drained(runner, 1, OffsetSource::new(OffsetRange::new(0, 5), emit_all));
    assert_eq!(drained.out, [0, 1, 2, 3, 4]);
}

/// An error fails the run, however often the work is split at the same time.
pub fn b033_a_split_does_not_swallow_a_failure(runner: &dyn Runner) {
    let source =
        OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 1000), |_: &Vec<u8>, at, _, out| {
            let mut i = at.range().start;
            while at.try_claim(i) {
                if i == 7 {
                    return Err(DoFnError::msg("seven"));
                }
                out.emit(i);
                i += 1;
            }
            Ok(Continuation::Stop)
        });
    let error = run(runner, |p| {
        p.impulse("Impulse").par_do_splittable("Read", source);
    })
    .expect_err("the failure is lost");
    assert_eq!((error.kind(), error.cause().to_string().as_str()), (ErrorKind::User, "seven"));
}

/// Halves, with a pause after every third claim: each position exactly once, for each element.
pub fn pair_with_index(runner: &dyn Runner) {
    for boundedness in [Boundedness::Bounded, Boundedness::Unbounded] {
        let mut source =
            OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 10), |word: &String, at, _, out| {
                let first = at.range().start;
                for i in first..first + 3 {
                    if !at.try_claim(i) {
                        return Ok(Continuation::Stop);
                    }
                    out.emit((word.clone(), i));
                }
                Ok(Continuation::resume())
            })
            .pieces(|r, _| r.split(2));
        if boundedness == Boundedness::Unbounded {
            source = source.unbounded();
        }
        let words = ["a", "bb", "ccc"].map(str::to_owned);
        let all = results(runner, |p| p.create("Words", words.clone()).par_do_splittable("Index", source));
        let expected: Vec<_> = words.iter().flat_map(|w| (0..10).map(|i| (w.clone(), i))).collect();
        assert_eq!(all, expected);
    }
}

/// Outputs keep timestamps and windows of their element, and the windowing strategy, across checkpoints.
pub fn pair_with_index_windowed(runner: &dyn Runner) {
    let out = Committed::new();
    let counts = Committed::new();
    run(runner, |p| {
        let source =
            OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 4), emit_some::<i64>(3, Duration::ZERO));
        let read = p
            .create_timestamped("Elements", [0_i64, 1, 2].map(|i| (i, secs(i))))
            .window_into("Slide", SlidingWindows::of(Duration::from_secs(5), Duration::from_secs(1)))
            .par_do_splittable("Index", source);
        out.collect("Collect", &read);
        let count = read.map("Key", |_| ((), 1)).combine_per_key("Count", Sum).map("Value", |((), n)| n);
        counts.collect("Counts", &count);
    })
    .expect("the run fails");
    let mut all: Vec<_> = out
        .seen()
        .iter()
        .map(|s| (s.timestamp.as_millis(), s.window.max_timestamp().as_millis(), s.value))
        .collect();
    all.sort();
    let expected: Vec<_> = (0..3)
        .flat_map(|e| (0..5).flat_map(move |w| (0..4).map(move |i| (e * 1000, (e + w) * 1000 + 999, i))))
        .collect();
    assert_eq!(all, expected);
    let mut counts: Vec<_> =
        counts.seen().iter().map(|s| (s.window.max_timestamp().as_millis(), s.value)).collect();
    counts.sort();
    let expected = [4, 8, 12, 12, 12, 8, 4];
    assert_eq!(counts, expected.iter().zip(0..).map(|(n, w)| (w * 1000 + 999, *n)).collect::<Vec<_>>());
}

/// Claims of whole blocks, a pause after three of them: nothing lost, nothing twice.
pub fn output_after_checkpoint(runner: &dyn Runner) {
    const TOTAL: i64 = 98_765;
    const BLOCKS: [i64; 6] = [-1, 0, 42_000, 42_001, 98_000, TOTAL];
    let source = OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 5), |_: &Vec<u8>, at, _, out| {
        let first = at.range().start;
        for i in first..first + 3 {
            if !at.try_claim(i) {
                return Ok(Continuation::Stop);
            }
            out.emit_all(BLOCKS[i as usize].max(0)..BLOCKS[i as usize + 1]);
        }
        Ok(Continuation::resume())
    });
    let all = results(runner, |p| p.impulse("Impulse").par_do_splittable("Blocks", source));
    assert!(all.iter().copied().eq(0..TOTAL), "{} outputs", all.len());
}

/// A side input is there before and after each checkpoint.
pub fn side_input_across_checkpoints(runner: &dyn Runner) {
    let all = results(runner, |p| {
        let factor = p.create("Factor", [100_i64]).view_as_singleton("View");
        let view = factor.clone();
        let source =
            OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 4), move |_: &i64, at, cx, out| {
                let i = at.range().start;
                if !at.try_claim(i) {
                    return Ok(Continuation::Stop);
                }
                out.emit(i * cx.side(&view)?);
                Ok(Continuation::resume())
            });
        p.create("Main", [1_i64])
            .par_do_splittable_with("Read", ParDoSplittable::of(source).side(&factor))
            .main()
    });
    assert_eq!(all, [0, 100, 200, 300]);
}

/// A further output, with checkpoints.
pub fn tagged_output(runner: &dyn Runner) {
    const ODD: Tag<String> = Tag::new("odd");
    let (even, odd) = (Committed::new(), Committed::new());
    run(runner, |p| {
        let source =
            OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 5), |_: &Vec<u8>, at, _, out| {
                let i = at.range().start;
                match at.try_claim(i) {
                    false => return Ok(Continuation::Stop),
                    true if i % 2 == 0 => out.emit(i),
                    true => out.emit_to(ODD, i.to_string()),
                }
                Ok(Continuation::resume())
            });
        let outputs =
            p.impulse("Impulse").par_do_splittable_with("Read", ParDoSplittable::of(source).tag(ODD));
        even.collect("Even", &outputs.main());
        odd.collect("Odd", &outputs.tagged(ODD));
    })
    .expect("the run fails");
    assert_eq!((even.sorted(), odd.sorted()), (vec![0, 2, 4], vec!["1".to_owned(), "3".to_owned()]));
}

/// To return `Stop` with work left is an error that says what is left.
pub fn undone_work_fails(runner: &dyn Runner) {
    let source = OffsetSource::<Manual, _, i64, _>::new(OffsetRange::new(0, 5), |_: &Vec<u8>, at, _, _| {
        at.try_claim(at.range().start);
        Ok(Continuation::Stop)
    });
    let error = run(runner, |p| {
        p.impulse("Impulse").par_do_splittable("Lazy", source.whole());
    })
    .expect_err("the work is lost");
    assert_eq!(error.kind(), ErrorKind::Contract);
    let text = error.to_string();
    assert!(text.contains("Lazy") && text.contains("left work undone"), "{text}");
}

/// The counter of a DoFn that checkpoints itself equals its outputs.
pub fn a_counter_across_checkpoints(runner: &dyn Runner) {
    let out = Committed::new();
    let source = OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 20), |_: &Vec<u8>, at, cx, out| {
        let i = at.range().start;
        if !at.try_claim(i) {
            return Ok(Continuation::Stop);
        }
        cx.counter("outputs").inc(1);
        out.emit(i);
        Ok(Continuation::resume())
    });
    let outcome = run(runner, |p| {
        out.collect("Collect", &p.impulse("Impulse").par_do_splittable("Read", source));
    })
    .expect("the run fails");
    assert_eq!(outcome.metrics.committed.counter("Read", "outputs"), 20);
    assert_eq!(out.sorted(), (0..20).collect::<Vec<_>>());
}

/// A finalizer of one checkpoint runs before the restriction is done: the source goes on until it sees it.
pub fn finalizers_run_between_checkpoints(runner: &dyn Runner) {
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let acks = acknowledged.clone();
    let source =
        OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 1000), move |_: &Vec<u8>, at, cx, out| {
            let i = at.range().start;
            if !at.try_claim(i) {
                return Ok(Continuation::Stop);
            }
            out.emit(acks.load(Ordering::SeqCst) as i64);
            let ack = acks.clone();
            cx.finalize(move || {
                ack.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
            Ok(Continuation::Resume(Duration::from_millis(1)))
        });
    let seen =
        results(runner, |p| p.impulse("Impulse").par_do_splittable("Read", source.unbounded().whole()));
    assert_eq!(acknowledged.load(Ordering::SeqCst), 1000);
    // Each poll sees the acknowledgement of some poll before it, if not of the very last.
    assert!(seen.last() >= Some(&500), "{:?}", seen.last());
}

/// A restriction is split while it is worked on: two parts of it are under way at once.
pub fn one_restriction_runs_in_parallel(runner: &dyn Runner) {
    let meeting = Meeting::of(2);
    let source =
        OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 10_000), move |_: &Vec<u8>, at, _, out| {
            let mut i = at.range().start;
            while at.try_claim(i) {
                if i == at.range().start {
                    meeting.attend()?;
                }
                out.emit(i);
                i += 1;
            }
            Ok(Continuation::Stop)
        });
    let all = results(runner, |p: &Pipeline| p.impulse("Impulse").par_do_splittable("Read", source));
    assert!(all.iter().copied().eq(0..10_000), "{} outputs", all.len());
}

/// After a reshuffle, elements of one bundle are worked on at once.
pub fn elements_run_in_parallel_after_a_reshuffle(runner: &dyn Runner) {
    let meeting = Meeting::of(2);
    let all = results(runner, |p| {
        p.impulse("Impulse").flat_map("Two", |_| [1, 2]).reshuffle("Reshuffle").map_cx("Meet", move |n, _| {
            meeting.attend()?;
            Ok(n)
        })
    });
    assert_eq!(all, [1, 2]);
}

/// An endless restriction that never pauses by itself is checkpointed, so that what it makes flows on.
pub fn an_endless_restriction_is_checkpointed(runner: &dyn Runner) {
    let (done, is_done) = mpsc::channel();
    let source = OffsetSource::<Manual, Vec<u8>, i64, _>::endless(emit_all);
    let handle = start(runner, |p| {
        p.impulse("Impulse").par_do_splittable("Read", source).filter("Few", |n| n % 1000 == 0).map(
            "Tell",
            move |n| {
                // Nobody listens any more after the first few.
                let _ = done.send(n);
            },
        );
    })
    .expect("the pipeline is refused");
    assert_eq!(is_done.recv(), Ok(0));
    handle.cancel();
    assert_eq!(end_of(&handle).expect("the run fails").state.to_string(), "CANCELLED");
}
