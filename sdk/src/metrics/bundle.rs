//! The metrics of one bundle, while it runs.

use std::{cell::RefCell, fmt};

use super::{BoundedTrieValue, DistributionValue, GaugeValue, MetricValue, Metrics, StringSetValue};
use crate::{Step, Timestamp};

/// The metrics of one bundle.
#[derive(Default)]
pub struct BundleMetrics {
    cells: RefCell<Vec<Cell>>,
}

struct Cell {
    step: Step,
    name: &'static str,
    value: MetricValue,
}

impl BundleMetrics {
    /// The counter `name` of `step`.
    pub fn counter(&self, step: &Step, name: &'static str) -> Counter<'_> {
        Counter { metrics: self, index: self.index(step, name, || MetricValue::Counter(0)) }
    }

    /// The distribution `name` of `step`.
    pub fn distribution(&self, step: &Step, name: &'static str) -> Distribution<'_> {
        let index = self.index(step, name, || MetricValue::Distribution(DistributionValue::default()));
        Distribution { metrics: self, index }
    }

    /// The gauge `name` of `step`, set at `now`.
    pub fn gauge(&self, step: &Step, name: &'static str, now: Timestamp) -> Gauge<'_> {
        let index =
            self.index(step, name, || MetricValue::Gauge(GaugeValue { value: 0, at: Timestamp::MIN }));
        Gauge { metrics: self, index, now }
    }

    /// The string set `name` of `step`.
    pub fn string_set(&self, step: &Step, name: &'static str) -> StringSet<'_> {
        let index = self.index(step, name, || MetricValue::StringSet(StringSetValue::default()));
        StringSet { metrics: self, index }
    }

    /// The bounded trie `name` of `step`.
    pub fn bounded_trie(&self, step: &Step, name: &'static str) -> BoundedTrie<'_> {
        let index = self.index(step, name, || MetricValue::BoundedTrie(BoundedTrieValue::default()));
        BoundedTrie { metrics: self, index }
    }

    /// Adds all of it to `totals`.
    pub fn add_to(&self, totals: &mut Metrics) {
        for cell in self.cells.borrow().iter() {
            totals.add(cell.step.path(), cell.name, &cell.value);
        }
    }

    fn index(&self, step: &Step, name: &'static str, make: impl Fn() -> MetricValue) -> usize {
        let mut cells = self.cells.borrow_mut();
        let same = |c: &Cell| std::ptr::eq(c.step.path(), step.path()) && c.name == name;
        match cells.iter().position(same) {
            // A name used for another kind of metric gets a cell of its own, and the result keeps both apart.
            Some(i) if std::mem::discriminant(&cells[i].value) == std::mem::discriminant(&make()) => i,
            _ => {
                cells.push(Cell { step: step.clone(), name, value: make() });
                cells.len() - 1
            }
        }
    }

    fn update(&self, index: usize, f: impl FnOnce(&mut MetricValue)) {
        if let Some(cell) = self.cells.borrow_mut().get_mut(index) {
            f(&mut cell.value);
        }
    }
}

impl fmt::Debug for BundleMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} metrics", self.cells.borrow().len())
    }
}

/// A number that is added to.
#[derive(Clone, Copy, Debug)]
pub struct Counter<'a> {
    metrics: &'a BundleMetrics,
    index: usize,
}

impl Counter<'_> {
    /// Adds `n`, which may be negative.
    pub fn inc(&self, n: i64) {
        self.metrics.update(self.index, |v| {
            if let MetricValue::Counter(c) = v {
                *c = c.saturating_add(n);
            }
        });
    }
}

/// Sum, count, least and greatest of what is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Distribution<'a> {
    metrics: &'a BundleMetrics,
    index: usize,
}

impl Distribution<'_> {
    /// Records `value`.
    pub fn record(&self, value: i64) {
        self.metrics.update(self.index, |v| {
            if let MetricValue::Distribution(d) = v {
                d.record(value);
            }
        });
    }
}

/// The latest of the values that are set.
#[derive(Clone, Copy, Debug)]
pub struct Gauge<'a> {
    metrics: &'a BundleMetrics,
    index: usize,
    now: Timestamp,
}

impl Gauge<'_> {
    /// Sets the value.
    pub fn set(&self, value: i64) {
        self.metrics.update(self.index, |v| *v = MetricValue::Gauge(GaugeValue { value, at: self.now }));
    }
}

/// Strings, each once.
#[derive(Clone, Copy, Debug)]
pub struct StringSet<'a> {
    metrics: &'a BundleMetrics,
    index: usize,
}

impl StringSet<'_> {
    /// Adds `text`, unless there is no room for it, see [`StringSetValue`].
    pub fn add(&self, text: &str) {
        self.metrics.update(self.index, |v| {
            if let MetricValue::StringSet(set) = v {
                set.add(text);
            }
        });
    }
}

/// Paths, cut short where there are too many.
#[derive(Clone, Copy, Debug)]
pub struct BoundedTrie<'a> {
    metrics: &'a BundleMetrics,
    index: usize,
}

impl BoundedTrie<'_> {
    /// Adds a path, by its segments, see [`BoundedTrieValue`].
    pub fn add<S: AsRef<str>>(&self, path: impl IntoIterator<Item = S>) {
        // Walked first: its iterator is not ours and may come back here.
        let path: Vec<S> = path.into_iter().collect();
        self.metrics.update(self.index, |v| {
            if let MetricValue::BoundedTrie(trie) = v {
                trie.add(path);
            }
        });
    }
}
