//! What a runner decides once for a run.

use std::time::Duration;

/// What a runner decides once for a run.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineConfig {
    /// How many bundles may run at once.
    pub parallelism: usize,
    /// With a seed: bundle boundaries, order, splits and checkpoints are drawn at random, and are the same for the same
    /// seed.
    pub seed: Option<u64>,
    /// How often a bundle is tried again whose error is retryable.
    pub retries: u32,
    /// How long to wait before the first retry; each further one waits twice as long.
    pub retry_delay: Duration,
    /// How long a splittable DoFn may go on before it must come back.
    pub bundle_time: Option<Duration>,
    /// How many elements a bundle takes at most, and how many a splittable DoFn may send to other stages.
    pub bundle_elements: usize,
    /// Whether checkpoints are written: finalizers, and DoFns that require stable input, then wait for them.
    pub checkpoints: bool,
    /// How many bytes may wait between stages before sources pause.
    pub memory_budget: usize,
}

impl Default for EngineConfig {
    fn default() -> EngineConfig {
        EngineConfig {
            parallelism: 1,
            seed: None,
            retries: 0,
            retry_delay: Duration::from_millis(100),
            bundle_time: Some(Duration::from_millis(10)),
            bundle_elements: 16 * 1024,
            checkpoints: false,
            memory_budget: 64 << 20,
        }
    }
}
