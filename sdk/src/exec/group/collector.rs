//! The end of a stage that feeds a grouping.

use super::{Fold, WindowTables, key_law::KeyLaw};
use crate::{
    Duration, Key, Phase, PipelineError, Step,
    batch::{Batch, ErasedBatch},
    exec::{BundleCx, Downstream, Kernel, KernelResult},
    metrics::DROPPED_DUE_TO_LATENESS,
};

/// Folds elements into the worker's shard: at once, or, where the bundle may be tried again, when it is done.
pub(crate) struct Collector<K: Key, F: Fold> {
    step: Step,
    group: usize,
    lateness: Duration,
    law: KeyLaw<K>,
    waiting: Vec<Batch<(K, F::Input)>>,
}

impl<K: Key, F: Fold> Collector<K, F> {
    pub(crate) fn new(step: Step, group: usize, lateness: Duration) -> Collector<K, F> {
        let law = KeyLaw::new(step.clone());
        Collector { step, group, lateness, law, waiting: Vec::new() }
    }

    fn fold(&self, batch: &mut Batch<(K, F::Input)>, cx: &BundleCx) -> KernelResult {
        cx.phase(Phase::AddInput);
        let watermark = cx.group_watermarks.get(self.group).copied().unwrap_or(crate::Timestamp::MIN);
        let mut effects = cx.effects();
        let shard = effects.shards.get_mut(self.group).and_then(Option::as_mut);
        let tables =
            shard.and_then(|s| s.as_any().downcast_mut::<WindowTables<K, F>>()).ok_or_else(|| {
                PipelineError::runner(format!("{} was given no shard to gather into", self.step))
            })?;
        let late = tables.fold(batch, watermark, self.lateness);
        batch.clear();
        if late > 0 {
            cx.metrics().counter(&self.step, DROPPED_DUE_TO_LATENESS).inc(late as i64);
        }
        Ok(())
    }
}

impl<K: Key, F: Fold> Kernel for Collector<K, F> {
    fn start(&mut self, _down: &mut Downstream<'_>) -> KernelResult {
        self.waiting.clear();
        Ok(())
    }

    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let cx = down.cx();
        let Some(batch) = input.as_any().downcast_mut::<Batch<(K, F::Input)>>() else { return Ok(()) };
        if cx.env.checks.recode {
            self.law.check(batch.values.iter().map(|(k, _)| k))?;
        }
        if cx.env.atomic {
            self.waiting.push(std::mem::take(batch));
            return Ok(());
        }
        self.fold(batch, cx)
    }

    fn seal(&mut self, cx: &BundleCx) -> KernelResult {
        for mut batch in std::mem::take(&mut self.waiting) {
            self.fold(&mut batch, cx)?;
        }
        let mut effects = cx.effects();
        if let Some(shard) = effects.shards.get_mut(self.group).and_then(Option::as_mut) {
            let reports = shard.report(self.group);
            effects.windows.extend(reports);
        }
        Ok(())
    }
}
