//! What was counted, from an engine.
//!
//! A worker of ours names a metric by the transform's path, in the label that Beam has for a namespace, since engines
//! rename transforms. What comes back is not merged: the same metric comes once for each stage that it was counted in.

use purlin_sdk::{
    Timestamp,
    coder::{Coder, CoderError, Context, default_coder},
    metrics::{DistributionValue, GaugeValue, MetricValue, Metrics, MetricsSnapshot, StringSetValue},
};

use crate::{
    proto::{job_management::MetricResults, pipeline::MonitoringInfo},
    trie,
    urns::metric,
};

/// The metrics of a run, summed up.
pub(crate) fn snapshot(results: &MetricResults) -> MetricsSnapshot {
    let (committed, mut attempted) = (summed(&results.committed), summed(&results.attempted));
    // What was committed was attempted; an engine may count as attempted only what a bundle tells while it runs.
    for (path, name, value) in committed.iter() {
        let same = |(p, n, v): (&str, &str, &MetricValue)| {
            p == path && n == name && std::mem::discriminant(v) == std::mem::discriminant(value)
        };
        if !attempted.iter().any(same) {
            attempted.add(path, name, value);
        }
    }
    MetricsSnapshot { committed, attempted }
}

fn summed(infos: &[MonitoringInfo]) -> Metrics {
    let mut metrics = Metrics::default();
    for info in infos {
        let label = |name: &str| info.labels.get(name).map(String::as_str);
        let (Some(path), Some(name)) = (label("NAMESPACE"), label("NAME")) else { continue };
        match value(&info.urn, &info.payload) {
            Ok(Some(value)) => metrics.add(path, name, &value),
            Ok(None) => {}
            Err(e) => {
                tracing::warn!("the engine's value of the metric {name} of `{path}` cannot be read: {e}");
            }
        }
    }
    metrics
}

/// The value of a metric of the user's; nothing when it is another one.
fn value(urn: &str, payload: &[u8]) -> Result<Option<MetricValue>, CoderError> {
    let mut input = payload;
    let numbers = default_coder::<i64>()?;
    let mut number = || numbers.decode(&mut input, Context::Nested);
    Ok(Some(match urn {
        metric::USER_SUM => MetricValue::Counter(number()?),
        metric::USER_DISTRIBUTION => {
            let (count, sum, min, max) = (number()?, number()?, number()?, number()?);
            let count = u64::try_from(count).unwrap_or(0);
            MetricValue::Distribution(DistributionValue { sum, count, min, max })
        }
        metric::USER_LATEST => {
            let (at, value) = (Timestamp::saturating_from_millis(number()?), number()?);
            MetricValue::Gauge(GaugeValue { value, at })
        }
        metric::USER_STRINGS => {
            let strings = default_coder::<Vec<String>>()?.decode(&mut &*payload, Context::Nested)?;
            MetricValue::StringSet(StringSetValue::of(strings))
        }
        metric::USER_TRIE => MetricValue::BoundedTrie(trie::decode(payload)?),
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(urn: &str, name: &str, payload: &[u8]) -> MonitoringInfo {
        let labels = [("PTRANSFORM", "e7_processandsplit"), ("NAMESPACE", "Parse"), ("NAME", name)];
        MonitoringInfo {
            urn: urn.to_owned(),
            payload: payload.to_vec(),
            labels: labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            ..MonitoringInfo::default()
        }
    }

    #[test]
    fn what_comes_once_for_each_stage_is_summed() {
        let minus_one = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let results = MetricResults {
            attempted: vec![
                info(metric::USER_SUM, "lines", &[3]),
                info(metric::USER_SUM, "lines", &[0x80, 0x01]),
                info(metric::USER_SUM, "balance", &minus_one),
                info(metric::USER_DISTRIBUTION, "sizes", &[2, 9, 4, 5]),
                info(metric::USER_DISTRIBUTION, "sizes", &[1, 1, 1, 1]),
                info(metric::USER_LATEST, "level", &[10, 7]),
                info(metric::USER_LATEST, "level", &[9, 8]),
                info(metric::USER_STRINGS, "files", b"\x00\x00\x00\x02\x01a\x01b"),
                info(metric::ELEMENT_COUNT, "lines", &[9]),
                info(metric::USER_SUM, "broken", &[0x80]),
            ],
            committed: vec![info(metric::USER_SUM, "lines", &[3]), info(metric::USER_SUM, "done", &[4])],
        };
        let snapshot = snapshot(&results);
        let attempted = &snapshot.attempted;
        assert_eq!((attempted.counter("Parse", "lines"), attempted.counter("Parse", "balance")), (131, -1));
        let sizes = attempted.distribution("Parse", "sizes").unwrap();
        assert_eq!((sizes.count, sizes.sum, sizes.min, sizes.max), (3, 10, 1, 5));
        assert_eq!(attempted.gauge("Parse", "level").unwrap().value, 7);
        assert_eq!(attempted.string_set("Parse", "files").unwrap().iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(snapshot.committed.counter("Parse", "lines"), 3);
        assert_eq!(attempted.counter("Parse", "done"), 4, "what is committed was attempted");
        assert_eq!(attempted.iter().count(), 6);
    }
}
