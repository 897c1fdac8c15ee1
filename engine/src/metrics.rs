//! What was counted in a run.

use std::sync::Arc;

use purlin_sdk::metrics::{
    BundleMetrics, ELEMENTS_IN, ELEMENTS_OUT, ElementCounts, Metrics, MetricsSnapshot,
};

use crate::{Plan, StageId, plan::SlotKind};

/// What was counted in a run so far. Elements are counted by kernel number; their names come in only when somebody
/// looks.
#[derive(Clone, Debug)]
pub struct RunMetrics {
    pub(crate) named: MetricsSnapshot,
    plan: Arc<Plan>,
    committed: Elements,
    attempted: Elements,
}

/// By stage and kernel.
type Elements = Vec<Vec<ElementCounts>>;

impl RunMetrics {
    pub(crate) fn new(plan: Arc<Plan>) -> RunMetrics {
        let none: Elements = vec![Vec::new(); plan.stages.len()];
        RunMetrics { named: MetricsSnapshot::default(), plan, committed: none.clone(), attempted: none }
    }

    /// Adds what a bundle of `stage` counted.
    pub(crate) fn add(
        &mut self,
        stage: StageId,
        metrics: &BundleMetrics,
        elements: &[ElementCounts],
        committed: bool,
    ) {
        metrics.add_to(&mut self.named.attempted);
        add(&mut self.attempted[stage.0], elements);
        if committed {
            metrics.add_to(&mut self.named.committed);
            add(&mut self.committed[stage.0], elements);
        }
    }

    /// All of it, by the names of transforms.
    pub fn snapshot(&self) -> MetricsSnapshot {
        let mut snapshot = self.named.clone();
        self.name(&self.committed, &mut snapshot.committed);
        self.name(&self.attempted, &mut snapshot.attempted);
        snapshot
    }

    fn name(&self, elements: &Elements, metrics: &mut Metrics) {
        for (stage, counts) in self.plan.stages.iter().zip(elements) {
            for (slot, counts) in stage.slots.iter().zip(counts) {
                let (takes, gives) = slot.kind.ends();
                for (n, name, counted) in
                    [(counts.inputs, ELEMENTS_IN, takes), (counts.outputs, ELEMENTS_OUT, gives)]
                {
                    if counted && n > 0 {
                        metrics.count(slot.step.path(), name, i64::try_from(n).unwrap_or(i64::MAX));
                    }
                }
            }
        }
    }
}

fn add(totals: &mut Vec<ElementCounts>, elements: &[ElementCounts]) {
    if totals.len() < elements.len() {
        totals.resize(elements.len(), ElementCounts::default());
    }
    totals.iter_mut().zip(elements).for_each(|(total, more)| total.add(*more));
}

impl SlotKind {
    /// Whether what the kernel takes is its transform's input, and what it gives the transform's output: a transform may
    /// have a kernel at the end of one stage and one at the start of the next, with something else between them.
    fn ends(&self) -> (bool, bool) {
        match self {
            SlotKind::Relay(_) | SlotKind::Kernel(_) => (true, true),
            SlotKind::Pair(_) | SlotKind::GroupCollector(..) | SlotKind::ViewCollector(..) => (true, false),
            SlotKind::Process(_) | SlotKind::GroupRoot(_) => (false, true),
            SlotKind::ViewRoot(_) | SlotKind::PaneBuilder(_) | SlotKind::Boundary(..) => (false, false),
        }
    }
}
