//! The state of a key: cells that outlive a bundle, and timers.
//!
//! A [`KeyedDoFn`](crate::KeyedDoFn) has state per transform, key and window. It is declared as a struct whose fields
//! are cells, by `#[derive(KeyedState)]`:
//!
//! ```
//! # use purlin_derive::KeyedState;
//! use purlin_sdk::state::{Bag, Timer, Value};
//!
//! #[derive(KeyedState)]
//! # #[keyed_state(crate = "purlin_sdk")]
//! struct Cart {
//!     items: Bag<String>,
//!     total: Value<u64>,
//!     #[timer(event)]
//!     expiry: Timer,
//! }
//! ```
//!
//! | cell | holds |
//! |---|---|
//! | [`Value`] | one value, or none |
//! | [`Bag`] | values, in the order in which they came |
//! | [`Combining`] | the accumulator of a CombineFn |
//! | [`Map`] | a value per key |
//! | [`Set`] | each value once |
//! | [`OrderedList`] | values in the order of their timestamps |
//! | [`Multimap`] | values per key |
//! | [`Timer`] | when to be called back |
//! | [`TimerFamily`] | timers by tags that are made up while it runs |
//!
//! Cells are read by reference and changed by value: there is no `&mut` into them. State is removed when its window
//! expires, that is, when the watermark passes its end and the allowed lateness.
//!
//! Source: <https://beam.apache.org/documentation/programming-guide/#state-and-timers>.

mod any_cell;
mod bag;
mod cell;
mod combining;
mod field;
mod keyed_state;
mod map;
mod multimap;
mod ordered_list;
mod ordered_map;
mod saved;
mod set;
mod timer;
mod timer_cell;
mod timer_family;
mod timer_scope;
mod timer_setting;
mod undo;
mod value;

pub use any_cell::{AnyCell, CellChange};
pub use bag::Bag;
pub use cell::StateCell;
#[doc(hidden)]
pub use cell::initial;
pub use combining::Combining;
pub use field::{CellKind, Field};
pub use keyed_state::KeyedState;
pub use map::Map;
pub use multimap::Multimap;
pub use ordered_list::OrderedList;
pub use saved::SavedCell;
#[doc(hidden)]
pub use saved::{load, save};
pub use set::Set;
pub use timer::{TimeDomain, Timer};
pub use timer_cell::{TellChange, TimerCell, TimerEntry};
pub use timer_family::TimerFamily;
pub use timer_scope::KeyedContext;
pub use timer_setting::TimerSetting;
pub use value::Value;

pub(crate) use timer_scope::{TimerScope, sealed};
