//! Pipelines of one script, in which everything is the same in every run: what is dropped, and each pane.
//!
//! Elements come one by one, so that nothing depends on how bundles are cut, and no two ways lead to one key of a
//! grouping.

use fastrand::Rng;
use purlin_conformance::Committed;
use purlin_derive::KeyedState;
use purlin_sdk::{
    Duration, Emitter, KeyedDoFn, PCollection, ParDo, Partition, Pipeline, ProcessContext, Result, Tag,
    TimerContext, Timestamp, WindowInto,
    state::{Bag, Timer},
    testing::TestStreams,
    window::{
        ClosingBehavior, FixedWindows, GlobalWindows, OnTimeBehavior, Sessions, SlidingWindows,
        TimestampCombiner, Trigger,
    },
};

use super::{Drawn, Known, Sum, seconds};

const MAIN: Tag<i64> = Tag::new("main");
const SIDE: Tag<i64> = Tag::new("side");

/// The scripted pipeline of `seed`.
pub(crate) fn scripted_pipeline(seed: u64) -> Drawn {
    let p = Pipeline::new();
    let mut draw = Draw { rng: Rng::with_seed(seed), committed: Committed::new(), results: 0 };
    let streams = p.apply("Script", draw.script());
    let (main, side) = (streams.tagged(MAIN), streams.tagged(SIDE));
    let branches = draw.rng.usize(1..4);
    for branch in 0..branches {
        draw.branch(&format!("Branch {branch}"), &p, &main);
    }
    draw.side_input(&main, &side);
    let known = vec![Known { on_time: false, ..Known::ALL }; draw.results];
    Drawn { pipeline: p, committed: draw.committed, known, panes: Committed::new(), groupings: Vec::new() }
}

struct Draw {
    rng: Rng,
    committed: Committed<(usize, i64)>,
    results: usize,
}

impl Draw {
    /// Elements, some of them late, between moves of the watermarks and of the clock.
    fn script(&mut self) -> TestStreams {
        let mut script = TestStreams::new().bounded().stream(MAIN).stream(SIDE);
        let mut watermark = 0;
        for i in 0..self.rng.i64(5..40) {
            let at = Timestamp::from_secs(watermark + self.rng.i64(-30..40));
            script = match self.rng.u8(..10) {
                0 | 1 => {
                    watermark += self.rng.i64(1..25);
                    script.advance_watermark_to(MAIN, Timestamp::from_secs(watermark))
                }
                2 => script.advance_processing_time(seconds(self.rng.i64(1..8))),
                3 => script.elements(SIDE, [(i, at)]),
                4 => script.advance_watermark_to(SIDE, Timestamp::from_secs(watermark)),
                _ => script.elements(MAIN, [(i + 100 * self.rng.i64(0..5), at)]),
            };
        }
        script
    }

    fn trigger(&mut self, depth: usize) -> Trigger {
        let n = self.rng.u64(1..4);
        let delay = seconds(self.rng.i64(0..6));
        let time = Trigger::after_processing_time().delay(delay);
        if depth == 0 {
            return match self.rng.u8(..6) {
                0 => Trigger::default(),
                1 => Trigger::after_watermark(),
                2 => time,
                3 => time.align_to(seconds(3)),
                _ => Trigger::after_count(n),
            };
        }
        let (a, b) = (self.trigger(depth - 1), self.trigger(depth - 1));
        match self.rng.u8(..9) {
            0 => Trigger::after_each([a, b]),
            1 => Trigger::after_all([a, b]),
            2 => Trigger::after_any([a, b]),
            3 => a.or_finally(b),
            4 => Trigger::after_watermark().early(a).late(b),
            5 => Trigger::never(),
            6 => Trigger::always(),
            _ => Trigger::repeatedly(a),
        }
    }

    fn windowing(&mut self, may_merge: bool) -> WindowInto {
        let size = self.rng.i64(2..40);
        let into = match self.rng.u8(..5) {
            0 => WindowInto::of(GlobalWindows),
            1 => WindowInto::of(SlidingWindows::of(seconds(size), seconds(1 + size / 2))),
            2 if may_merge => WindowInto::of(Sessions::with_gap(seconds(size))),
            _ => WindowInto::of(FixedWindows::of(seconds(size))),
        };
        let depth = self.rng.usize(0..4);
        let trigger = self.trigger(depth);
        let into = into.trigger(trigger).allow_data_loss();
        let into = if self.rng.bool() { into.discarding() } else { into.accumulating() };
        let late: Duration = seconds(self.rng.i64(0..30));
        let (closing, on_time) = (self.rng.bool(), self.rng.bool());
        let closing = if closing { ClosingBehavior::FireAlways } else { ClosingBehavior::FireIfNonEmpty };
        let on_time = if on_time { OnTimeBehavior::FireAlways } else { OnTimeBehavior::FireIfNonEmpty };
        let combiner = match self.rng.u8(..3) {
            0 => TimestampCombiner::Earliest,
            1 => TimestampCombiner::Latest,
            _ => TimestampCombiner::EndOfWindow,
        };
        into.allowed_lateness(late).closing(closing).on_time(on_time).timestamp_combiner(combiner)
    }

    fn collect(&mut self, pc: &PCollection<i64>) {
        let i = self.results;
        self.results += 1;
        let numbered = pc.map(&format!("Number {i}"), move |x| (i, x));
        self.committed.collect(&format!("Collect {i}"), &numbered);
    }

    fn branch(&mut self, name: &str, p: &Pipeline, main: &PCollection<i64>) {
        let stateful = self.rng.u8(..4) == 0;
        let windowed = main.window_into(&format!("{name} Windows"), self.windowing(!stateful));
        let parts = self.rng.usize(1..4);
        let parts = windowed
            .apply(&format!("{name} Parts"), Partition::of(parts, move |x: &i64| *x as usize % parts));
        // What went two ways comes together, each element once.
        let together = p.flatten(&format!("{name} Together"), parts);
        let keys = self.rng.i64(1..4);
        let keyed = together.key_by(&format!("{name} Key"), move |x| x % keys);
        let results = match self.rng.u8(..3) {
            _ if stateful => keyed.par_do_keyed(&format!("{name} State"), InOrder),
            0 => {
                let sums = keyed.combine_per_key(&format!("{name} Sum"), Sum);
                sums.map(&format!("{name} Value"), |(key, sum)| key + 10 * sum)
            }
            _ => {
                let groups = keyed.group_by_key(&format!("{name} Group"));
                groups.map(&format!("{name} Digest"), |(key, all)| {
                    let mut all: Vec<i64> = all.into_iter().collect();
                    all.sort_unstable();
                    all.iter().fold(key + 1, |digest, x| (31 * digest + x).rem_euclid(1_000_000_007))
                })
            }
        };
        self.collect(&results);
    }

    /// The latest that a side input said, at each element.
    fn side_input(&mut self, main: &PCollection<i64>, side: &PCollection<i64>) {
        let each = Trigger::repeatedly(Trigger::after_count(1));
        let windows = WindowInto::of(GlobalWindows).trigger(each).closing(ClosingBehavior::FireIfNonEmpty);
        let view = if self.rng.bool() {
            side.window_into("Side", windows.discarding()).view_as_list("View")
        } else {
            side.window_into("Side", windows.accumulating()).view_as_list("View")
        };
        let seen = view.clone();
        let read = ParDo::from_fn(move |x: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| {
            let others = cx.side(&seen)?;
            out.emit(1000 * x + others.iter().sum::<i64>());
            Ok(())
        });
        self.collect(&main.par_do_with("Read", read.side(&view)).main());
    }
}

/// What it says depends on the order of elements and timers.
#[derive(Clone)]
struct InOrder;

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Cells {
    all: Bag<i64>,
    #[timer(event)]
    end: Timer,
    #[timer(processing)]
    flush: Timer,
}

impl KeyedDoFn for InOrder {
    type Key = i64;
    type Value = i64;
    type Output = i64;
    type State = Cells;

    fn process(
        &mut self,
        _: &i64,
        x: i64,
        s: &mut Cells,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result {
        s.all.add(x);
        out.emit(10 * x + s.all.len() as i64);
        if !s.flush.is_set() {
            s.flush.set_after(cx, seconds(3))?;
        }
        s.end.set(cx, cx.window().max_timestamp().min(cx.timestamp() + seconds(10)))
    }

    fn on_timer(
        &mut self,
        timer: CellsTimer,
        key: &i64,
        s: &mut Cells,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result {
        let all = s.all.read();
        out.emit(
            all.iter().fold(cx.fire_timestamp().as_millis() % 1000 + key, |d, x| (31 * d + x) % 1_000_003),
        );
        if timer == CellsTimer::Flush {
            s.all.clear();
        }
        Ok(())
    }
}
