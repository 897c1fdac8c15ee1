//! From temporary names to the final ones.

use purlin_sdk::{DoFn, Emitter, ProcessContext, Result, named};
use serde::{Deserialize, Serialize};

use super::{build::BuiltShard, names::Names};
use crate::io::files::{abandon, commit_all};

/// Gives all shards of a window their names, and tells them.
///
/// It may be run again after it failed at any point: a shard that has its name already is left alone.
/// When one cannot have its name, none has, and the files that were there before are there again.
///
/// In a run with checkpoints it sees shards only once a checkpoint has them, so a run that goes on from there gives the
/// same files the same names. What they were made of is kept until a checkpoint no longer needs it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Publish {
    names: Names,
}

impl Publish {
    pub(super) fn new(names: Names) -> Publish {
        Publish { names }
    }
}

named::register!(Publish);

impl DoFn for Publish {
    type Input = Vec<BuiltShard>;
    type Output = String;
    const REQUIRES_STABLE_INPUT: bool = true;

    fn process(
        &mut self,
        mut shards: Vec<BuiltShard>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        shards.sort_unstable_by_key(|built| built.shard);
        let (window, pane) = (cx.window(), cx.pane());
        let named: Vec<_> = shards
            .iter()
            .map(|built| (built.temp.path(), self.names.of(built.shard, &window, pane)))
            .collect();
        commit_all(&named)?;
        for (_, name) in named {
            cx.counter("files").inc(1);
            out.emit(name);
        }
        let parts: Vec<_> = shards.into_iter().flat_map(|built| built.parts).collect();
        cx.finalize(move || parts.iter().try_for_each(|part| Ok(abandon(part.path())?)));
        Ok(())
    }
}
