//! Options: that each reaches what it is for, and is not lost on the way (B207).
//!
//! The others have tests of what they do: retries (`b171`), shards, headers and names of files (`b189`), what matches
//! nothing (`b187`), delimiters (`b182`), compression (`b186`), `without_defaults` (`b138`), `allowed_skew`
//! ([`timestamp_skew`](super::basics::timestamp_skew)), `time_sorted` and `late_data` (`b088`), late data of groupings
//! (`b121`), fan-outs ([`fanout`](super::fanout)).

use purlin_sdk::{
    Runner, Timestamp, WindowInto,
    metrics::DROPPED_DUE_TO_LATENESS,
    testing::TestStream,
    window::{
        ClosingBehavior, FixedWindows, OnTimeBehavior, PaneTiming, SlidingWindows, TimestampCombiner, Trigger,
    },
};

use super::support::{Log, Sum, assert_says, at, build_errors, run, secs};

type Pane = (i64, Timestamp, PaneTiming, bool);

/// Panes and dropped elements of a stream with early, late and too late elements.
fn outcome(r: &dyn Runner, windowing: WindowInto) -> (Vec<Pane>, i64) {
    let log = Log::default();
    let noted = log.clone();
    let stream = TestStream::new()
        .element_at(1_i64, at(2))
        .advance_watermark_to(at(11))
        .element_at(2, at(3))
        .advance_watermark_to(at(80))
        .element_at(4, at(4));
    let outcome = run(r, |p| {
        p.apply("Stream", stream)
            .window_into("Windows", windowing)
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum)
            .map_cx("Pane", move |(_, n), cx| {
                noted.push((n, cx.timestamp(), cx.pane().timing, cx.pane().is_last));
                Ok(())
            });
    });
    let mut panes = log.take();
    panes.sort_by_key(|pane| (pane.1, pane.2, pane.0));
    (panes, outcome.metrics.committed.counter("Sum", DROPPED_DUE_TO_LATENESS))
}

/// Every option of a windowing changes what comes out, in its own way.
pub fn b207_every_windowing_option_has_an_effect(r: &dyn Runner) {
    let each = || Trigger::after_count(1);
    let base = || {
        WindowInto::of(FixedWindows::of(secs(10)))
            .trigger(Trigger::after_watermark().early(each()).late(each()))
            .discarding()
            .allowed_lateness(secs(60))
    };
    let options = [
        base(),
        WindowInto::of(SlidingWindows::of(secs(10), secs(5)))
            .trigger(Trigger::after_watermark().early(each()).late(each()))
            .discarding()
            .allowed_lateness(secs(60)),
        base().trigger(Trigger::after_watermark().late(each())),
        base().accumulating(),
        base().allowed_lateness(secs(1)),
        base().timestamp_combiner(TimestampCombiner::Latest),
        base().closing(ClosingBehavior::FireAlways),
        base().on_time(OnTimeBehavior::FireIfNonEmpty),
    ];
    let outcomes = options.clone().map(|windowing| outcome(r, windowing));
    for (i, one) in outcomes.iter().enumerate() {
        for (j, other) in outcomes.iter().enumerate().skip(i + 1) {
            assert_ne!(one, other, "{:?} does the same as {:?}", options[i], options[j]);
        }
    }
    let once = || WindowInto::of(FixedWindows::of(secs(10))).trigger(each()).discarding();
    let built = |windowing: WindowInto| {
        let p = purlin_sdk::Pipeline::new();
        p.create("Values", [((), 1_i64)]).window_into("Windows", windowing).group_by_key("Group");
        p.build().is_ok()
    };
    assert_eq!((built(once()), built(once().allow_data_loss())), (false, true));
    let text = build_errors(|p| {
        p.create("Values", [((), 1_i64)]).window_into("Windows", once()).group_by_key("Group");
    });
    assert_says(&text, &["`Group`", "allow_data_loss"]);
}
