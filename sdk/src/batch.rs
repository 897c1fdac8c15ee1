//! Elements on their way between transforms: a column of values, and columns for timestamps, windows and panes.
//!
//! A column that is the same for the whole batch is stored once, so that a pipeline without event time pays nothing
//! for it, and windows that follow from the timestamp are not stored at all until somebody looks.

mod column;
mod erased;
mod firing;
mod meta;
mod windows;

pub use column::Column;
pub use erased::{AnyBatch, ErasedBatch};
pub use firing::Firing;
pub use meta::{Meta, Row};
pub use windows::{WindowSet, Windows};

/// How many elements a batch holds when it is handed on. Between 256 and 8,192 it makes no difference to speed.
pub const BATCH_SIZE: usize = 1024;

/// Elements of one type with what is known of each.
#[derive(Clone, Debug)]
pub struct Batch<T> {
    /// The elements.
    pub values: Vec<T>,
    /// Their timestamps, windows and panes.
    pub meta: Meta,
}

impl<T> Default for Batch<T> {
    fn default() -> Batch<T> {
        Batch { values: Vec::new(), meta: Meta::default() }
    }
}

impl<T> Batch<T> {
    /// How many elements there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds an element with everything known of it.
    pub fn push(&mut self, value: T, row: Row<'_>) {
        self.meta.append(self.values.len(), row, 1);
        self.values.push(value);
    }

    /// Moves all of `other` to the end of this batch. An empty batch takes the other's buffers.
    pub fn append(&mut self, other: &mut Batch<T>) {
        if self.is_empty() {
            std::mem::swap(self, other);
        } else {
            self.meta.extend(self.values.len(), &other.meta, other.values.len());
            self.values.append(&mut other.values);
        }
        other.clear();
    }

    /// Empties the batch and keeps its buffers.
    pub fn clear(&mut self) {
        self.values.clear();
        self.meta.clear();
    }
}

impl<T: Clone> Batch<T> {
    /// Takes elements in several windows apart, so that each is there once a window. One in no window vanishes.
    pub fn explode(&mut self) {
        if !self.meta.may_be_in_several_windows() {
            return;
        }
        let Batch { values, meta } = std::mem::take(self);
        for (i, value) in values.into_iter().enumerate() {
            let set = Row::of(&meta, i).windows();
            for window in set.as_slice() {
                self.push(value.clone(), Row { window: Some(window), ..Row::of(&meta, i) });
            }
        }
    }

    /// Copies all of `other` to the end of this batch.
    pub fn append_clone(&mut self, other: &Batch<T>) {
        self.meta.extend(self.values.len(), &other.meta, other.values.len());
        self.values.extend_from_slice(&other.values);
    }
}
