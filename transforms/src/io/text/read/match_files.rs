//! From patterns to files.

use purlin_sdk::{DoFn, Emitter, ProcessContext, Result, named};
use serde::{Deserialize, Serialize};

use crate::io::files::{Compression, EmptyMatch, FileError, FileErrorKind, expand};

/// A file that is to be read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TextFile {
    pub(super) path: String,
    /// Bytes when it was found, compressed if it is.
    pub(super) size: u64,
    /// Whether it is compressed, so that it cannot be entered in its middle.
    pub(super) packed: bool,
}

impl TextFile {
    /// Whether its bytes can be shared out by number. A compressed file cannot be entered in its middle; one without
    /// bytes may have some all the same, as files of `/proc` do, which make up what is in them when they are read.
    pub(super) fn is_divisible(&self) -> bool {
        !self.packed && self.size > 0
    }
}

/// Finds the files that a pattern names.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct MatchFiles {
    empty_match: EmptyMatch,
    compression: Compression,
}

impl MatchFiles {
    pub(super) fn new(empty_match: EmptyMatch, compression: Compression) -> MatchFiles {
        MatchFiles { empty_match, compression }
    }
}

named::register!(MatchFiles);

impl DoFn for MatchFiles {
    type Input = String;
    type Output = TextFile;

    fn process(
        &mut self,
        pattern: String,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, TextFile>,
    ) -> Result {
        for found in expand(&pattern, self.empty_match)? {
            let packed = !self.compression.is_splittable(&found.path);
            let path = found.path.into_os_string().into_string().map_err(|name| {
                let text = format!("the name of the file {name:?} is not UTF-8; rename it");
                FileError::new(FileErrorKind::Pattern, name, text)
            })?;
            cx.counter("files").inc(1);
            out.emit(TextFile { path, size: found.size, packed });
        }
        Ok(())
    }
}
