//! From parts to shards.

use std::fs;

use purlin_sdk::{DoFn, Emitter, ProcessContext, Result, named};
use serde::{Deserialize, Serialize};

use super::{part::PartWriter, plan::ShardPlan, temp_path::TempPath};
use crate::io::files::{Compression, FileError, ShardWriter, WriteOptions};

/// A shard that is whole and on disk, under a temporary name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BuiltShard {
    pub(super) shard: u32,
    pub(super) temp: TempPath,
    /// What it was made of, to be removed when all shards have their names.
    pub(super) parts: Vec<TempPath>,
}

/// Copies parts together to a shard, with header and footer.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct BuildShards {
    base: String,
    options: WriteOptions,
}

impl BuildShards {
    pub(super) fn new(base: String, options: WriteOptions) -> BuildShards {
        BuildShards { base, options }
    }

    /// A header or footer as it stands in the file: with its delimiter, and compressed on its own.
    fn packed(&self, record: Option<&[u8]>) -> Result<Vec<u8>> {
        let mut writer = PartWriter::create(&self.base, &self.options)?;
        if let Some(record) = record {
            writer.write(record)?;
        }
        let part = writer.finish()?;
        let path = part.temp.path();
        let failed =
            |e| FileError::io(path, format!("cannot read the temporary file `{}`", path.display()), e);
        Ok(fs::read(path).map_err(failed)?)
    }
}

named::register!(BuildShards);

impl DoFn for BuildShards {
    type Input = ShardPlan;
    type Output = BuiltShard;

    fn process(
        &mut self,
        plan: ShardPlan,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, BuiltShard>,
    ) -> Result {
        let WriteOptions { header, footer, compression, .. } = &self.options;
        // The bytes are what they are to be already.
        let as_they_are = WriteOptions {
            header: None,
            footer: None,
            delimiter: Vec::new(),
            compression: Compression::None,
        };
        let mut shard = ShardWriter::create(&self.base, &as_they_are)?;
        if let Some(header) = header {
            shard.write_record(&self.packed(Some(header))?)?;
        }
        for piece in &plan.pieces {
            piece.copy(|bytes| shard.write_record(bytes))?;
        }
        if let Some(footer) = footer {
            shard.write_record(&self.packed(Some(footer))?)?;
        }
        let empty = plan.pieces.is_empty() && header.is_none() && footer.is_none();
        if empty && *compression != Compression::None {
            // Of no bytes would be no gzip file.
            shard.write_record(&self.packed(None)?)?;
        }
        let temp = TempPath::of(shard.finish()?)?;
        let parts = plan.pieces.into_iter().map(|piece| piece.temp).collect();
        out.emit(BuiltShard { shard: plan.shard, temp, parts });
        Ok(())
    }
}
