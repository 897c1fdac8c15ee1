//! Asking a window function what to merge.

use crate::{
    Phase, PipelineError, Step,
    window::{MergedWindow, Window, WindowFn, check_merges},
};

/// What `f` merges of `windows`.
pub(super) fn merges(
    step: &Step,
    f: &dyn WindowFn,
    windows: &[Window],
) -> Result<Vec<MergedWindow>, PipelineError> {
    let merges = f.merge(windows).map_err(|e| PipelineError::user(step.clone(), Phase::Window, e))?;
    check_merges(f, windows, &merges)
        .map_err(|what| PipelineError::contract(step.clone(), Phase::Window, what))?;
    Ok(merges)
}
