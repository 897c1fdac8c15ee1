//! What a bundle changed, as it was before.

use super::{
    slots::Slot,
    waiting::{Turn, Waiting},
};

/// What is needed to undo a bundle.
#[derive(Debug)]
pub(super) struct Undo<K, V, S> {
    /// Slots that it touched, with what they were like; nothing for those that it made. Their cells and timers know
    /// themselves how they were.
    pub(super) slots: Vec<(usize, Option<Before>)>,
    /// Elements that it let wait.
    pub(super) queued: Vec<Turn>,
    /// Elements that waited, and that it processed.
    pub(super) taken: Vec<(Turn, Waiting<V>)>,
    /// Slots that it removed, as they were then; nothing when it cannot be undone.
    pub(super) removed: Vec<(usize, Option<Slot<K, S>>)>,
}

/// A slot beside its state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub(super) waiting: usize,
    pub(super) place: usize,
    pub(super) bundle: u64,
}

impl<K, V, S> Default for Undo<K, V, S> {
    fn default() -> Undo<K, V, S> {
        Undo { slots: Vec::new(), queued: Vec::new(), taken: Vec::new(), removed: Vec::new() }
    }
}
