//! Grouping by key and window, with or without a CombineFn.
//!
//! **Windows that do not merge** are gathered where the data are: each worker that runs a producing stage holds a
//! *shard*, a table per window of key to accumulator, which goes along with the bundle and comes back with the commit.
//! When the watermark passes a window, the engine takes the window's table out of every shard and one bundle merges
//! and emits them. Nothing is sent to an owner of the key, no key has a timer, and closing a window is one sweep. What
//! a CombineFn gathers in sliding windows is kept per slice of time and not per window, see [`slices`].
//!
//! **All other groupings** (windows that merge, triggers, allowed lateness) need all of a key in one place: elements go to
//! key groups, each with one state that is in at most one bundle at a time.
//!
//! **A fan-out** combines in parts first, where a key may have several bundles at once, and one of the above merges these.

mod collector;
mod fanout;
mod fold;
mod key_law;
mod keyed;
mod machine;
mod merging;
mod near;
mod op;
mod pane;
mod paned_root;
mod panes;
mod root;
mod slices;
mod table;

pub use keyed::{GroupState, KeyedReport, key_group_of, key_groups};
pub use op::GroupFactory;
pub use table::{AnyTable, Shard};

pub(super) use collector::Collector;
pub(crate) use fanout::{FanoutOp, Partial, PartialFold};
pub(crate) use fold::{CombineFold, Fold, ListFold};
pub(crate) use keyed::KeyedCollector;
pub(crate) use op::GroupOp;
pub(super) use table::{WindowTable, WindowTables};
