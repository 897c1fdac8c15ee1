//! What a bundle starts from.

use std::fmt;

use super::{AnyTable, KeyedState};
use crate::{Timestamp, batch::AnyBatch, window::Window};

/// The input of one bundle.
pub enum BundleInput {
    /// Elements from the stages before, or from a source's residuals.
    Batches(Vec<AnyBatch>),
    /// A window that closed: what every shard has gathered for it.
    Window {
        /// The window.
        window: Window,
        /// The shards' tables for it, perhaps none.
        tables: Vec<Box<dyn AnyTable>>,
    },
    /// A key group's turn: new elements, and time that may have passed.
    KeyGroup {
        /// The group's state, which goes back to the engine with the commit.
        state: Box<dyn KeyedState>,
        /// New elements, perhaps none.
        batches: Vec<AnyBatch>,
    },
}

impl BundleInput {
    /// The elements, when these are elements.
    pub fn into_batches(self) -> Vec<AnyBatch> {
        match self {
            BundleInput::Batches(batches) | BundleInput::KeyGroup { batches, .. } => batches,
            BundleInput::Window { .. } => Vec::new(),
        }
    }

    /// A copy to try again with; nothing where the input has no copy (a key group's state is not copied: the engine
    /// keeps its own).
    pub fn copy(&self) -> Option<BundleInput> {
        match self {
            BundleInput::Batches(batches) => {
                Some(BundleInput::Batches(batches.iter().map(|b| b.copy()).collect()))
            }
            BundleInput::Window { window, tables } => Some(BundleInput::Window {
                window: window.clone(),
                tables: tables.iter().map(|t| t.copy()).collect(),
            }),
            BundleInput::KeyGroup { state, batches } => Some(BundleInput::KeyGroup {
                state: state.copy(),
                batches: batches.iter().map(|b| b.copy()).collect(),
            }),
        }
    }

    /// The earliest timestamp among the elements.
    pub fn min_timestamp(&self) -> Timestamp {
        match self {
            BundleInput::Batches(batches) | BundleInput::KeyGroup { batches, .. } => {
                batches.iter().map(|b| b.min_timestamp()).min().unwrap_or(Timestamp::MAX)
            }
            BundleInput::Window { window, .. } => window.max_timestamp(),
        }
    }
}

impl fmt::Debug for BundleInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BundleInput::Batches(b) => write!(f, "{b:?}"),
            BundleInput::Window { window, tables } => write!(f, "{window} from {} shards", tables.len()),
            BundleInput::KeyGroup { batches, .. } => write!(f, "key group with {batches:?}"),
        }
    }
}
