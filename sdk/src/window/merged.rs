//! What a window function may say of merging.

use std::collections::BTreeSet;

use super::{MergedWindow, Window, WindowFn};

/// What is wrong with the merges that a function makes of `given`.
///
/// Two windows of a key that are one afterwards would each have panes and state of their own, and data in a window that
/// does not cover them could come out before their time or be late in it.
pub(crate) fn check_merges<F: WindowFn + ?Sized>(
    f: &F,
    given: &[Window],
    merged: &[MergedWindow],
) -> Result<(), String> {
    let there: BTreeSet<&Window> = given.iter().collect();
    let mut seen = BTreeSet::new();
    for MergedWindow { result, sources } in merged {
        if sources.len() < 2 {
            return Err(format!("{f:?} merges {sources:?} into {result}: two or more windows are merged"));
        }
        for source in sources {
            if !there.contains(source) {
                return Err(format!("{f:?} merges {source}, which is none of {given:?}"));
            }
            if !seen.insert(source) {
                return Err(format!("{f:?} merges {source} twice"));
            }
            let before = match (source.as_interval(), result.as_interval()) {
                (Some(source), Some(result)) => source.start() < result.start(),
                _ => false,
            };
            if before || source.max_timestamp() > result.max_timestamp() {
                return Err(format!("{f:?} merges {source} into {result}, which does not cover it"));
            }
        }
    }
    let mut results = BTreeSet::new();
    for MergedWindow { result, .. } in merged {
        let is_left = there.contains(result) && !seen.contains(result);
        if is_left || !results.insert(result) {
            return Err(format!(
                "{f:?} merges into {result}, which is there already and is not merged with it: make one merge of all \
                 that become one window"
            ));
        }
    }
    Ok(())
}
