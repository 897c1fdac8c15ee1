//! A batch whose element type only the kernels at its two ends know.

use std::{any::Any, fmt};

use super::{Batch, Meta};
use crate::{Element, Timestamp, coder::bincode::encoded_len};

/// A batch of any element type.
pub type AnyBatch = Box<dyn ErasedBatch>;

/// What the engine may do with a batch without knowing its element type.
pub trait ErasedBatch: Send {
    /// How many elements there are.
    fn len(&self) -> usize;
    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Timestamps, windows and panes.
    fn meta(&self) -> &Meta;
    /// Likewise, to change.
    fn meta_mut(&mut self) -> &mut Meta;
    /// The typed batch, for those who know its type.
    fn as_any(&mut self) -> &mut dyn Any;
    /// Takes everything out and leaves the batch empty.
    fn take(&mut self) -> AnyBatch;
    /// A copy.
    fn copy(&self) -> AnyBatch;
    /// Keeps the first `at` elements and returns the rest.
    fn split_off(&mut self, at: usize) -> AnyBatch;
    /// Keeps the elements for which `keep` says so and returns the others.
    fn partition(&mut self, keep: &mut dyn FnMut(&Meta, usize) -> bool) -> AnyBatch;
    /// Adds all of `other`, which has the same element type, and returns whether that was so.
    fn append(&mut self, other: &mut dyn ErasedBatch) -> bool;
    /// Takes elements in several windows apart, to one for each window.
    fn explode(&mut self);
    /// Puts the elements into the order that `order` gives, a permutation of their indices.
    fn permute(&mut self, order: &[usize]);
    /// Roughly the memory that the elements take, with what they point to.
    fn bytes(&self) -> usize;
    /// The earliest timestamp; [`Timestamp::MAX`] when there is no element.
    fn min_timestamp(&self) -> Timestamp {
        if self.is_empty() { Timestamp::MAX } else { self.meta().times.min().unwrap_or(Timestamp::MAX) }
    }
}

impl fmt::Debug for dyn ErasedBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch of {} elements", self.len())
    }
}

impl<T: Element> ErasedBatch for Batch<T> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.meta
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn take(&mut self) -> AnyBatch {
        Box::new(std::mem::take(self))
    }

    fn copy(&self) -> AnyBatch {
        Box::new(self.clone())
    }

    fn split_off(&mut self, at: usize) -> AnyBatch {
        let at = at.min(self.values.len());
        Box::new(Batch { values: self.values.split_off(at), meta: self.meta.split_off(at) })
    }

    fn partition(&mut self, keep: &mut dyn FnMut(&Meta, usize) -> bool) -> AnyBatch {
        let verdicts: Vec<bool> = (0..self.values.len()).map(|i| keep(&self.meta, i)).collect();
        if verdicts.iter().all(|k| *k) {
            return Box::new(Batch::<T>::default());
        }
        let Batch { values, meta } = std::mem::take(self);
        let mut others = Batch::default();
        for (i, (value, kept)) in values.into_iter().zip(verdicts).enumerate() {
            let to = if kept { &mut *self } else { &mut others };
            to.push(value, super::Row::of(&meta, i));
        }
        Box::new(others)
    }

    fn append(&mut self, other: &mut dyn ErasedBatch) -> bool {
        match other.as_any().downcast_mut::<Batch<T>>() {
            Some(other) => {
                Batch::append(self, other);
                true
            }
            None => false,
        }
    }

    fn explode(&mut self) {
        Batch::explode(self);
    }

    fn permute(&mut self, order: &[usize]) {
        let Batch { values, meta } = std::mem::take(self);
        let mut values: Vec<Option<T>> = values.into_iter().map(Some).collect();
        for &i in order {
            if let Some(value) = values.get_mut(i).and_then(Option::take) {
                self.push(value, super::Row::of(&meta, i));
            }
        }
    }

    fn bytes(&self) -> usize {
        // A few elements stand for all: what they encode to is about what they hold.
        const SAMPLE: usize = 8;
        let len = self.values.len();
        let step = len.div_ceil(SAMPLE).max(1);
        let sample = self.values.iter().step_by(step);
        let taken = sample.len().max(1);
        let encoded: usize = sample.map(encoded_len).sum();
        len * size_of::<T>() + encoded * len / taken
    }
}
