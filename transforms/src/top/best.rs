//! Keeping the best `n` of many, in time linear in how many there are.
//!
//! The vector holds up to twice `n` elements. Once it has `n`, the worst of the first `n` stands at `n - 1` and is what
//! others are measured by; what is better goes behind it. When the vector is full a selection, linear in its length,
//! throws out the worse half. So an element costs one comparison when it is not among the best, and a constant number on
//! average when it is. `compare` puts what is better first.

use std::cmp::Ordering;

/// Adds `x` to the best `n` if it is one of them.
#[inline]
pub(crate) fn offer<T>(kept: &mut Vec<T>, n: usize, x: T, compare: impl Fn(&T, &T) -> Ordering) {
    if kept.len() < n {
        kept.push(x);
        if kept.len() == n {
            kept.select_nth_unstable_by(n - 1, compare);
        }
    } else if n > 0 && compare(&x, &kept[n - 1]) == Ordering::Less {
        kept.push(x);
        if kept.len() >= n.saturating_mul(2) {
            kept.select_nth_unstable_by(n - 1, compare);
            kept.truncate(n);
        }
    }
}

/// The best `n` of what was kept, best first.
pub(crate) fn best_first<T>(mut kept: Vec<T>, n: usize, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    kept.sort_unstable_by(compare);
    kept.truncate(n);
    kept
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn comparisons(count: u64, n: usize) -> u64 {
        let compared = Cell::new(0);
        let compare = |a: &u64, b: &u64| {
            compared.set(compared.get() + 1);
            a.cmp(b)
        };
        let mut kept = Vec::new();
        // Ever better: each one goes in.
        for x in (0..count).rev() {
            offer(&mut kept, n, x, compare);
            assert!(kept.len() <= 2 * n);
        }
        assert_eq!(best_first(kept, n, compare), (0..n as u64).collect::<Vec<_>>());
        compared.get()
    }

    #[test]
    fn b147_the_work_is_linear_in_the_number_of_elements() {
        for n in [1, 10, 1000] {
            let (some, many) = (comparisons(10_000, n), comparisons(100_000, n));
            assert!(many < 11 * some, "{n}: {some} for 10,000, {many} for 100,000");
        }
    }

    #[test]
    fn the_work_hardly_depends_on_how_many_are_kept() {
        assert!(comparisons(100_000, 1000) < 20 * 100_000);
    }
}
