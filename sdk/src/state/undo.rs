//! What a cell remembers, so that a bundle that fails can be undone.

use super::CellChange;

/// How a cell was when the bundle at work touched its key. It is taken down at the cell's first change, so that a cell
/// that is only read costs nothing.
#[derive(Clone, Debug, Default)]
pub(super) enum Undo<B> {
    /// No bundle is at work, or none that may be undone.
    #[default]
    Off,
    /// The cell is as it was.
    Unchanged,
    /// The cell was this.
    Was(Box<B>),
}

impl<B> Undo<B> {
    /// From here on the cell may have to be as it is now.
    pub(super) fn begin(&mut self) {
        *self = Undo::Unchanged;
    }

    /// The cell changes; `before` is asked for at the first change, and must not have changed it.
    #[inline]
    pub(super) fn change(&mut self, before: impl FnOnce() -> B) {
        if let Undo::Unchanged = self {
            *self = Undo::Was(Box::new(before()));
        }
    }

    /// What has changed since [`begin`](Self::begin).
    pub(super) fn seen(&self) -> CellChange {
        match self {
            Undo::Unchanged => CellChange::None,
            Undo::Off | Undo::Was(_) => CellChange::All,
        }
    }

    /// What the cell was, if it was changed. Nothing is remembered any more.
    pub(super) fn end(&mut self) -> Option<B> {
        match std::mem::take(self) {
            Undo::Was(before) => Some(*before),
            Undo::Off | Undo::Unchanged => None,
        }
    }
}
