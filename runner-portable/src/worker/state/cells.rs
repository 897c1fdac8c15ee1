//! Cells of a keyed DoFn.

use std::sync::Arc;

use purlin_sdk::{
    Result,
    exec::{CellAddress, StateAccess},
};

use super::BundleState;
use crate::proto::fn_execution::state_key::{BagUserState, Type};

/// The state of one transform in a bundle.
pub(in crate::worker) struct Cells {
    state: Arc<BundleState>,
    transform: String,
}

impl Cells {
    pub(in crate::worker) fn new(state: Arc<BundleState>, transform: &str) -> Cells {
        Cells { state, transform: transform.to_owned() }
    }

    fn key(&self, cell: &CellAddress) -> Type {
        Type::BagUserState(BagUserState {
            transform_id: self.transform.clone(),
            user_state_id: cell.cell.to_string(),
            window: cell.window.to_vec(),
            key: cell.key.to_vec(),
        })
    }
}

impl StateAccess for Cells {
    fn get(&self, cells: &[CellAddress]) -> Result<Vec<Vec<u8>>> {
        let keys: Vec<Type> = cells.iter().map(|cell| self.key(cell)).collect();
        self.state.get(&keys)
    }

    fn append(&self, cell: &CellAddress, items: Vec<u8>) -> Result {
        self.state.append(self.key(cell), items)
    }

    fn clear(&self, cell: &CellAddress) -> Result {
        self.state.clear(self.key(cell))
    }
}
