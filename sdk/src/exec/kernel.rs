//! What runs one transform inside a stage.

use std::sync::Arc;

use super::{BundleCx, BundleInput, Downstream};
use crate::{
    PipelineError, Step,
    batch::{AnyBatch, ErasedBatch},
};

/// What every call into a kernel returns: the error that fails the bundle.
pub type KernelResult = std::result::Result<(), PipelineError>;

/// One transform of a stage at work. Set up once, then any number of bundles, then torn down; used by one thread at a
/// time; never used again after an error.
pub trait Kernel: Send {
    /// Once, before the first bundle.
    fn setup(&mut self, _cx: &BundleCx) -> KernelResult {
        Ok(())
    }

    /// At the start of each bundle.
    fn start(&mut self, _down: &mut Downstream<'_>) -> KernelResult {
        Ok(())
    }

    /// Takes all of `input`, and sends what comes of it on.
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult;

    /// Takes the input of a whole bundle; only the first kernel of a stage is asked. By default the batches one by one.
    fn run_root(&mut self, input: BundleInput, down: &mut Downstream<'_>) -> KernelResult {
        for mut batch in input.into_batches() {
            self.run(&mut *batch, down)?;
            down.pump()?;
        }
        Ok(())
    }

    /// When all of the bundle's elements went through.
    fn finish(&mut self, _down: &mut Downstream<'_>) -> KernelResult {
        Ok(())
    }

    /// When every kernel of the stage has finished and nothing of the user's can fail any more, except a CombineFn.
    fn seal(&mut self, _cx: &BundleCx) -> KernelResult {
        Ok(())
    }

    /// Once, at the end, also after a failure.
    fn teardown(&mut self, _cx: &BundleCx) -> KernelResult {
        Ok(())
    }
}

/// What a kernel is told when it is made.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    /// The transform.
    pub step: Step,
}

/// Makes the kernels of one transform.
pub trait KernelFactory: Send + Sync {
    /// A new kernel, not set up.
    fn kernel(&self, spec: &KernelSpec) -> Box<dyn Kernel>;

    /// An empty batch of the transform's input type.
    fn input(&self) -> AnyBatch;

    /// Whether it must only see elements that a checkpoint holds for good.
    fn requires_stable_input(&self) -> bool {
        false
    }

    /// The same transform with the named DoFn whose configuration `payload` is; nothing when its code has no
    /// configuration that could come from there.
    ///
    /// # Errors
    /// When the payload is not the configuration of this transform's DoFn.
    fn with_payload(&self, _payload: &serde_json::Value) -> crate::Result<Option<Arc<dyn KernelFactory>>> {
        Ok(None)
    }
}
