//! Many elements in the memory of few.
//!
//! Elements are kept in levels. One in level `l` stands for `2^l` of those that came, itself among them. New ones go into
//! level 0. A level that has twice its size is sorted and every second element of it goes up one level, in turn the ones
//! at even and the ones at odd places; the others are dropped. Such a step moves the place of any element in the order of
//! all by `2^l` at most, and there is one for `2 * size * 2^l` elements, so that a level adds an error of no more than
//! `1 / (2 * size)` of all elements. Summaries are merged level by level.
//!
//! Source: Agarwal, Cormode, Huang, Phillips, Wei, Yi, *Mergeable summaries* (PODS 2012), section 3.1, and the buffers of
//! Manku, Rajagopalan, Lindsay (SIGMOD 1998), which Beam uses.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// Levels for which the error is promised: each doubles how many elements there can be.
const LEVELS: f64 = 32.0;

/// No fewer elements than these make a level: they are cheap, and few elements are exact.
const SMALLEST: usize = 256;

/// The size of a level, for an error of no more than `epsilon`.
pub(super) fn size_for(epsilon: f64) -> usize {
    // One that makes no sense is refused elsewhere; here it must do no harm.
    let size = (LEVELS / (2.0 * epsilon.clamp(1e-6, 1.0))).ceil();
    (size as usize).max(SMALLEST)
}

/// What an [`ApproximateQuantilesFn`](crate::ApproximateQuantilesFn) keeps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary<T> {
    least: Option<T>,
    greatest: Option<T>,
    levels: Vec<Level<T>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Level<T> {
    elements: Vec<T>,
    /// Whether those at odd places stay next time.
    odd: bool,
}

impl<T> Default for Summary<T> {
    fn default() -> Summary<T> {
        Summary { least: None, greatest: None, levels: Vec::new() }
    }
}

impl<T: Clone> Summary<T> {
    #[inline]
    pub(super) fn add(&mut self, x: T, size: usize, compare: impl Fn(&T, &T) -> Ordering) {
        if self.least.as_ref().is_none_or(|least| compare(&x, least) == Ordering::Less) {
            self.least = Some(x.clone());
        }
        if self.greatest.as_ref().is_none_or(|greatest| compare(&x, greatest) == Ordering::Greater) {
            self.greatest = Some(x.clone());
        }
        self.level(0).elements.push(x);
        if self.levels[0].elements.len() >= 2 * size {
            self.compact(size, compare);
        }
    }

    pub(super) fn merge(&mut self, other: Summary<T>, size: usize, compare: impl Fn(&T, &T) -> Ordering) {
        let better = |ours: Option<T>, theirs: Option<T>, wanted: Ordering| match (ours, theirs) {
            (Some(a), Some(b)) => Some(if compare(&b, &a) == wanted { b } else { a }),
            (a, b) => a.or(b),
        };
        self.least = better(self.least.take(), other.least, Ordering::Less);
        self.greatest = better(self.greatest.take(), other.greatest, Ordering::Greater);
        for (l, level) in other.levels.into_iter().enumerate() {
            self.level(l).elements.extend(level.elements);
        }
        self.compact(size, compare);
    }

    fn level(&mut self, l: usize) -> &mut Level<T> {
        while self.levels.len() <= l {
            self.levels.push(Level { elements: Vec::new(), odd: false });
        }
        &mut self.levels[l]
    }

    /// Makes room in every level that has none.
    #[cold]
    fn compact(&mut self, size: usize, compare: impl Fn(&T, &T) -> Ordering) {
        let mut l = 0;
        while l < self.levels.len() {
            let Level { elements, odd } = &mut self.levels[l];
            if elements.len() >= 2 * size {
                elements.sort_by(&compare);
                // One that has no partner waits for one.
                let single = if elements.len() % 2 == 1 { elements.pop() } else { None };
                let offset = usize::from(std::mem::replace(odd, !*odd));
                let up: Vec<T> = elements.drain(..).skip(offset).step_by(2).collect();
                elements.extend(single);
                self.level(l + 1).elements.extend(up);
            }
            l += 1;
        }
    }

    pub(super) fn quantiles(self, n: usize, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
        let (Some(least), Some(greatest)) = (self.least, self.greatest) else { return Vec::new() };
        let mut weighted: Vec<(T, u128)> = Vec::new();
        for (l, level) in self.levels.into_iter().enumerate() {
            weighted.extend(level.elements.into_iter().map(|x| (x, 1_u128 << l.min(100))));
        }
        weighted.sort_by(|(a, _), (b, _)| compare(a, b));
        let total: u128 = weighted.iter().map(|(_, weight)| weight).sum();
        let parts = n.saturating_sub(1).max(1) as u128;
        let mut quantiles = vec![least];
        let mut passed = 0;
        let mut rest = weighted.into_iter().peekable();
        for i in 1..parts {
            let place = (i * total).saturating_sub(1) / parts;
            while rest.peek().is_some_and(|(_, weight)| passed + weight <= place) {
                passed += rest.next().map_or(0, |(_, weight)| weight);
            }
            let here = rest.peek().map_or(&greatest, |(x, _)| x);
            quantiles.push(here.clone());
        }
        quantiles.push(greatest);
        quantiles
    }

    /// How many elements it holds.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.levels.iter().map(|level| level.elements.len()).sum()
    }
}
