use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn entry(due: i64, order: u64) -> Entry {
    let due = Timestamp::saturating_from_millis(due);
    let owner = Owner { slot: order as usize, number: 0, tag: "".into() };
    Entry { turn: (due, due, order), owner }
}

/// Times of all distances from each other, some of them equal.
fn times() -> impl Strategy<Value = i64> {
    prop_oneof![
        0_i64..4,
        -100_i64..100,
        0_i64..100_000,
        0_i64..10_000_000_000,
        Just(Timestamp::MIN.as_millis()),
        Just(Timestamp::MAX.as_millis()),
        any::<i64>(),
    ]
}

proptest! {
    #[test]
    fn it_is_a_sorted_set(steps in prop::collection::vec((times(), 0..4), 1..500)) {
        let (mut queue, mut model) = (Queue::default(), BTreeSet::new());
        for (order, (due, step)) in steps.into_iter().enumerate() {
            match step {
                0 => {
                    let popped = queue.pop().map(|entry| entry.turn);
                    prop_assert_eq!(popped, model.pop_first());
                }
                1 => {
                    let end = Timestamp::saturating_from_millis(due);
                    let until: BTreeSet<Turn> = queue.until(end).map(|entry| entry.turn).collect();
                    let expected: BTreeSet<Turn> =
                        model.iter().filter(|turn: &&Turn| turn.0 <= end).copied().collect();
                    prop_assert_eq!(until, expected);
                }
                _ => {
                    let new = entry(due, order as u64);
                    model.insert(new.turn);
                    queue.push(new);
                }
            }
            if order % 50 == 49 {
                queue.retain(|entry| entry.turn.2 % 3 != 0);
                model.retain(|turn| turn.2 % 3 != 0);
            }
            prop_assert_eq!(queue.len(), model.len());
            prop_assert_eq!(queue.first().map(|entry| entry.turn), model.first().copied());
        }
        while let Some(turn) = model.pop_first() {
            prop_assert_eq!(queue.pop().map(|entry| entry.turn), Some(turn));
        }
        prop_assert!(queue.pop().is_none());
    }
}

#[test]
fn one_that_is_far_ahead_does_not_hold_the_others_in_one_heap() {
    let mut queue = Queue::default();
    for order in 0..10_000 {
        // Each comes before all that were there.
        queue.push(entry(1_000_000_000 - order as i64 * 1_000, order));
        assert_eq!(queue.first().map(|entry| entry.turn.2), Some(order));
        assert!(queue.early.len() <= MOST_EARLY.max(queue.len() / 2));
    }
    assert!((0..10_000).rev().all(|order| queue.pop().is_some_and(|entry| entry.turn.2 == order)));
}
