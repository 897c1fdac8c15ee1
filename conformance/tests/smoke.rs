//! smoke
use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{testing::TestStream, window::*, *};
use std::sync::{Arc, Mutex};

#[derive(Clone)]
struct Sum;
impl CombineFn for Sum {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;
    fn create(&self) -> i64 {
        0
    }
    fn add_input(&self, a: &mut i64, x: i64) {
        *a += x;
    }
    fn merge(&self, a: &mut i64, b: i64) {
        *a += b;
    }
    fn extract(&self, a: i64) -> i64 {
        a
    }
}

fn runners() -> Vec<Box<dyn Runner>> {
    let mut all: Vec<Box<dyn Runner>> = vec![];
    for seed in 0..5 {
        all.push(Box::new(DirectRunner::new().seed(seed)));
    }
    for n in [1, 2, 16] {
        all.push(Box::new(ThreadedRunner::new().parallelism(n)));
    }
    all
}

fn collect<T: Element + Ord + std::fmt::Debug>(build: impl Fn(&Pipeline) -> PCollection<T>) -> Vec<Vec<T>> {
    runners()
        .iter()
        .map(|r| {
            let p = Pipeline::new();
            let out = Arc::new(Mutex::new(Vec::new()));
            let o = out.clone();
            build(&p).map("Collect", move |x| {
                o.lock().unwrap().push(x);
            });
            p.run_on(&**r).unwrap().wait().unwrap_or_else(|e| panic!("{r:?}: {e}"));
            let mut v = out.lock().unwrap().clone();
            v.sort();
            v
        })
        .collect()
}

#[test]
fn map_and_group() {
    for r in collect(|p| {
        p.create("N", 0..10_i64)
            .map("D", |x| x * 2)
            .key_by("K", |x| x % 3)
            .group_by_key("G")
            .map("S", |(k, v)| (k, v.into_iter().sum::<i64>()))
    }) {
        assert_eq!(r, [(0, 36), (1, 30), (2, 24)]);
    }
}

#[test]
fn combine() {
    for r in collect(|p| p.create("N", 0..1000_i64).combine_globally("S", Sum)) {
        assert_eq!(r, [499500]);
    }
    for r in collect(|p| p.create("N", Vec::<i64>::new()).combine_globally("S", Sum)) {
        assert_eq!(r, [0]);
    }
}

#[test]
fn windows() {
    let at = Timestamp::from_secs;
    for r in collect(|p| {
        p.create_timestamped("N", (0..100_i64).map(|i| (i, at(i))))
            .window_into("W", FixedWindows::of(Duration::from_secs(10)))
            .map("P", |x| (x % 2, x))
            .combine_per_key("S", Sum)
            .map_cx("T", |(k, s), cx| Ok((cx.timestamp(), k, s)))
    }) {
        assert_eq!(r.len(), 20);
        assert_eq!(r[0], (Timestamp::from_millis(9999).unwrap(), 0, 20));
    }
    for r in collect(|p| {
        p.create_timestamped(
            "N",
            [("k", 0), ("k", 5), ("k", 8), ("k", 40)].map(|(k, t)| ((k.to_owned(), t), at(t))),
        )
        .window_into("W", Sessions::with_gap(Duration::from_secs(10)))
        .combine_per_key("S", Sum)
        .map_cx("T", |(_, s), cx| Ok((cx.timestamp().as_millis(), s)))
    }) {
        assert_eq!(r, [(17_999, 13), (49_999, 40)]);
    }
}

#[test]
fn side() {
    for r in collect(|p| {
        let main = p.create("M", 1..=3_i64);
        let side = p.create("S", [10_i64]).view_as_singleton("V");
        let s = side.clone();
        main.par_do_with(
            "Add",
            ParDo::from_fn(move |x: i64, cx, out: &mut Emitter<'_, i64>| {
                out.emit(x + cx.side(&s)?);
                Ok(())
            })
            .side(&side),
        )
        .main()
    }) {
        assert_eq!(r, [11, 12, 13]);
    }
}

#[test]
fn stream() {
    let at = Timestamp::from_secs;
    for r in collect(|p| {
        p.apply(
            "S",
            TestStream::new()
                .element_at(1_i64, at(1))
                .element_at(2, at(11))
                .advance_watermark_to(at(10))
                .element_at(5, at(2))
                .element_at(7, at(12)),
        )
        .window_into("W", FixedWindows::of(Duration::from_secs(10)))
        .map("K", |x| ((), x))
        .combine_per_key("C", Sum)
        .map("V", |(_, v)| v)
    }) {
        assert_eq!(r, [1, 9]); // The element at 2 comes when its window is over.
    }
}

#[test]
fn results_of_windows_beyond_the_global_windows_end_are_not_late_in_it() {
    for results in collect(|p| {
        // The sum comes out at the end of the global window, so the windows that it is put into end after that.
        let sum = p.create("N", 0..10_i64).combine_globally("Sum", Sum);
        let view = sum.view_as_singleton("View");
        let seen = view.clone();
        let sessions = sum
            .window_into("Sessions", Sessions::with_gap(Duration::from_secs(10)))
            .map("Key", |x| ((), x))
            .combine_per_key("Session", Sum)
            .map("Value", |(_, x)| x);
        let fixed = sum
            .window_into("Sliding", SlidingWindows::of(Duration::from_secs(10), Duration::from_secs(10)))
            .apply("SumSliding", Combine::globally(Sum).without_defaults())
            .par_do_with(
                "Side",
                ParDo::from_fn(move |x, cx, out: &mut Emitter<'_, i64>| {
                    out.emit(x + cx.side(&seen)?);
                    Ok(())
                })
                .side(&view),
            )
            .main();
        let sessions = sessions.window_into("Back1", GlobalWindows);
        let fixed = fixed.window_into("Back2", GlobalWindows);
        p.flatten("All", [sessions, fixed]).key_by("K", |x| *x).group_by_key("G").map("Keys", |(k, _)| k)
    }) {
        assert_eq!(results, [45, 90]);
    }
}
