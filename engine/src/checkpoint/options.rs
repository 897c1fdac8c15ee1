//! What runners need around checkpoints: where, how often, and where to begin.

use std::path::PathBuf;

use purlin_sdk::{
    Duration, PipelineError, Timestamp,
    exec::RunEnv,
    graph::{Graph, Op},
};

use super::{CheckpointDir, Found, Snapshot};
use crate::{Engine, EngineConfig};

/// Whether a run writes checkpoints, and whether it goes on from one.
#[derive(Clone, Debug)]
pub struct CheckpointOptions {
    /// Where they are; nothing for a run without.
    pub dir: Option<PathBuf>,
    /// How long, in processing time, between two of them.
    pub every: Duration,
    /// Whether to go on from the newest one, if there is any.
    pub restore: bool,
}

impl Default for CheckpointOptions {
    fn default() -> CheckpointOptions {
        CheckpointOptions { dir: None, every: Duration::from_secs(10), restore: false }
    }
}

/// The checkpoints of a run.
#[derive(Debug)]
pub struct Checkpoints {
    dir: CheckpointDir,
    every: Duration,
    due: Timestamp,
    newest: Option<u64>,
}

impl CheckpointOptions {
    /// The engine of a run: one that begins, or goes on from the newest checkpoint.
    ///
    /// # Errors
    /// When the pipeline cannot be run, or not with checkpoints, or not go on from the one that is there; when the
    /// directory cannot be used, or has checkpoints and the run is not to go on from them.
    pub fn start(
        &self,
        graph: &Graph,
        env: RunEnv,
        mut config: EngineConfig,
    ) -> Result<(Engine, Option<Checkpoints>), PipelineError> {
        let Some(path) = &self.dir else {
            if self.restore {
                return Err(PipelineError::runner(
                    "the run is to go on from a checkpoint, and it is not said where that is: give the checkpoint \
                     directory, on the command line by --checkpoint-dir=DIR",
                ));
            }
            let engine = Engine::new(graph, env.clone(), config.clone())?;
            let live = engine.live.as_ref().and_then(|live| live.script().take_snapshot());
            let Some(bytes) = live else { return Ok((engine, None)) };
            let snapshot = Snapshot::from_bytes(&bytes)?;
            return Ok((Engine::restore(graph, env, config, &snapshot)?, None));
        };
        if graph.nodes.iter().any(|node| matches!(node.op, Op::Live(_))) {
            return Err(PipelineError::runner(
                "a streaming query has a checkpoint location of its own, in which epochs are: say \
                 `checkpoint_location` where it is built, and leave the runner's checkpoint directory out",
            ));
        }
        if self.every <= Duration::ZERO {
            return Err(PipelineError::runner(format!(
                "checkpoints are to be made every {}: give a length of time above zero",
                self.every
            )));
        }
        config.checkpoints = true;
        let mut dir = CheckpointDir::open(path)?;
        if !self.restore && !dir.is_empty() {
            return Err(PipelineError::runner(format!(
                "the checkpoint directory `{}` has checkpoints of another run: go on from there, on the command line by \
                 --restore, or give this run a directory of its own, or remove it",
                path.display()
            )));
        }
        let found = if self.restore { dir.newest()? } else { None };
        let newest = found.as_ref().map(|found| found.number);
        newest.into_iter().for_each(|number| dir.pass_over_after(number));
        let engine = match found {
            Some(Found { number, made_at, snapshot, damaged }) => {
                for what in damaged {
                    tracing::warn!("a damaged checkpoint is passed over: {what}");
                }
                tracing::info!("going on from checkpoint {number} of {made_at} in `{}`", path.display());
                let of = |e: PipelineError| {
                    e.with_note(format!("the checkpoint is number {number} in `{}`", path.display()))
                };
                Engine::restore(graph, env, config, &snapshot).map_err(of)?
            }
            None => {
                if self.restore {
                    tracing::info!("there is no checkpoint in `{}` yet: beginning anew", path.display());
                }
                Engine::new(graph, env, config)?
            }
        };
        Ok((engine, Some(Checkpoints { dir, every: self.every, due: Timestamp::MIN, newest })))
    }
}

impl Checkpoints {
    /// The processing time at which the next one is due.
    pub fn due(&self) -> Timestamp {
        self.due
    }

    /// Says that one is made now: the next one is due when the time between two has passed.
    pub fn note(&mut self, now: Timestamp) {
        self.due = now + self.every;
    }

    /// Writes one; when this returns it is on disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, snapshot: &Snapshot) -> Result<(), PipelineError> {
        self.newest = Some(self.dir.write(snapshot)?);
        Ok(())
    }

    /// What to tell with an error that ended the run.
    pub fn way_on(&self) -> String {
        match self.newest {
            Some(number) => format!(
                "checkpoint {number} in `{}` is whole: go on from there by --restore once the cause is put right",
                self.dir.path().display()
            ),
            None => "no checkpoint was made before".to_owned(),
        }
    }
}
