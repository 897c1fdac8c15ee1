//! Sessions.

use purlin_sdk::{
    Apply, CoGroupByKey, Runner, WindowInto,
    metrics::DROPPED_DUE_TO_LATENESS,
    testing::TestStream,
    window::{Sessions, TimestampCombiner},
};

use super::support::{Log, Sum, at, at_ms, collect, run, secs, span};

/// Sessions merge per key, and data that are far apart do not meet.
pub fn b122_sessions_merge_per_key(r: &dyn Runner) {
    let elements = [("k1", &[1, 2, 100, 101, 102_i64][..]), ("k2", &[5, 95])];
    let groups = collect(r, |p| {
        let elements: Vec<_> = elements
            .iter()
            .flat_map(|(k, times)| times.iter().map(|t| (((*k).to_owned(), *t), at(*t))))
            .collect();
        p.create_timestamped("Times", elements)
            .window_into("Sessions", Sessions::with_gap(secs(10)))
            .group_by_key("Group")
            .map("Sorted", |(k, values)| {
                let mut values = values.into_vec();
                values.sort_unstable();
                (k, values)
            })
    });
    let expected = [("k1", vec![1, 2]), ("k1", vec![100, 101, 102]), ("k2", vec![5]), ("k2", vec![95])];
    assert_eq!(groups, expected.map(|(k, values)| (k.to_owned(), values)));
}

/// A session's timestamp is right whatever the order in which its elements came.
pub fn b098_the_timestamp_of_merged_windows(r: &dyn Runner) {
    let orders = [[0, 5, 8], [0, 8, 5], [5, 0, 8], [5, 8, 0], [8, 0, 5], [8, 5, 0]];
    let combiners = [
        (TimestampCombiner::Earliest, at(0)),
        (TimestampCombiner::Latest, at(8)),
        (TimestampCombiner::EndOfWindow, at_ms(17_999)),
    ];
    for order in orders {
        for (combiner, expected) in combiners {
            for together in [false, true] {
                let elements = order.map(|t| (t, at(t)));
                let stream = if together {
                    TestStream::new().elements(elements)
                } else {
                    elements.into_iter().fold(TestStream::new(), |s, (t, at)| s.element_at(t, at))
                };
                let sessions = collect(r, |p| {
                    let windows = WindowInto::of(Sessions::with_gap(secs(10))).timestamp_combiner(combiner);
                    p.apply("Stream", stream)
                        .window_into("Sessions", windows)
                        .key_by("Key", |_| ())
                        .combine_per_key("Sum", Sum)
                        .map_cx("Stamp", |(_, sum), cx| Ok((cx.timestamp(), span(&cx.window()), sum)))
                });
                assert_eq!(
                    sessions,
                    [(expected, (0, 18), 13)],
                    "{order:?} {combiner:?} together: {together}"
                );
            }
        }
    }
}

/// What two joined collections give does not depend on which is named, or comes, first.
pub fn b124_the_order_of_inputs_does_not_matter(r: &dyn Runner) {
    for a_named_first in [true, false] {
        for a_comes_first in [true, false] {
            let (a, b) = ((("k".to_owned(), 'a'), at(10)), (("k".to_owned(), 'b'), at(11)));
            let (first, second) = if a_comes_first { (a, b) } else { (b, a) };
            let groups = collect(r, |p| {
                let stream = TestStream::new().elements([first]).elements([second]);
                let all = p.apply("Stream", stream).window_into("Sessions", Sessions::with_gap(secs(60)));
                let a = all.filter("A", |(_, side)| *side == 'a');
                let b = all.filter("B", |(_, side)| *side == 'b');
                let inputs = if a_named_first { (a, b) } else { (b, a) };
                inputs.apply("Join", CoGroupByKey).map_cx("Lists", |(k, (one, two)), cx| {
                    let mut both = [one.into_vec(), two.into_vec()];
                    both.sort();
                    Ok((k, both, span(&cx.window())))
                })
            });
            assert_eq!(groups, [("k".to_owned(), [vec!['a'], vec!['b']], (10, 71))]);
        }
    }
}

/// A late event is dropped, and does not join the next session.
pub fn b126_a_late_event_joins_no_session(r: &dyn Runner) {
    let log = Log::default();
    let outcome = run(r, |p| {
        let stream = TestStream::new()
            .advance_watermark_to(at(100))
            .element_at(10_i64, at(10))
            .element_at(102, at(102));
        let sessions = p
            .apply("Stream", stream)
            .window_into("Sessions", Sessions::with_gap(secs(5)))
            .key_by("Key", |_| ())
            .group_by_key("Group")
            .map_cx("Bounds", |(_, values), cx| Ok((span(&cx.window()), values.into_vec())));
        log.note("Collect", &sessions);
    });
    assert_eq!(log.take(), [((102, 107), vec![102])]);
    assert_eq!(outcome.metrics.committed.counter("Group", DROPPED_DUE_TO_LATENESS), 1);
}

/// Sessions that were grouped are merged for good: a second grouping by another key does not merge them again.
pub fn b127_merged_windows_do_not_merge_again(r: &dyn Runner) {
    let sessions = collect(r, |p| {
        p.create_timestamped("Users", [("u1", 0), ("u2", 5)].map(|(u, t)| ((u.to_owned(), 1_i64), at(t))))
            .window_into("Sessions", Sessions::with_gap(secs(10)))
            .combine_per_key("PerUser", Sum)
            .map("Rekey", |(_, n)| ("p".to_owned(), n))
            .combine_per_key("PerPage", Sum)
            .map_cx("Bounds", |(k, n), cx| Ok((span(&cx.window()), k, n)))
    });
    assert_eq!(sessions, [((0, 10), "p".to_owned(), 1), ((5, 15), "p".to_owned(), 1)]);
}

/// Sessions that only touch are two; one that overlaps both makes them one.
pub fn touching_sessions_stay_apart(r: &dyn Runner) {
    let sessions = |times: &[i64]| {
        collect(r, |p| {
            p.create_timestamped("Times", times.iter().map(|t| (1_i64, at(*t))).collect::<Vec<_>>())
                .window_into("Sessions", Sessions::with_gap(secs(10)))
                .key_by("Key", |_| ())
                .combine_per_key("Count", Sum)
                .map_cx("Bounds", |(_, n), cx| Ok((span(&cx.window()), n)))
        })
    };
    assert_eq!(sessions(&[0, 10]), [((0, 10), 1), ((10, 20), 1)]);
    assert_eq!(sessions(&[0, 12, 6]), [((0, 22), 3)]);
}
