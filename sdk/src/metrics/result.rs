//! What a run's metrics add up to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{BoundedTrieValue, StringSetValue};
use crate::Timestamp;

/// Sum, count, least and greatest of what was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DistributionValue {
    /// The sum, saturating.
    pub sum: i64,
    /// How many values there were.
    pub count: u64,
    /// The least; `i64::MAX` when there was none.
    pub min: i64,
    /// The greatest; `i64::MIN` when there was none.
    pub max: i64,
}

impl Default for DistributionValue {
    fn default() -> DistributionValue {
        DistributionValue { sum: 0, count: 0, min: i64::MAX, max: i64::MIN }
    }
}

impl DistributionValue {
    pub(super) fn record(&mut self, value: i64) {
        self.merge(DistributionValue { sum: value, count: 1, min: value, max: value });
    }

    fn merge(&mut self, o: DistributionValue) {
        self.sum = self.sum.saturating_add(o.sum);
        self.count += o.count;
        self.min = self.min.min(o.min);
        self.max = self.max.max(o.max);
    }
}

/// A value with the processing time at which it was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GaugeValue {
    /// The value.
    pub value: i64,
    /// When it was set.
    pub at: Timestamp,
}

/// The value of one metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum MetricValue {
    /// A counter.
    Counter(i64),
    /// A distribution.
    Distribution(DistributionValue),
    /// A gauge.
    Gauge(GaugeValue),
    /// A set of strings.
    StringSet(StringSetValue),
    /// Paths.
    BoundedTrie(BoundedTrieValue),
}

/// Metrics by transform and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    values: BTreeMap<(String, String), Vec<MetricValue>>,
}

impl Metrics {
    /// Adds a value to what is there of its kind: counters, distributions, sets and paths add up, of gauges the later one
    /// counts.
    pub fn add(&mut self, step: &str, name: &str, value: &MetricValue) {
        let values = self.values.entry((step.to_owned(), name.to_owned())).or_default();
        let kind = std::mem::discriminant(value);
        match (values.iter_mut().find(|v| std::mem::discriminant(*v) == kind), value) {
            (Some(MetricValue::Counter(a)), MetricValue::Counter(b)) => *a = a.saturating_add(*b),
            (Some(MetricValue::Distribution(a)), MetricValue::Distribution(b)) => a.merge(*b),
            (Some(MetricValue::Gauge(a)), MetricValue::Gauge(b)) if b.at >= a.at => *a = *b,
            (Some(MetricValue::StringSet(a)), MetricValue::StringSet(b)) => a.merge(b),
            (Some(MetricValue::BoundedTrie(a)), MetricValue::BoundedTrie(b)) => a.merge(b),
            (Some(_), _) => {}
            (None, value) => values.push(value.clone()),
        }
    }

    /// Adds `n` to a counter, for what the runner itself counts.
    pub fn count(&mut self, step: &str, name: &str, n: i64) {
        self.add(step, name, &MetricValue::Counter(n));
    }

    /// The counter `name` of the transform at path `step`; zero when it was never touched.
    pub fn counter(&self, step: &str, name: &str) -> i64 {
        self.of(step, name)
            .find_map(|v| if let MetricValue::Counter(c) = v { Some(*c) } else { None })
            .unwrap_or(0)
    }

    /// The counters `name` of all transforms together.
    pub fn counter_total(&self, name: &str) -> i64 {
        let named = self.values.iter().filter(|((_, n), _)| n == name).flat_map(|(_, v)| v);
        named.fold(0, |sum, v| if let MetricValue::Counter(c) = v { sum.saturating_add(*c) } else { sum })
    }

    /// The distribution `name` of the transform at path `step`.
    pub fn distribution(&self, step: &str, name: &str) -> Option<DistributionValue> {
        self.of(step, name).find_map(|v| if let MetricValue::Distribution(d) = v { Some(*d) } else { None })
    }

    /// The gauge `name` of the transform at path `step`.
    pub fn gauge(&self, step: &str, name: &str) -> Option<GaugeValue> {
        self.of(step, name).find_map(|v| if let MetricValue::Gauge(g) = v { Some(*g) } else { None })
    }

    /// The string set `name` of the transform at path `step`.
    pub fn string_set(&self, step: &str, name: &str) -> Option<&StringSetValue> {
        self.of(step, name).find_map(|v| if let MetricValue::StringSet(set) = v { Some(set) } else { None })
    }

    /// The bounded trie `name` of the transform at path `step`.
    pub fn bounded_trie(&self, step: &str, name: &str) -> Option<&BoundedTrieValue> {
        self.of(step, name)
            .find_map(|v| if let MetricValue::BoundedTrie(trie) = v { Some(trie) } else { None })
    }

    /// Elements that went into the transform at path `step`, see [`ELEMENTS_IN`](super::ELEMENTS_IN).
    pub fn elements_in(&self, step: &str) -> i64 {
        self.counter(step, super::ELEMENTS_IN)
    }

    /// Elements that came out of the transform at path `step`, see [`ELEMENTS_OUT`](super::ELEMENTS_OUT).
    pub fn elements_out(&self, step: &str) -> i64 {
        self.counter(step, super::ELEMENTS_OUT)
    }

    /// Every metric: the transform's path, the name, the value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &MetricValue)> {
        self.values.iter().flat_map(|((s, n), vs)| vs.iter().map(move |v| (s.as_str(), n.as_str(), v)))
    }

    fn of(&self, step: &str, name: &str) -> std::slice::Iter<'_, MetricValue> {
        self.values.get(&(step.to_owned(), name.to_owned())).map_or(&[][..], Vec::as_slice).iter()
    }
}

/// The metrics of a run at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricsSnapshot {
    /// Of bundles that were committed.
    pub committed: Metrics,
    /// Of all bundles, also those that failed.
    pub attempted: Metrics,
}
