//! What a query was told.

use std::path::PathBuf;

use purlin_sdk::ClockRef;

use super::{OutputMode, QueryTrigger, WatermarkPolicy};

/// What a query was told when it was built.
pub(crate) struct Settings {
    pub(crate) name: Option<String>,
    pub(crate) mode: OutputMode,
    pub(crate) trigger: QueryTrigger,
    pub(crate) policy: WatermarkPolicy,
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) no_data_epochs: bool,
    /// How many progress reports are kept.
    pub(crate) kept_progress: usize,
    pub(crate) clock: ClockRef,
}
