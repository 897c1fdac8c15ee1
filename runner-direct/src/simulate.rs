//! Breaking a run off and going on from a snapshot of it.

use fastrand::Rng;
use purlin_engine::{Engine, EngineConfig, Snapshot, Teardown};
use purlin_sdk::{PipelineError, exec::RunEnv, graph::Graph};

/// How often a run is broken off at most: it is about where, and each time costs as much as the state is large.
const MOST_TIMES: u32 = 24;

/// What is needed to begin a run anew in its midst.
pub(crate) struct Simulation {
    rng: Rng,
    /// How many times are left.
    left: u32,
    graph: Graph,
    env: RunEnv,
    config: EngineConfig,
    /// Kernels of before, which nobody would tear down had the process been killed. It was not, so it is done at the end.
    before: Vec<Teardown>,
}

impl Simulation {
    pub(crate) fn new(seed: u64, graph: Graph, env: RunEnv, config: EngineConfig) -> Simulation {
        Simulation {
            rng: Rng::with_seed(seed ^ 0x5eed),
            left: MOST_TIMES,
            graph,
            env,
            config,
            before: Vec::new(),
        }
    }

    pub(crate) fn is_possible(&self, engine: &Engine) -> bool {
        engine.check_savable().is_ok()
    }

    /// Goes on from a snapshot of `engine`, or with `engine` itself; that is drawn.
    pub(crate) fn perhaps_restore(&mut self, engine: &mut Engine) -> Result<(), PipelineError> {
        if self.left == 0 || self.rng.u8(..4) > 0 || !engine.can_snapshot() {
            return Ok(());
        }
        self.left -= 1;
        let bytes = engine.snapshot()?.to_bytes();
        // Other draws than those that led here.
        self.config.seed = Some(self.rng.u64(..));
        let snapshot = Snapshot::from_bytes(&bytes)?;
        let restored = Engine::restore(&self.graph, self.env.clone(), self.config.clone(), &snapshot)?;
        let mut before = std::mem::replace(engine, restored);
        self.before.append(&mut before.shut_down());
        Ok(())
    }

    pub(crate) fn shut_down(&mut self) -> Vec<Teardown> {
        std::mem::take(&mut self.before)
    }
}
