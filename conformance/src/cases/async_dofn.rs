//! DoFns that wait: how many elements at once, in which order, and what goes wrong.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use purlin_sdk::{
    AsyncContext, AsyncDoFn, AsyncParDo, Duration, PipelineError, Result, RunState, Runner, SetupContext,
    Tag, View, WindowInto, metrics::DROPPED_DUE_TO_LATENESS, testing::TestStream, window::FixedWindows,
};

use super::support::{Log, assert_says, at, build_errors, collect, run, run_to_failure, secs};
use crate::runners::{end_of, start};

/// A future that is ready when it was polled that many times before, as if it waited for something that takes a while.
struct Turns(usize);

impl Future for Turns {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Waits as long as the element says, and notes how many do so at once.
#[derive(Clone, Default)]
struct Wait {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl AsyncDoFn for Wait {
    type Input = usize;
    type Output = usize;

    async fn process(&self, turns: usize, cx: AsyncContext<usize>) -> Result {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        Turns(turns).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        cx.emit(turns);
        cx.count("waited", turns as i64);
        Ok(())
    }
}

fn stream(turns: &[usize]) -> TestStream<usize> {
    TestStream::new().elements(turns.iter().map(|n| (*n, at(1))))
}

/// As many elements are under way as was said, and no more.
pub fn concurrency_is_bounded(r: &dyn Runner) {
    for concurrency in [1, 2, 5, 100] {
        let wait = Wait::default();
        let turns: Vec<usize> = (0..20).map(|i| 3 + i % 4).collect();
        let seen = collect(r, |p| {
            let waiting = p.apply("Stream", stream(&turns));
            waiting.par_do_async("Wait", AsyncParDo::of(wait.clone()).concurrency(concurrency)).main()
        });
        let mut expected = turns;
        expected.sort_unstable();
        assert_eq!(seen, expected);
        let most = wait.most.load(Ordering::SeqCst);
        // Where there is room for all of them, the first ones are done before the last one begins.
        let bounds = if concurrency <= 5 { concurrency..=concurrency } else { 6..=20 };
        assert!(bounds.contains(&most), "{most} at once where {concurrency} were allowed");
    }
}

/// The order of elements is kept where it was asked for; otherwise what takes long is overtaken.
pub fn order(r: &dyn Runner) {
    let turns = [5, 0, 3, 1, 4, 2];
    for ordered in [true, false] {
        let log = Log::default();
        run(r, |p| {
            let par_do = AsyncParDo::of(Wait::default()).concurrency(6);
            let par_do = if ordered { par_do.ordered() } else { par_do };
            let done = p.apply("Stream", stream(&turns)).par_do_async("Wait", par_do).main();
            log.note("Note", &done);
        });
        let mut done = log.take();
        assert_eq!(done == turns, ordered, "{done:?}");
        done.sort_unstable();
        assert_eq!(done, [0, 1, 2, 3, 4, 5]);
    }
}

/// Counters count, and elements keep their timestamps and windows.
pub fn elements_keep_what_they_have(r: &dyn Runner) {
    let log = Log::default();
    let seen = log.clone();
    let outcome = run(r, |p| {
        let times = [(1, at(1)), (2, at(12)), (0, at(23))];
        p.apply("Stream", TestStream::new().elements(times))
            .window_into("Window", WindowInto::of(FixedWindows::of(secs(10))))
            .par_do_async("Wait", AsyncParDo::of(Wait::default()))
            .main()
            .map_cx("See", move |n, cx| {
                seen.push((n, cx.timestamp(), super::support::span(&cx.window())));
                Ok(())
            });
    });
    assert_eq!(log.take_sorted(), [(0, at(23), (20, 30)), (1, at(1), (0, 10)), (2, at(12), (10, 20))]);
    assert_eq!(outcome.metrics.committed.counter("Wait", "waited"), 3);
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
}

const ODD: Tag<i64> = Tag::new("odd");

/// Uses everything there is.
#[derive(Clone)]
struct Sort {
    limit: View<i64>,
    ready: bool,
}

impl AsyncDoFn for Sort {
    type Input = i64;
    type Output = i64;

    fn setup(&mut self, _: &SetupContext<'_>) -> Result {
        self.ready = true;
        Ok(())
    }

    async fn process(&self, n: i64, cx: AsyncContext<i64>) -> Result {
        assert!(self.ready, "setup comes first");
        Turns(2).await;
        if n > cx.side(&self.limit)? {
            return Err(purlin_sdk::DoFnError::msg(format!("{n} is too much")));
        }
        match n {
            n if n < 0 => panic!("{n} is negative"),
            0 => cx.emit_at(n, cx.timestamp() - Duration::from_millis(1)),
            n if n % 2 == 0 => cx.emit_at(n, cx.timestamp() + Duration::from_millis(n)),
            n => cx.emit_to(ODD, n),
        }
        Ok(())
    }
}

fn sorted(r: &dyn Runner, numbers: &[i64]) -> std::result::Result<(Vec<i64>, Vec<i64>), PipelineError> {
    let (even, odd) = (Log::default(), Log::default());
    let handle = start(r, |p| {
        let limit = p.create("Limit", [100_i64]).view_as_singleton("View");
        let sort = AsyncParDo::of(Sort { limit: limit.clone(), ready: false }).side(&limit).tag(ODD);
        let parts = p
            .create_timestamped("Numbers", numbers.iter().map(|n| (*n, at(1))).collect::<Vec<_>>())
            .par_do_async("Sort", sort);
        even.note("Even", &parts.main());
        odd.note("Odd", &parts.tagged(ODD));
    })?;
    end_of(&handle)?;
    Ok((even.take_sorted(), odd.take_sorted()))
}

/// Side inputs, tagged outputs and timestamps.
pub fn everything_else(r: &dyn Runner) {
    let (even, odd) = sorted(r, &[1, 2, 3, 4, 5]).expect("it succeeds");
    assert_eq!((even, odd), (vec![2, 4], vec![1, 3, 5]));
}

/// Errors, panics and timestamps that are too early fail the bundle, and say where.
pub fn what_goes_wrong(r: &dyn Runner) {
    for (bad, parts) in [
        (101, &["`Sort`", "process", "101 is too much"][..]),
        (-1, &["`Sort`", "panic", "-1 is negative"]),
        (0, &["`Sort`", "cannot output with timestamp"]),
    ] {
        let error = sorted(r, &[1, 2, bad, 4]).expect_err("it fails");
        assert_says(&error.to_string(), parts);
    }
    let error = run_to_failure(r, |p| {
        p.create("Numbers", [1_i64]).par_do_async("Sort", AsyncParDo::of(Undeclared));
    });
    assert_says(&error.to_string(), &["`Sort`", "`odd` was not declared"]);
    let errors = build_errors(|p| {
        p.create("Numbers", [1_usize]).par_do_async("Wait", AsyncParDo::of(Wait::default()).concurrency(0));
    });
    assert_says(&errors, &["`Wait`", "concurrency is 0"]);
}

#[derive(Clone)]
struct Undeclared;

impl AsyncDoFn for Undeclared {
    type Input = i64;
    type Output = i64;
    async fn process(&self, n: i64, cx: AsyncContext<i64>) -> Result {
        cx.emit_to(ODD, n);
        Ok(())
    }
}

/// A run is cancelled also when a future never ends.
pub fn cancelled_while_it_waits(r: &dyn Runner) {
    let begun = Log::default();
    let noted = begun.clone();
    let handle = start(r, |p| {
        p.create("Numbers", [1_i64]).map_async("Forever", 1, move |n| {
            noted.push(n);
            async move {
                std::future::pending::<()>().await;
                Ok(n)
            }
        });
    })
    .expect("it starts");
    while begun.is_empty() {
        std::thread::yield_now();
    }
    handle.cancel();
    assert_eq!(end_of(&handle).expect("it was cancelled").state, RunState::Cancelled);
}

/// Clients find tokio's reactor, in a program that has no runtime.
pub fn tokio_timers(r: &dyn Runner) {
    #[derive(Clone)]
    struct Sleep;
    impl AsyncDoFn for Sleep {
        type Input = u64;
        type Output = u64;
        async fn process(&self, n: u64, cx: AsyncContext<u64>) -> Result {
            tokio::time::sleep(std::time::Duration::from_micros(n)).await;
            cx.emit(n);
            Ok(())
        }
    }
    let done = collect(r, |p| {
        let par_do = AsyncParDo::of(Sleep).concurrency(4).on_tokio().expect("a runtime starts");
        p.create("Numbers", 1..=8_u64).par_do_async("Sleep", par_do).main()
    });
    assert_eq!(done, (1..=8).collect::<Vec<_>>());
    // Without it the client says what it misses, and the run fails in good order.
    let error = run_to_failure(r, |p| {
        p.create("Numbers", [1_u64]).par_do_async("Sleep", AsyncParDo::of(Sleep));
    });
    assert_says(&error.to_string(), &["`Sleep`", "reactor"]);
}

/// What a closure's future gives.
pub fn closures(r: &dyn Runner) {
    let done = collect(r, |p| {
        p.create("Numbers", 0..50_i64).map_async("Double", 7, |n| async move {
            Turns(n as usize % 3).await;
            Ok(2 * n)
        })
    });
    assert_eq!(done, (0..50).map(|n| 2 * n).collect::<Vec<_>>());
}
