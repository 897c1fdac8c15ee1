//! What a window's later panes say of what its earlier ones held, and when empty ones come out.

use serde::{Deserialize, Serialize};

/// What a pane contains beside the elements since the pane before.
///
/// Source: Beam's `AccumulationMode`. Panes that take back what an earlier one said are specified there and in no SDK
/// yet; this enum can grow by them, and [`ValueKind`] is how such a pane would mark its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum AccumulationMode {
    /// Nothing: each element is in one pane.
    #[default]
    Discarding,
    /// All elements of the window so far.
    Accumulating,
}

/// What an element does to the result that a reader keeps. Source: Beam's `ValueKind`, with its numbers on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ValueKind {
    /// It is added: what every element does today.
    #[default]
    Insert,
    /// It is what a change takes back.
    UpdateBefore,
    /// It is what a change puts in place.
    UpdateAfter,
    /// It is taken away.
    Delete,
}

/// Whether a window's last pane, when it expires, comes out with nothing new in it.
///
/// Source: Beam's `ClosingBehavior`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ClosingBehavior {
    /// Only when there are elements since the pane before.
    #[default]
    FireIfNonEmpty,
    /// Always: a reader that waits for `is_last` sees it.
    FireAlways,
}

/// Whether the pane at the end of a window comes out with nothing new in it.
///
/// Source: Beam's `OnTimeBehavior`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum OnTimeBehavior {
    /// Always, also when all elements went out in early panes.
    #[default]
    FireAlways,
    /// Only when there are elements since the pane before.
    FireIfNonEmpty,
}
