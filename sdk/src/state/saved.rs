//! Cells as bytes, for checkpoints.

use super::{Bag, Combining, Map, Multimap, OrderedList, Set, Value};
use crate::{
    CombineFn, Element, Key, Result,
    exec::save::{put, put_len, take, take_len},
};

/// A cell that can be kept in a checkpoint, as all cells can.
pub trait SavedCell: Sized {
    /// Appends all that it holds.
    ///
    /// # Errors
    /// When a value does not encode.
    fn save(&self, out: &mut Vec<u8>) -> Result;

    /// Takes in what [`save`](SavedCell::save) wrote, while nothing is in the cell.
    ///
    /// # Errors
    /// When the bytes are no such cell.
    fn load(&mut self, input: &mut &[u8]) -> Result;
}

/// Appends a cell. The code that `#[derive(KeyedState)]` makes calls it.
///
/// # Errors
/// As [`SavedCell::save`].
#[doc(hidden)]
pub fn save<C: SavedCell>(cell: &C, out: &mut Vec<u8>) -> Result {
    cell.save(out)
}

/// Takes a cell off the front of `input`. The code that `#[derive(KeyedState)]` makes calls it.
///
/// # Errors
/// As [`SavedCell::load`].
#[doc(hidden)]
pub fn load<C: SavedCell>(cell: &mut C, input: &mut &[u8]) -> Result {
    cell.load(input)
}

/// Appends so many pairs.
fn save_pairs<'a, A: Element, B: Element>(
    len: usize,
    pairs: impl Iterator<Item = (&'a A, &'a B)>,
    out: &mut Vec<u8>,
) -> Result {
    put_len(len, out)?;
    for (first, second) in pairs {
        put(first, out)?;
        put(second, out)?;
    }
    Ok(())
}

/// Takes pairs off the front of `input`.
fn load_pairs<A: Element, B: Element>(input: &mut &[u8], mut add: impl FnMut(A, B)) -> Result {
    for _ in 0..take_len(input)? {
        let first = take(input)?;
        add(first, take(input)?);
    }
    Ok(())
}

impl<T: Element> SavedCell for Value<T> {
    fn save(&self, out: &mut Vec<u8>) -> Result {
        put(&self.read().is_some(), out)?;
        self.read().map_or(Ok(()), |value| put(value, out))
    }

    fn load(&mut self, input: &mut &[u8]) -> Result {
        if take(input)? {
            self.write(take(input)?);
        }
        Ok(())
    }
}

impl<T: Element> SavedCell for Bag<T> {
    fn save(&self, out: &mut Vec<u8>) -> Result {
        put_len(self.len(), out)?;
        self.read().iter().try_for_each(|value| put(value, out))
    }

    fn load(&mut self, input: &mut &[u8]) -> Result {
        for _ in 0..take_len(input)? {
            self.add(take(input)?);
        }
        Ok(())
    }
}

impl<C: CombineFn> SavedCell for Combining<C> {
    fn save(&self, out: &mut Vec<u8>) -> Result {
        put(&self.accumulator().is_some(), out)?;
        self.accumulator().map_or(Ok(()), |accumulator| put(accumulator, out))
    }

    fn load(&mut self, input: &mut &[u8]) -> Result {
        if take(input)? {
            self.add_accumulator(take(input)?);
        }
        Ok(())
    }
}

impl<K: Key, V: Element> SavedCell for Map<K, V> {
    fn save(&self, out: &mut Vec<u8>) -> Result {
        save_pairs(self.len(), self.iter(), out)
    }

    fn load(&mut self, input: &mut &[u8]) -> Result {
        load_pairs(input, |key, value| drop(self.put(key, value)))
    }
}

impl<K: Key, V: Element> SavedCell for Multimap<K, V> {
    fn save(&self, out: &mut Vec<u8>) -> Result {
        save_pairs(self.entries().count(), self.entries(), out)
    }

    fn load(&mut self, input: &mut &[u8]) -> Result {
        load_pairs(input, |key, value| self.put(key, value))
    }
}

impl<T: Key> SavedCell for Set<T> {
    fn save(&self, out: &mut Vec<u8>) -> Result {
        put_len(self.len(), out)?;
        self.iter().try_for_each(|value| put(value, out))
    }

    fn load(&mut self, input: &mut &[u8]) -> Result {
        for _ in 0..take_len(input)? {
            self.add(take(input)?);
        }
        Ok(())
    }
}

impl<T: Element> SavedCell for OrderedList<T> {
    fn save(&self, out: &mut Vec<u8>) -> Result {
        put_len(self.len(), out)?;
        for (at, value) in self.read() {
            put(at, out)?;
            put(value, out)?;
        }
        Ok(())
    }

    fn load(&mut self, input: &mut &[u8]) -> Result {
        load_pairs(input, |at, value| self.add(at, value))
    }
}
