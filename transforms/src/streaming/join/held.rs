//! The rows of one key that one side of a join keeps.

use purlin_sdk::{Duration, Timestamp};
use serde::{Deserialize, Serialize};

/// A row that is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Held<T> {
    pub(super) time: Option<Timestamp>,
    pub(super) row: T,
    /// Whether it had a partner.
    pub(super) matched: bool,
    /// The epoch that it came in.
    pub(super) epoch: u64,
}

/// Adds a row, in the order of time; rows without a time come first.
pub(super) fn keep<T>(rows: &mut Vec<Held<T>>, new: Held<T>) {
    let at = rows.partition_point(|held| held.time <= new.time);
    rows.insert(at, new);
}

/// Where those are whose time is between `from` and `to` after `time`, where that is said.
pub(super) fn between<T>(
    rows: &[Held<T>],
    time: Option<Timestamp>,
    from: Option<Duration>,
    to: Option<Duration>,
) -> std::ops::Range<usize> {
    if from.is_none() && to.is_none() {
        return 0..rows.len();
    }
    let Some(time) = time else { return 0..0 };
    let start = match from {
        Some(from) => rows.partition_point(|held| held.time < Some(time + from)),
        None => rows.partition_point(|held| held.time.is_none()),
    };
    let end = to.map_or(rows.len(), |to| rows.partition_point(|held| held.time <= Some(time + to)));
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(secs: Option<i64>) -> Held<i64> {
        Held { time: secs.map(Timestamp::from_secs), row: secs.unwrap_or(-1), matched: false, epoch: 0 }
    }

    #[test]
    fn ranges_have_both_ends_and_no_rows_without_a_time() {
        let mut rows = Vec::new();
        for secs in [Some(3), None, Some(1), Some(2), Some(2)] {
            keep(&mut rows, held(secs));
        }
        let find = |from: Option<i64>, to: Option<i64>| {
            let secs = |n: Option<i64>| n.map(Duration::from_secs);
            let range = between(&rows, Some(Timestamp::from_secs(1)), secs(from), secs(to));
            rows[range].iter().map(|held| held.row).collect::<Vec<_>>()
        };
        assert_eq!(find(Some(0), Some(1)), [1, 2, 2]);
        assert_eq!(find(Some(1), None), [2, 2, 3]);
        assert_eq!(find(None, Some(0)), [1]);
        assert_eq!(find(None, None), [-1, 1, 2, 2, 3]);
        assert_eq!(find(Some(5), Some(4)), [] as [i64; 0]);
        assert_eq!(between(&rows, None, Some(Duration::ZERO), None), 0..0);
    }
}
