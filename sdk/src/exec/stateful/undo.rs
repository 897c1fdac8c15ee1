//! What a bundle changed, as it was before.

use super::{
    slots::Slot,
    waiting::{Turn, Waiting},
};

/// What is needed to undo a bundle.
#[derive(Debug)]
pub(super) struct Undo<K, V, S> {
    /// Slots as they were when the bundle first touched them; nothing for those that it made.
    pub(super) slots: Vec<(usize, Option<Slot<K, S>>)>,
    /// Elements that it let wait.
    pub(super) queued: Vec<Turn>,
    /// Elements that waited, and that it processed.
    pub(super) taken: Vec<(Turn, Waiting<V>)>,
    /// Slots that it removed.
    pub(super) removed: Vec<usize>,
}

impl<K, V, S> Default for Undo<K, V, S> {
    fn default() -> Undo<K, V, S> {
        Undo { slots: Vec::new(), queued: Vec::new(), taken: Vec::new(), removed: Vec::new() }
    }
}
