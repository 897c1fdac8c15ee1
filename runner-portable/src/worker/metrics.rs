//! What was counted, as the engine wants it: in full, and by short names that it may ask about.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

use purlin_sdk::{
    coder::{Context, default_coder},
    exec::BundleDone,
    metrics::{ELEMENTS_IN, ELEMENTS_OUT, MetricValue, Metrics},
};

use super::{
    bundles::Running,
    plan::{Plan, SlotWork},
};
use crate::{
    proto::pipeline::MonitoringInfo,
    trie,
    urns::{metric, metric_type},
};

/// What a metric is, without its value.
type Name = (&'static str, &'static str, BTreeMap<&'static str, String>);

/// The short names that were given out.
#[derive(Default)]
pub(super) struct ShortIds(Mutex<Known>);

#[derive(Default)]
struct Known {
    ids: HashMap<Name, String>,
    infos: HashMap<String, MonitoringInfo>,
}

impl ShortIds {
    fn of(&self, name: &Name) -> String {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = known.ids.get(name) {
            return id.clone();
        }
        let id = format!("{:x}", known.ids.len());
        known.ids.insert(name.clone(), id.clone());
        known.infos.insert(id.clone(), info(name, Vec::new()));
        id
    }

    /// What the short name `id` stands for.
    pub(super) fn info(&self, id: &str) -> Option<MonitoringInfo> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).infos.get(id).cloned()
    }
}

fn info((urn, kind, labels): &Name, payload: Vec<u8>) -> MonitoringInfo {
    MonitoringInfo {
        urn: (*urn).to_owned(),
        r#type: (*kind).to_owned(),
        payload,
        labels: labels.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
        start_time: None,
    }
}

/// Metrics of a bundle, while they are gathered.
#[derive(Default)]
pub(super) struct Report(Vec<(Name, Vec<u8>)>);

fn varints(values: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    if let Ok(coder) = default_coder::<i64>() {
        // A number always encodes.
        values.iter().for_each(|v| drop(coder.encode(v, Context::Nested, &mut out)));
    }
    out
}

impl Report {
    fn add(
        &mut self,
        urn: &'static str,
        kind: &'static str,
        labels: &[(&'static str, &str)],
        payload: Vec<u8>,
    ) {
        let labels = labels.iter().map(|(k, v)| (*k, (*v).to_owned())).collect();
        self.0.push(((urn, kind, labels), payload));
    }

    /// A number of elements, none of which is told.
    fn elements(&mut self, collection: &str, n: u64) {
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        self.add(metric::ELEMENT_COUNT, metric_type::SUM, &[("PCOLLECTION", collection)], varints(&[n]));
    }

    /// How far a bundle that runs is.
    pub(super) fn running(running: &Running) -> Report {
        let mut report = Report::default();
        let plan = &running.stage.plan;
        for (port, reading) in plan.sources.iter().zip(running.io.reading().iter()) {
            // The index of the element that is worked on.
            let index = (reading.done + reading.in_hand - 1).max(0);
            report.add(
                metric::READ_INDEX,
                metric_type::SUM,
                &[("PTRANSFORM", &port.transform)],
                varints(&[index]),
            );
        }
        if let (Some(process), Some(point)) = (&plan.process, running.control.split_point()) {
            let progress = point.progress();
            for (urn, work) in [
                (metric::PROGRESS_COMPLETED, progress.completed),
                (metric::PROGRESS_REMAINING, progress.remaining),
            ] {
                let mut payload = 1_i32.to_be_bytes().to_vec();
                payload.extend(work.to_be_bytes());
                report.add(urn, metric_type::PROGRESS, &[("PTRANSFORM", &process.transform)], payload);
            }
        }
        report
    }

    /// What a bundle did that is over.
    pub(super) fn over(plan: &Plan, done: &BundleDone, running: &Running) -> Report {
        let mut report = Report::default();
        for (port, reading) in plan.sources.iter().zip(running.io.reading().iter()) {
            let index = (reading.done - 1).max(0);
            report.add(
                metric::READ_INDEX,
                metric_type::SUM,
                &[("PTRANSFORM", &port.transform)],
                varints(&[index]),
            );
        }
        for counted in &plan.counted {
            let counts = done.elements.get(counted.slot).copied().unwrap_or_default();
            report.elements(&counted.collection, if counted.inputs { counts.inputs } else { counts.outputs });
        }
        let mut totals = Metrics::default();
        done.metrics.add_to(&mut totals);
        for (slot, counts) in plan.slots.iter().zip(done.elements.iter().skip(1)) {
            let SlotWork::Ours(work) = &slot.work else { continue };
            let (takes, gives) = work.is_an_end();
            for (name, n, counted) in
                [(ELEMENTS_IN, counts.inputs, takes), (ELEMENTS_OUT, counts.outputs, gives)]
            {
                if counted && n > 0 {
                    totals.count(slot.step.path(), name, i64::try_from(n).unwrap_or(i64::MAX));
                }
            }
        }
        let ours = plan.slots.iter().filter(|slot| matches!(slot.work, SlotWork::Ours(_)));
        let transforms: HashMap<&str, &str> =
            ours.map(|slot| (slot.step.path(), slot.transform.as_str())).collect();
        for (path, name, value) in totals.iter() {
            let transform = transforms.get(path).copied().unwrap_or(path);
            report.user(transform, path, name, value);
        }
        report
    }

    /// A metric of the user's: the engine knows the transform by its own name, and by its path who reads the result.
    fn user(&mut self, transform: &str, path: &str, name: &str, value: &MetricValue) {
        let labels = [("PTRANSFORM", transform), ("NAMESPACE", path), ("NAME", name)];
        match value {
            MetricValue::Counter(n) => self.add(metric::USER_SUM, metric_type::SUM, &labels, varints(&[*n])),
            MetricValue::Distribution(d) => {
                let count = i64::try_from(d.count).unwrap_or(i64::MAX);
                let payload = varints(&[count, d.sum, d.min, d.max]);
                self.add(metric::USER_DISTRIBUTION, metric_type::DISTRIBUTION, &labels, payload);
            }
            MetricValue::Gauge(g) => {
                let payload = varints(&[g.at.as_millis(), g.value]);
                self.add(metric::USER_LATEST, metric_type::LATEST, &labels, payload);
            }
            MetricValue::StringSet(set) => {
                let strings: Vec<String> = set.iter().map(str::to_owned).collect();
                let mut payload = Vec::new();
                let encoded = default_coder::<Vec<String>>()
                    .and_then(|coder| coder.encode(&strings, Context::Nested, &mut payload));
                if encoded.is_ok() {
                    self.add(metric::USER_STRINGS, metric_type::STRINGS, &labels, payload);
                }
            }
            MetricValue::BoundedTrie(trie) => {
                self.add(metric::USER_TRIE, metric_type::TRIE, &labels, trie::encode(trie));
            }
            other => tracing::debug!("the engine is not told of the metric {name} of `{path}`: {other:?}"),
        }
    }

    /// In full, and by short names.
    pub(super) fn encode(self, ids: &ShortIds) -> (Vec<MonitoringInfo>, HashMap<String, Vec<u8>>) {
        let data = self.0.iter().map(|(name, payload)| (ids.of(name), payload.clone())).collect();
        (self.0.into_iter().map(|(name, payload)| info(&name, payload)).collect(), data)
    }
}
