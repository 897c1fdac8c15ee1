//! Which firing an element came from.

use serde::{Deserialize, Serialize};

use crate::window::{PaneInfo, ValueKind};

/// The pane that an element came from, and what the element does to the result that a reader keeps. The two are one
/// column: nearly always both are the same for a whole batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firing {
    /// The pane.
    pub pane: PaneInfo,
    /// What the element does.
    pub kind: ValueKind,
}

impl From<PaneInfo> for Firing {
    fn from(pane: PaneInfo) -> Firing {
        Firing { pane, kind: ValueKind::Insert }
    }
}
