//! Keyed DoFns: their state, and their timers, which go over the streams of data.

use std::sync::Arc;

use purlin_sdk::{
    PipelineError, Step,
    coder::CoderSpec,
    exec::{Kernel, KernelSpec, KeyedLink, PortableKeyed, TimerBytes},
};

use super::{
    coders::coder_tree,
    io::BundleIo,
    state::{BundleState, Cells},
};
use crate::proto::{fn_execution::ProcessBundleDescriptor, pipeline::ParDoPayload};

/// A keyed DoFn of a stage.
pub(super) struct KeyedPlan {
    /// The transform in the descriptor.
    pub(super) transform: String,
    pub(super) keyed: Arc<dyn PortableKeyed>,
    step: Step,
    key: CoderSpec,
    window: CoderSpec,
    /// Its families of timers, with their coders.
    families: Vec<(String, CoderSpec)>,
    /// Where its timers go, if it has any.
    url: String,
}

/// A keyed DoFn's kernel and its bundle.
pub(super) struct KeyedInstance {
    plan: Arc<KeyedPlan>,
    link: Arc<KeyedLink>,
}

impl KeyedPlan {
    /// The plan of the transform `id`, whose main input is called `input`.
    ///
    /// # Errors
    /// What the descriptor does not say.
    pub(super) fn read(
        id: &str,
        input: &str,
        step: &Step,
        keyed: Arc<dyn PortableKeyed>,
        par_do: &ParDoPayload,
        descriptor: &ProcessBundleDescriptor,
    ) -> Result<KeyedPlan, String> {
        let collection = descriptor.transforms.get(id).and_then(|t| t.inputs.get(input));
        let collection = collection.and_then(|c| descriptor.pcollections.get(c));
        let collection =
            collection.ok_or_else(|| format!("the descriptor does not say what `{id}` reads"))?;
        let value = coder_tree(&descriptor.coders, &collection.coder_id)?;
        let CoderSpec::Kv(key, _) = value else {
            return Err(format!("`{id}` is keyed, and its input travels as {value}"));
        };
        let strategy = descriptor.windowing_strategies.get(&collection.windowing_strategy_id);
        let strategy = strategy
            .ok_or_else(|| format!("the descriptor does not say how the input of `{id}` is windowed"))?;
        let window = coder_tree(&descriptor.coders, &strategy.window_coder_id)?;
        let mut families = Vec::new();
        for (name, family) in &par_do.timer_family_specs {
            families.push((name.clone(), coder_tree(&descriptor.coders, &family.timer_family_coder_id)?));
        }
        families.sort_by(|a, b| a.0.cmp(&b.0));
        let url = descriptor.timer_api_service_descriptor.as_ref().map(|d| d.url.clone()).unwrap_or_default();
        if url.is_empty() && !families.is_empty() {
            return Err(format!("`{id}` has timers, and the descriptor does not say where they go"));
        }
        Ok(KeyedPlan {
            transform: id.to_owned(),
            keyed,
            step: step.clone(),
            key: *key,
            window,
            families,
            url,
        })
    }

    /// Where its timers come from and go to; empty when it has none.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// How many families of timers come with every bundle.
    pub(super) fn families(&self) -> usize {
        self.families.len()
    }

    /// A kernel, and what joins it to its bundles.
    ///
    /// # Errors
    /// When the engine has keys or timers as the kernel does not.
    pub(super) fn instance(self: &Arc<KeyedPlan>) -> Result<(Box<dyn Kernel>, KeyedInstance), PipelineError> {
        let link = KeyedLink::new(self.key.clone(), self.window.clone(), self.families.iter().cloned());
        let kernel = self
            .keyed
            .kernel(&KernelSpec { step: self.step.clone() }, &link)
            .map_err(|e| PipelineError::runner(format!("{}: {e}", self.step)))?;
        Ok((kernel, KeyedInstance { plan: self.clone(), link }))
    }
}

impl KeyedInstance {
    /// A bundle begins.
    pub(super) fn begin(&self, state: &Arc<BundleState>) {
        self.link.begin(Arc::new(Cells::new(state.clone(), &self.plan.transform)));
    }

    /// Whether timers that the engine fires for `transform` are its own.
    pub(super) fn is_of(&self, transform: &str) -> bool {
        self.plan.transform == transform
    }

    /// The engine fires timers.
    pub(super) fn fire(&self, family: String, timers: Vec<u8>) {
        self.link.fire(TimerBytes { family, timers });
    }

    /// The bundle is over: sends the timers that it set and cleared, and that no more come of any family.
    ///
    /// # Errors
    /// When the stream is gone.
    pub(super) fn end(&self, io: &BundleIo) -> Result<(), PipelineError> {
        let KeyedPlan { transform, families, url, .. } = &*self.plan;
        for TimerBytes { family, timers } in self.link.end() {
            io.send_timers(url, transform, &family, timers, false)?;
        }
        for (family, _) in families {
            io.send_timers(url, transform, family, Vec::new(), true)?;
        }
        Ok(())
    }
}
