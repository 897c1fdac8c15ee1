//! Joins on every runner.

mod common;

use common::{gives, seconds, tens, with_window};
use purlin_sdk::{Apply, PCollection, Pipeline};
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
