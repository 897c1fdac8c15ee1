//! From a stage's plan to its kernels.

use purlin_sdk::{
    batch::AnyBatch,
    exec::{Boundary, Kernel, KernelSpec, Relay, Slot, StageInstance},
};

use super::{Plan, SlotKind, SlotPlan, StageId};

impl Plan {
    /// The kernels of `stage`, made anew and not set up.
    pub(crate) fn instance(&self, stage: StageId) -> StageInstance {
        StageInstance::new(self.stages[stage.0].slots.iter().map(SlotPlan::slot).collect())
    }
}

impl SlotPlan {
    fn slot(&self) -> Slot {
        let spec = KernelSpec { step: self.step.clone() };
        let (kernel, input): (Box<dyn Kernel>, AnyBatch) = match &self.kind {
            SlotKind::Relay(new) => (Box::new(Relay), new()),
            SlotKind::Kernel(f) => (f.kernel(&spec), f.input()),
            SlotKind::Pair(f) => (f.pair(&spec), f.input()),
            SlotKind::Process(f) => (f.process(&spec), f.items()),
            SlotKind::GroupRoot(f) => (f.root(&spec), f.input()),
            SlotKind::GroupCollector(f, n) => (f.collector(&spec, *n), f.input()),
            SlotKind::ViewRoot(f) => (f.builder(&spec), f.input()),
            SlotKind::PaneBuilder(f) => (f.pane_builder(&spec), f.pane_input()),
            SlotKind::ViewCollector(f, n) => (f.collector(&spec, *n), f.input()),
            SlotKind::Boundary(new, edge) => (Box::new(Boundary::new(*edge)), new()),
        };
        Slot { step: self.step.clone(), kernel, input, routes: self.routes.clone() }
    }
}
