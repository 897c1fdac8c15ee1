//! Fields as data, for the graph.

use std::fmt;

use serde::Serialize;

use super::{StateCell, TimeDomain};
use crate::coder::{CoderError, CoderSpec};

/// The kinds of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CellKind {
    /// One value, or none.
    Value,
    /// Values in the order in which they came.
    Bag,
    /// The accumulator of a CombineFn.
    Combining,
    /// A value per key.
    Map,
    /// Each value once.
    Set,
    /// Values by their timestamps.
    OrderedList,
    /// Values per key.
    Multimap,
    /// When to be called back.
    Timer,
    /// Timers by tags.
    TimerFamily,
}

/// A field of a struct with `#[derive(KeyedState)]`, as it goes into the graph.
#[derive(Clone)]
pub struct Field {
    /// The field's name, by which the state goes.
    pub name: &'static str,
    /// What it is.
    pub kind: CellKind,
    /// Of a timer: whose time it goes by.
    pub time: Option<TimeDomain>,
    /// How what it holds is encoded; an error when a type has no coder.
    pub coders: Result<Vec<CoderSpec>, CoderError>,
}

impl Field {
    /// The field `name`, which is a cell of type `C`.
    pub fn cell<C: StateCell>(name: &'static str) -> Field {
        Field { name, kind: C::KIND, time: None, coders: C::coders() }
    }

    /// The field `name`, which is a timer or a family of timers.
    pub fn timer(name: &'static str, kind: CellKind, time: TimeDomain) -> Field {
        Field { name, kind, time: Some(time), coders: Ok(Vec::new()) }
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.name, self.kind)
    }
}
