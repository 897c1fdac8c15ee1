//! One value for the whole batch, or one an element.

use serde::{Deserialize, Serialize};

/// A column of `T` beside a batch's values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Column<T> {
    /// The same for every element.
    Const(T),
    /// One an element.
    Each(Vec<T>),
}

impl<T> Column<T> {
    /// Whether it is a column for `len` elements.
    pub(super) fn is_of(&self, len: usize) -> bool {
        match self {
            Column::Const(_) => true,
            Column::Each(each) => each.len() == len,
        }
    }
}

impl<T: Copy + PartialEq> Column<T> {
    /// The value for element `i`.
    #[inline]
    pub fn get(&self, i: usize) -> T {
        match self {
            Column::Const(v) => *v,
            Column::Each(v) => v[i],
        }
    }

    /// Adds `n` times `value` behind `len` elements.
    #[inline]
    pub fn push_n(&mut self, len: usize, value: T, n: usize) {
        match self {
            Column::Each(v) if n == 1 => v.push(value),
            Column::Each(v) => v.resize(len + n, value),
            Column::Const(c) if *c == value => {}
            Column::Const(c) if len == 0 => *c = value,
            Column::Const(c) => {
                let mut v = Vec::with_capacity((len + n).max(super::BATCH_SIZE));
                v.resize(len, *c);
                v.resize(len + n, value);
                *self = Column::Each(v);
            }
        }
    }

    /// Adds the `n` elements of `other` behind `len` elements.
    pub fn extend(&mut self, len: usize, other: &Column<T>, n: usize) {
        match other {
            Column::Const(c) => self.push_n(len, *c, n),
            Column::Each(more) => {
                if let Column::Const(c) = self {
                    let mut v = Vec::with_capacity(len + n);
                    v.resize(len, *c);
                    *self = Column::Each(v);
                }
                if let Column::Each(v) = self {
                    v.extend_from_slice(&more[..n]);
                }
            }
        }
    }

    /// Keeps the first `at` elements and returns the rest.
    pub fn split_off(&mut self, at: usize) -> Column<T> {
        match self {
            Column::Const(c) => Column::Const(*c),
            Column::Each(v) => Column::Each(v.split_off(at)),
        }
    }

    /// Forgets the elements and keeps the buffer.
    pub fn clear(&mut self) {
        if let Column::Each(v) = self {
            v.clear();
        }
    }
}

impl<T: Copy + Ord> Column<T> {
    /// The least value.
    pub fn min(&self) -> Option<T> {
        match self {
            Column::Const(c) => Some(*c),
            Column::Each(v) => v.iter().min().copied(),
        }
    }
}
