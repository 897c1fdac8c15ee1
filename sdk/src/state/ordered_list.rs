//! Values in the order of their timestamps.

use std::{fmt, ops::Range};

use super::{CellKind, StateCell, cell::coder_of};
use crate::{
    Element, Timestamp,
    coder::{CoderError, CoderSpec},
};

/// Values in the order of their timestamps; those with the same one in the order in which they were added. Beam's
/// `OrderedListState`.
///
/// ```
/// use purlin_sdk::{Timestamp, state::OrderedList};
/// let at = Timestamp::from_secs;
/// let mut list = OrderedList::default();
/// list.add(at(5), 'b');
/// list.add(at(1), 'a');
/// list.add(at(9), 'c');
/// assert_eq!(list.read(), [(at(1), 'a'), (at(5), 'b'), (at(9), 'c')]);
/// assert_eq!(list.read_range(at(1)..at(9)), [(at(1), 'a'), (at(5), 'b')]);
/// list.clear_range(at(0)..at(6));
/// assert_eq!(list.read(), [(at(9), 'c')]);
/// ```
#[derive(Clone)]
pub struct OrderedList<T>(Vec<(Timestamp, T)>);

impl<T> Default for OrderedList<T> {
    fn default() -> OrderedList<T> {
        OrderedList(Vec::new())
    }
}

impl<T> OrderedList<T> {
    /// Adds `value` at `timestamp`, which need not be that of an element.
    pub fn add(&mut self, timestamp: Timestamp, value: T) {
        let at = self.0.partition_point(|(t, _)| *t <= timestamp);
        self.0.insert(at, (timestamp, value));
    }

    /// All values, with their timestamps.
    pub fn read(&self) -> &[(Timestamp, T)] {
        &self.0
    }

    /// The values from `range.start` on and before `range.end`.
    pub fn read_range(&self, range: Range<Timestamp>) -> &[(Timestamp, T)] {
        &self.0[self.places(range)]
    }

    /// Removes the values from `range.start` on and before `range.end`.
    pub fn clear_range(&mut self, range: Range<Timestamp>) {
        let places = self.places(range);
        self.0.drain(places);
    }

    /// Takes the values from `range.start` on and before `range.end` out.
    pub fn take_range(&mut self, range: Range<Timestamp>) -> Vec<(Timestamp, T)> {
        let places = self.places(range);
        self.0.drain(places).collect()
    }

    fn places(&self, range: Range<Timestamp>) -> Range<usize> {
        let from = self.0.partition_point(|(t, _)| *t < range.start);
        let to = self.0.partition_point(|(t, _)| *t < range.end);
        from..to.max(from)
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.0 = Vec::new();
    }
}

impl<T: Element> StateCell for OrderedList<T> {
    const KIND: CellKind = CellKind::OrderedList;

    fn is_initial(&self) -> bool {
        self.is_empty()
    }

    fn coders() -> Result<Vec<CoderSpec>, CoderError> {
        Ok(vec![coder_of::<T>()?])
    }
}

impl<T: fmt::Debug> fmt::Debug for OrderedList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    #[test]
    fn equal_timestamps_keep_the_order_in_which_they_were_added() {
        let mut list = OrderedList::default();
        for (t, v) in [(5, 'a'), (1, 'b'), (5, 'c'), (1, 'd')] {
            list.add(at(t), v);
        }
        assert_eq!(list.read().iter().map(|(_, v)| *v).collect::<String>(), "bdac");
    }

    #[test]
    fn a_range_has_its_start_and_not_its_end_and_may_be_upside_down() {
        let mut list = OrderedList::default();
        (0..5).for_each(|t| list.add(at(t), t));
        let range =
            |a: i64, b: i64| list.read_range(at(a)..at(b)).iter().map(|(_, v)| *v).collect::<Vec<_>>();
        assert_eq!(range(1, 3), [1, 2]);
        assert_eq!(range(3, 1), Vec::<i64>::new());
        assert_eq!(list.read_range(Timestamp::MIN..Timestamp::MAX).len(), 5);
        list.clear_range(at(4)..at(1));
        assert_eq!(list.len(), 5);
        assert_eq!(list.take_range(at(1)..at(4)).len(), 3);
        assert_eq!(list.read(), [(at(0), 0), (at(4), 4)]);
    }
}
