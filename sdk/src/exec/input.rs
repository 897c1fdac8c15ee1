//! What a bundle starts from.

use std::fmt;

use super::AnyTable;
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
        /// New elements, perhaps none.
        batches: Vec<AnyBatch>,
    },
}

impl BundleInput {
    /// The elements, when these are elements.
    pub fn into_batches(self) -> Vec<AnyBatch> {
        match self {
            BundleInput::Batches(batches) | BundleInput::KeyGroup { batches } => batches,
            BundleInput::Window { .. } => Vec::new(),
        }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            BundleInput::Batches(batches) | BundleInput::KeyGroup { batches } => {
                batches.iter().map(|b| b.len()).sum()
            }
            BundleInput::Window { .. } => 0,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A copy to try again with. A key group's state has none: what the bundle did to it is undone.
    pub fn copy(&self) -> BundleInput {
        match self {
            BundleInput::Batches(batches) => BundleInput::Batches(batches.iter().map(|b| b.copy()).collect()),
            BundleInput::Window { window, tables } => BundleInput::Window {
                window: window.clone(),
                tables: tables.iter().map(|t| t.copy()).collect(),
            },
            BundleInput::KeyGroup { batches } => {
                BundleInput::KeyGroup { batches: batches.iter().map(|b| b.copy()).collect() }
            }
        }
    }

    /// The earliest timestamp among the elements.
    pub fn min_timestamp(&self) -> Timestamp {
        match self {
            BundleInput::Batches(batches) | BundleInput::KeyGroup { batches } => {
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
            BundleInput::KeyGroup { batches } => write!(f, "key group with {batches:?}"),
        }
    }
}
