//! Combining with a look at side inputs.

use purlin_sdk::{
    CombineContext, CombineFnWithContext, CombineWithContext, Result, Runner, View, WindowInto,
    window::{FixedWindows, Sessions, SlidingWindows},
};

use super::support::{assert_says, at, build_errors, collect, secs, span};

/// A sum, with the side input in front.
#[derive(Clone)]
struct SumWith {
    side: View<i64>,
}

impl CombineFnWithContext for SumWith {
    type Input = i64;
    type Accumulator = i64;
    type Output = (i64, i64);

    fn create(&self, _: &CombineContext<'_>) -> Result<i64> {
        Ok(0)
    }

    fn add_input(&self, sum: &mut i64, x: i64, cx: &CombineContext<'_>) -> Result {
        *sum += x * cx.side(&self.side)?.signum();
        Ok(())
    }

    fn extract(&self, sum: i64, cx: &CombineContext<'_>) -> Result<(i64, i64)> {
        Ok((cx.side(&self.side)?, sum))
    }
}

/// Per key and globally, in the global window.
pub fn a_side_input_while_combining(r: &dyn Runner) {
    let sums = collect(r, |p| {
        let side = p.create("Side", [7_i64]).view_as_singleton("View");
        let sum = CombineWithContext::per_key(SumWith { side: side.clone() }).side(&side);
        p.create("Pairs", [("a".to_owned(), 1_i64), ("a".to_owned(), 2), ("b".to_owned(), 3)])
            .apply("Sum", sum)
    });
    assert_eq!(sums, [("a".to_owned(), (7, 3)), ("b".to_owned(), (7, 3))]);
    for (values, expected) in [(vec![1_i64, 2, 3], (7, 6)), (vec![], (7, 0))] {
        let sums = collect(r, |p| {
            let side = p.create("Side", [7_i64]).view_as_singleton("View");
            let sum = CombineWithContext::globally(SumWith { side: side.clone() }).side(&side);
            p.create("Values", values).apply("Sum", sum)
        });
        assert_eq!(sums, [expected]);
    }
}

/// The side input's window follows the main one; for sessions, the merged one.
pub fn the_side_window_follows_the_main_one(r: &dyn Runner) {
    let times = [1, 4, 8, 13];
    let sums = |windows: WindowInto| {
        collect(r, |p| {
            let side = p
                .create_timestamped("Side", [(100_i64, at(5)), (200, at(15)), (300, at(25))])
                .window_into("SideWindows", FixedWindows::of(secs(10)))
                .view_as_singleton("View");
            let sum =
                CombineWithContext::globally(SumWith { side: side.clone() }).without_defaults().side(&side);
            p.create_timestamped("Values", times.map(|t| (t, at(t))))
                .window_into("Windows", windows)
                .apply("Sum", sum)
                .map_cx("Where", |(side, sum), cx| Ok((span(&cx.window()), side, sum)))
        })
    };
    assert_eq!(sums(WindowInto::of(FixedWindows::of(secs(10)))), [((0, 10), 100, 13), ((10, 20), 200, 13)]);
    assert_eq!(
        sums(WindowInto::of(SlidingWindows::of(secs(10), secs(5)))),
        [((-5, 5), 100, 5), ((0, 10), 100, 13), ((5, 15), 200, 21), ((10, 20), 200, 13)]
    );
    assert_eq!(sums(WindowInto::of(Sessions::with_gap(secs(5)))), [((1, 13), 200, 13), ((13, 18), 200, 13)]);
}

/// A default value has no place in other windows than the global one.
pub fn defaults_in_windows(_: &dyn Runner) {
    let errors = build_errors(|p| {
        let side = p.create("Side", [7_i64]).view_as_singleton("View");
        let sum = CombineWithContext::globally(SumWith { side: side.clone() }).side(&side);
        p.create("Values", [1_i64]).window_into("Windows", FixedWindows::of(secs(10))).apply("Sum", sum);
    });
    assert_says(&errors, &["`Sum`", "without_defaults()"]);
}
