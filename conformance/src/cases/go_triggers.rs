//! Beam's Go tests of triggers, `test/integration/primitives`, and of panes.
//!
//! Those evaluate triggers after each element. Purlin does once a bundle, and a test stream gives each of its events as
//! a bundle at least, so an event has one element here where the number of panes is what is tested.

use purlin_sdk::{
    Runner, WindowInto,
    testing::TestStream,
    window::{ClosingBehavior, FixedWindows, GlobalWindows, PaneTiming, Trigger},
};

use super::support::{at, secs};
use crate::{Committed, runners::run};

/// The sums of all panes, in the order in which they came.
fn sums(r: &dyn Runner, stream: TestStream<i64>, windowing: WindowInto) -> Vec<i64> {
    panes(r, stream, windowing).into_iter().map(|(sum, _)| sum).collect()
}

fn panes(r: &dyn Runner, stream: TestStream<i64>, windowing: WindowInto) -> Vec<(i64, PaneTiming)> {
    let committed = Committed::new();
    let done = run(r, |p| {
        let sums = p
            .apply("Stream", stream)
            .window_into("Window", windowing)
            .key_by("Key", |_| ())
            .group_by_key("Group")
            .map_cx("Sum", |(_, values), cx| Ok((values.into_iter().sum::<i64>(), cx.pane().timing as u8)));
        committed.collect("Collect", &sums);
    });
    if let Err(e) = done {
        panic!("the run failed: {e}");
    }
    committed.seen().into_iter().map(|seen| (seen.value.0, seen.pane.timing)).collect()
}

fn fixed(trigger: Trigger) -> WindowInto {
    WindowInto::of(FixedWindows::of(secs(10))).trigger(trigger).discarding()
}

fn global(trigger: Trigger) -> WindowInto {
    WindowInto::of(GlobalWindows).trigger(trigger).discarding()
}

/// Each number at the first second, each in an event of its own.
fn one_by_one(values: impl IntoIterator<Item = i64>) -> TestStream<i64> {
    values.into_iter().fold(TestStream::new(), |s, v| s.element_at(v, at(1)))
}

/// `TestTriggerDefault`.
pub fn trigger_default(r: &dyn Runner) {
    let stream = TestStream::new()
        .elements([(1, at(1)), (2, at(1)), (3, at(1))])
        .advance_watermark_to(at(11))
        .elements([(4, at(12)), (5, at(12))]);
    assert_eq!(sums(r, stream, WindowInto::of(FixedWindows::of(secs(10)))), [6, 9]);
}

/// `TestTriggerAlways`: a pane for each time that something came.
pub fn trigger_always(r: &dyn Runner) {
    let stream = one_by_one([1, 2, 3]).advance_watermark_to(at(11));
    assert_eq!(sums(r, stream, fixed(Trigger::always())), [1, 2, 3]);
}

/// `TestTriggerElementCount`.
pub fn trigger_element_count(r: &dyn Runner) {
    let stream =
        one_by_one([1, 2, 3]).advance_watermark_to(at(15)).element_at(4, at(16)).element_at(5, at(16));
    let count = Trigger::after_count(2);
    // With only two at most there is nothing more: the third comes too late for a trigger that is done.
    assert_eq!(sums(r, stream, fixed(count).allow_data_loss()), [3, 9]);
}

/// `TestTriggerRepeat`: six elements, three panes of two.
pub fn trigger_repeat(r: &dyn Runner) {
    let trigger = Trigger::repeatedly(Trigger::after_count(2));
    assert_eq!(sums(r, one_by_one([1, 2, 3, 4, 5, 6]), global(trigger)), [3, 7, 11]);
}

/// `TestTriggerAfterProcessingTime`.
pub fn trigger_after_processing_time(r: &dyn Runner) {
    let stream = one_by_one([1, 2, 3]).advance_processing_time(secs(5)).element_at(4, at(1));
    let trigger = Trigger::after_processing_time().delay(secs(5));
    assert_eq!(sums(r, stream.clone(), global(trigger.clone()).allow_data_loss()), [6]);
    // Repeated, the rest comes out when the window ends.
    assert_eq!(sums(r, stream, global(Trigger::repeatedly(trigger))), [6, 4]);
}

/// `TestTriggerAfterEndOfWindow`: an early pane and one at the end.
pub fn trigger_after_end_of_window(r: &dyn Runner) {
    let stream = one_by_one([1, 2, 3]).advance_watermark_to(at(11));
    let trigger = Trigger::after_watermark().early(Trigger::after_count(2));
    assert_eq!(panes(r, stream, fixed(trigger)), [(3, PaneTiming::Early), (3, PaneTiming::OnTime)]);
}

/// `TestTriggerAfterAll`: one pane, when all are ready.
pub fn trigger_after_all(r: &dyn Runner) {
    let all = Trigger::after_all([Trigger::after_processing_time().delay(secs(5)), Trigger::after_count(5)]);
    let stream = one_by_one([1, 2, 3]).advance_processing_time(secs(5)).element_at(4, at(1));
    let stream = stream.element_at(5, at(1)).element_at(6, at(1));
    assert_eq!(sums(r, stream, global(all).allow_data_loss()), [15]);
}

/// `TestTriggerAfterEach`: each in turn.
pub fn trigger_after_each(r: &dyn Runner) {
    let each = Trigger::after_each([Trigger::after_count(2), Trigger::repeatedly(Trigger::after_count(1))]);
    assert_eq!(sums(r, one_by_one([1, 2, 3, 4]), global(each)), [3, 3, 4]);
}

/// `TestTriggerAfterAny`: whichever comes first.
pub fn trigger_after_any(r: &dyn Runner) {
    let any = Trigger::after_any([Trigger::after_count(3), Trigger::after_processing_time().delay(secs(5))]);
    let stream =
        one_by_one([1, 2]).advance_processing_time(secs(5)).element_at(3, at(1)).element_at(4, at(1));
    let stream = stream.element_at(5, at(1)).element_at(6, at(1));
    assert_eq!(sums(r, stream, global(Trigger::repeatedly(any))), [3, 12, 6]);
}

/// `TestTriggerAfterSynchronizedProcessingTime`: both windows have their pane when they expire.
pub fn trigger_after_synchronized_processing_time(r: &dyn Runner) {
    let stream = TestStream::new()
        .elements([(1, at(1)), (2, at(1)), (3, at(1))])
        .advance_watermark_to(at(11))
        .elements([(4, at(12)), (5, at(12))]);
    let trigger = Trigger::repeatedly(Trigger::after_synchronized_processing_time());
    let mut got = sums(r, stream, fixed(trigger));
    got.sort_unstable();
    assert_eq!(got, [6, 9]);
}

/// `TestTriggerNever`: the panes at the ends of the windows.
pub fn trigger_never(r: &dyn Runner) {
    let stream =
        one_by_one([1, 2, 3]).advance_watermark_to(at(11)).element_at(4, at(12)).element_at(5, at(12));
    assert_eq!(sums(r, stream, fixed(Trigger::never())), [6, 9]);
}

/// `TestTriggerOrFinally`: always, until two came in each window.
pub fn trigger_or_finally(r: &dyn Runner) {
    let stream = one_by_one([1, 2, 3])
        .advance_watermark_to(at(11))
        .element_at(4, at(12))
        .element_at(5, at(12))
        .element_at(6, at(12));
    let trigger = Trigger::always().or_finally(Trigger::after_count(2));
    assert_eq!(sums(r, stream, fixed(trigger).allow_data_loss()), [1, 2, 4, 5]);
}

/// `TestPanes`: a DoFn can read the timing of panes, as it was at the grouping.
pub fn panes_in_a_dofn(r: &dyn Runner) {
    let committed = Committed::new();
    let each = || Trigger::after_count(1);
    let windowing = fixed(Trigger::after_watermark().early(each()).late(each()))
        .allowed_lateness(secs(60))
        .closing(ClosingBehavior::FireIfNonEmpty);
    let stream =
        one_by_one([1]).advance_watermark_to(at(11)).element_at(2, at(2)).advance_watermark_to(at(12));
    run(r, |p| {
        let timings = p
            .apply("Stream", stream)
            .window_into("Window", windowing)
            .key_by("Key", |_| ())
            .group_by_key("Group")
            .map_cx("Timing", |(_, values), cx| Ok((format!("{:?}", cx.pane().timing), values.len())));
        committed.collect("Collect", &timings);
    })
    .unwrap_or_else(|e| panic!("the run failed: {e}"));
    let expected = [("Early", 1), ("OnTime", 0), ("Late", 1)].map(|(t, n)| (t.to_owned(), n));
    assert_eq!(committed.values(), expected);
}
