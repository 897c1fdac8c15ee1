//! What all file formats share: [finding files](expand), [compression](Compression) and [writing one
//! shard](ShardWriter) so that readers see it whole or not at all.
//!
//! A final file appears by one rename of a file that was written and synced before. So for each final name:
//! `visible = complete`, whatever happens to the process in between.

mod commit;
mod commit_all;
mod compress;
mod compression;
mod decompress;
mod error;
#[cfg(any(feature = "gzip", feature = "zstd", feature = "bzip2"))]
mod members;
mod naming;
mod pattern;
mod sharded_writer;
mod walk;

pub use commit::{FinishedShard, abandon, commit};
pub(crate) use commit_all::commit_all;
pub use compression::Compression;
pub use decompress::Input;
pub use error::{FileError, FileErrorKind};
pub use naming::{clean_leftovers, shard_name};
pub use pattern::{EmptyMatch, FileEntry, expand};
pub use sharded_writer::{ShardWriter, WriteOptions};
