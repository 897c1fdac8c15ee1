//! Joins on every runner.

mod common;

use common::{gives, seconds, tens, with_window};
use purlin_sdk::{
    Apply, Duration, PCollection, Pipeline, Timestamp, WindowInto,
    testing::TestStream,
    window::{FixedWindows, GlobalWindows, Sessions, Trigger},
};
use purlin_transforms::{Join, Sum};

type Sides = (PCollection<(i32, char)>, PCollection<(i32, bool)>);

/// Key 1 on both sides, 2 only left, 3 only right, 4 twice on both.
fn sides(p: &Pipeline) -> Sides {
    let left = p.create("Left", [(1, 'a'), (2, 'b'), (4, 'c'), (4, 'd')]);
    let right = p.create("Right", [(1, true), (3, false), (4, true), (4, false)]);
    (left, right)
}

const MATCHED: [(i32, (char, bool)); 5] =
    [(1, ('a', true)), (4, ('c', false)), (4, ('c', true)), (4, ('d', false)), (4, ('d', true))];

#[test]
fn inner() {
    gives(MATCHED, |p| sides(p).apply("Join", Join::inner()));
}

#[test]
fn left_outer() {
    let mut want = MATCHED.map(|(k, (v, w))| (k, (v, Some(w)))).to_vec();
    want.push((2, ('b', None)));
    gives(want, |p| sides(p).apply("Join", Join::left_outer()));
}

#[test]
fn right_outer() {
    let mut want = MATCHED.map(|(k, (v, w))| (k, (Some(v), w))).to_vec();
    want.push((3, (None, false)));
    gives(want, |p| sides(p).apply("Join", Join::right_outer()));
}

#[test]
fn full_outer() {
    let mut want = MATCHED.map(|(k, (v, w))| (k, (Some(v), Some(w)))).to_vec();
    want.extend([(2, (Some('b'), None)), (3, (None, Some(false)))]);
    gives(want, |p| sides(p).apply("Join", Join::full_outer()));
}

#[test]
fn with_an_empty_side() {
    let sides = |p: &Pipeline| (p.create("Left", [(1, 'a')]), p.create::<(i32, bool)>("Right", []));
    gives([], |p| sides(p).apply("Join", Join::inner()));
    gives([(1, ('a', None))], |p| sides(p).apply("Join", Join::left_outer()));
    gives([], |p| sides(p).apply("Join", Join::right_outer()));
    gives([(1, (Some('a'), None))], |p| sides(p).apply("Join", Join::full_outer()));
}

#[test]
fn values_meet_within_a_window_only() {
    gives([(0, (0, (1, 2))), (10, (0, (11, 12)))], |p| {
        let tens = seconds(p, [1, 2, 11, 12]).window_into("Tens", tens());
        let odd = tens.filter("Odd", |n| n % 2 == 1).key_by("OddKey", |_| 0);
        let even = tens.filter("Even", |n| n % 2 == 0).key_by("EvenKey", |_| 0);
        with_window(&(odd, even).apply("Join", Join::inner()))
    });
}

#[test]
fn a_collection_joined_with_itself() {
    gives([(1, ('a', 'a')), (1, ('a', 'b')), (1, ('b', 'a')), (1, ('b', 'b'))], |p| {
        let pc = p.create("Pairs", [(1, 'a'), (1, 'b')]);
        (pc.clone(), pc).apply("Join", Join::inner())
    });
}

#[test]
fn a_hot_key_makes_more_pairs_than_a_batch_holds() {
    gives([(0, 600 * 600)], |p| {
        let pc = p.create("Pairs", (0..600).map(|n| (0, n)));
        (pc.clone(), pc).apply("Join", Join::inner()).map_values("One", |_| 1).apply("Sum", Sum::per_key())
    });
}

type Numbers = PCollection<(i32, i64)>;

/// Orders at one second and payments at two, in one stream; the second one comes late, and is allowed to.
fn late_payment(p: &Pipeline, windows: WindowInto) -> (Numbers, Numbers) {
    let at = Timestamp::from_secs;
    let stream = TestStream::new().element_at(1, at(1)).advance_watermark_to(at(20)).element_at(2, at(2));
    let all = p.apply("Stream", stream).window_into("Windows", windows);
    let key = |_: &i64| 7;
    (
        all.filter("Orders", |n| *n == 1).key_by("Order", key),
        all.filter("Paid", |n| *n == 2).key_by("Pay", key),
    )
}

#[test]
fn panes_that_accumulate_have_all_pairs_so_far() {
    let windows = || {
        let windows = WindowInto::of(FixedWindows::of(Duration::from_secs(10)));
        windows.allowed_lateness(Duration::from_secs(60)).accumulating()
    };
    gives([(7, (1, 2))], |p| late_payment(p, windows()).apply("Join", Join::inner()));
    gives([(7, (1, None)), (7, (1, Some(2)))], |p| {
        late_payment(p, windows()).apply("Join", Join::left_outer())
    });
}

/// The error of a join of such windows.
fn refused(windows: WindowInto) -> Option<String> {
    let p = Pipeline::new();
    late_payment(&p, windows).apply("Joined", Join::left_outer());
    p.build().err().map(|errors| errors.to_string())
}

#[test]
fn panes_that_discard_are_refused() {
    let ten = Duration::from_secs(10);
    let early = Trigger::after_watermark().early(Trigger::after_count(1));
    for windows in [
        WindowInto::of(FixedWindows::of(ten)).allowed_lateness(ten),
        WindowInto::of(FixedWindows::of(ten)).trigger(early).discarding(),
        WindowInto::of(GlobalWindows).trigger(Trigger::repeatedly(Trigger::after_count(1))).discarding(),
    ] {
        let error = refused(windows).expect("it is refused");
        for said in ["`Joined`", "joins.rs", "never meet", ".accumulating()", "CoGroupByKey"] {
            assert!(error.contains(said), "{error}");
        }
    }
    for windows in [
        WindowInto::of(FixedWindows::of(ten)),
        WindowInto::of(Sessions::with_gap(ten)),
        WindowInto::of(FixedWindows::of(ten)).allowed_lateness(ten).accumulating(),
        WindowInto::of(FixedWindows::of(ten)).allowed_lateness(ten).trigger(Trigger::never()).discarding(),
    ] {
        assert_eq!(refused(windows), None);
    }
}
