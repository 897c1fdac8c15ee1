//! Keyed DoFns at work: state and timers.
//!
//! Elements go to key groups, each with one [`KeyStore`](store::KeyStore) that is in at most one bundle at a time. It
//! has a slot per key and window, with the state as the user declared it; whatever is looked for by time (timers,
//! windows that end, elements that wait for their turn) is in indexes beside the slots, so that a key that nothing
//! happens to costs nothing.

mod bundle;
mod kernel;
mod op;
mod queue;
mod save;
mod slots;
mod store;
mod timers;
mod undo;
mod waiting;

pub(crate) use op::StatefulOp;
pub(crate) use store::KeyStore;
