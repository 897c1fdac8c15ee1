//! The values of one key.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Element;

/// The values of one key and window, from a grouping. Can be walked any number of times, cloned for the price of a
/// pointer, and serialised.
///
/// ```
/// use purlin_sdk::Grouped;
/// let group: Grouped<i32> = vec![1, 2, 3].into();
/// assert_eq!(group.iter().sum::<i32>(), 6);
/// assert_eq!(group.into_iter().map(|x| x * 2).collect::<Vec<_>>(), [2, 4, 6]);
/// ```
pub struct Grouped<V>(Arc<Vec<V>>);

impl<V> Grouped<V> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V: Clone> Grouped<V> {
    /// The values, each a copy.
    pub fn iter(&self) -> impl Iterator<Item = V> {
        self.0.iter().cloned()
    }

    /// The values as a vector; without copying when nobody else holds the group.
    pub fn into_vec(self) -> Vec<V> {
        Arc::try_unwrap(self.0).unwrap_or_else(|shared| (*shared).clone())
    }
}

impl<V> From<Vec<V>> for Grouped<V> {
    fn from(values: Vec<V>) -> Grouped<V> {
        Grouped(Arc::new(values))
    }
}

impl<V: Clone> IntoIterator for Grouped<V> {
    type Item = V;
    type IntoIter = std::vec::IntoIter<V>;
    fn into_iter(self) -> std::vec::IntoIter<V> {
        self.into_vec().into_iter()
    }
}

impl<V: Clone> IntoIterator for &Grouped<V> {
    type Item = V;
    type IntoIter = std::vec::IntoIter<V>;
    fn into_iter(self) -> std::vec::IntoIter<V> {
        (*self.0).clone().into_iter()
    }
}

impl<V> Clone for Grouped<V> {
    fn clone(&self) -> Grouped<V> {
        Grouped(Arc::clone(&self.0))
    }
}

impl<V: PartialEq> PartialEq for Grouped<V> {
    fn eq(&self, other: &Grouped<V>) -> bool {
        self.0 == other.0
    }
}

impl<V: Eq> Eq for Grouped<V> {}

impl<V: fmt::Debug> fmt::Debug for Grouped<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<V: Serialize> Serialize for Grouped<V> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.as_slice().serialize(s)
    }
}

impl<'de, V: Element> Deserialize<'de> for Grouped<V> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Grouped<V>, D::Error> {
        Vec::<V>::deserialize(d).map(Grouped::from)
    }
}
