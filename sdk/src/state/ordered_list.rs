//! Values in the order of their timestamps.

use std::{fmt, ops::Range};

use super::{CellChange, CellKind, StateCell, cell::coder_of};
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
pub struct OrderedList<T> {
    values: Vec<(Timestamp, T)>,
    // What was done since a bundle began that may be undone.
    log: Option<Vec<Step<T>>>,
}

/// A change, with what takes it back.
#[derive(Clone)]
enum Step<T> {
    /// A value was added at this place.
    Added(usize),
    /// These were there, from this place on.
    Removed(usize, Vec<(Timestamp, T)>),
}

impl<T> Default for OrderedList<T> {
    fn default() -> OrderedList<T> {
        OrderedList { values: Vec::new(), log: None }
    }
}

impl<T> OrderedList<T> {
    /// Adds `value` at `timestamp`, which need not be that of an element.
    pub fn add(&mut self, timestamp: Timestamp, value: T) {
        let at = self.values.partition_point(|(t, _)| *t <= timestamp);
        self.values.insert(at, (timestamp, value));
        if let Some(log) = &mut self.log {
            log.push(Step::Added(at));
        }
    }

    /// All values, with their timestamps.
    pub fn read(&self) -> &[(Timestamp, T)] {
        &self.values
    }

    /// The values from `range.start` on and before `range.end`.
    pub fn read_range(&self, range: Range<Timestamp>) -> &[(Timestamp, T)] {
        &self.values[self.places(range)]
    }

    /// Removes the values from `range.start` on and before `range.end`.
    pub fn clear_range(&mut self, range: Range<Timestamp>) {
        let places = self.places(range);
        self.remove(places);
    }

    fn remove(&mut self, places: Range<usize>) {
        let from = places.start;
        let removed = self.values.drain(places);
        if let Some(log) = &mut self.log {
            log.push(Step::Removed(from, removed.collect()));
        }
    }

    fn places(&self, range: Range<Timestamp>) -> Range<usize> {
        let from = self.values.partition_point(|(t, _)| *t < range.start);
        let to = self.values.partition_point(|(t, _)| *t < range.end);
        from..to.max(from)
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.remove(0..self.values.len());
        // The memory goes too: it is not needed while the key is at rest.
        self.values = Vec::new();
    }
}

impl<T: Clone> OrderedList<T> {
    /// Takes the values from `range.start` on and before `range.end` out.
    pub fn take_range(&mut self, range: Range<Timestamp>) -> Vec<(Timestamp, T)> {
        let places = self.places(range);
        if let Some(log) = &mut self.log {
            log.push(Step::Removed(places.start, self.values[places.clone()].to_vec()));
        }
        self.values.drain(places).collect()
    }
}

impl<T: Element> StateCell for OrderedList<T> {
    const KIND: CellKind = CellKind::OrderedList;

    fn is_initial(&self) -> bool {
        self.is_empty()
    }

    fn begin(&mut self) {
        self.log = Some(Vec::new());
    }

    fn undo(&mut self) {
        for step in self.log.take().unwrap_or_default().into_iter().rev() {
            match step {
                Step::Added(at) => drop(self.values.remove(at)),
                Step::Removed(from, values) => drop(self.values.splice(from..from, values)),
            }
        }
    }

    fn keep(&mut self) {
        self.log = None;
    }

    fn change(&self) -> CellChange {
        match &self.log {
            Some(log) if log.is_empty() => CellChange::None,
            _ => CellChange::All,
        }
    }

    fn coders() -> Result<Vec<CoderSpec>, CoderError> {
        Ok(vec![coder_of::<T>()?])
    }
}

impl<T: fmt::Debug> fmt::Debug for OrderedList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values.fmt(f)
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

    #[test]
    fn is_as_it_was_when_it_is_undone() {
        let mut list = OrderedList::default();
        (0..9).for_each(|t| list.add(at(t), t));
        let was = list.read().to_vec();
        for end in [OrderedList::undo, OrderedList::keep] {
            list.begin();
            list.add(at(4), 40);
            list.clear_range(at(3)..at(6));
            list.add(at(5), 50);
            assert_eq!(list.take_range(at(5)..at(8)).len(), 3);
            list.clear();
            list.add(at(1), 10);
            end(&mut list);
            let is = vec![(at(1), 10)];
            assert_eq!(list.read(), if list.len() > 1 { &was } else { &is });
        }
        assert_eq!(list.len(), 1);
    }
}
