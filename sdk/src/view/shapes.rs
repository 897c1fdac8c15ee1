//! What a side input reads as.

use std::{
    borrow::Borrow,
    collections::HashMap,
    fmt,
    hash::{BuildHasher, Hash},
    ops::Deref,
    sync::Arc,
};

use foldhash::fast::RandomState;

/// How the maps of side inputs hash their keys: fast, since each element is looked up, and by a seed that is another in each
/// process, so that nobody can choose keys that collide.
#[derive(Clone, Debug, Default)]
pub struct ViewHasher(RandomState);

impl BuildHasher for ViewHasher {
    type Hasher = <RandomState as BuildHasher>::Hasher;

    #[inline]
    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}

/// All elements of a window, in an order that stays the same. Cheap to clone; reads as a slice.
pub struct ListView<T>(Arc<Vec<T>>);

impl<T> ListView<T> {
    pub(crate) fn new(values: Vec<T>) -> ListView<T> {
        ListView(Arc::new(values))
    }
}

/// For tests that give a DoFn its side input themselves.
impl<T> From<Vec<T>> for ListView<T> {
    fn from(values: Vec<T>) -> ListView<T> {
        ListView::new(values)
    }
}

impl<T> Clone for ListView<T> {
    fn clone(&self) -> ListView<T> {
        ListView(Arc::clone(&self.0))
    }
}

impl<T> Deref for ListView<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for ListView<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One value a key. Cheap to clone.
pub struct MapView<K, V>(Arc<HashMap<K, V, ViewHasher>>);

impl<K: Eq + Hash, V> MapView<K, V> {
    pub(crate) fn new(map: HashMap<K, V, ViewHasher>) -> MapView<K, V> {
        MapView(Arc::new(map))
    }

    /// The value of `key`.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.0.get(key)
    }
}

/// For tests that give a DoFn its side input themselves.
impl<K: Eq + Hash, V> From<HashMap<K, V>> for MapView<K, V> {
    fn from(map: HashMap<K, V>) -> MapView<K, V> {
        MapView::new(map.into_iter().collect())
    }
}

impl<K, V> Deref for MapView<K, V> {
    type Target = HashMap<K, V, ViewHasher>;
    fn deref(&self) -> &HashMap<K, V, ViewHasher> {
        &self.0
    }
}

impl<K, V> Clone for MapView<K, V> {
    fn clone(&self) -> MapView<K, V> {
        MapView(Arc::clone(&self.0))
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for MapView<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// All values of each key. Cheap to clone.
pub struct MultimapView<K, V>(Arc<HashMap<K, Vec<V>, ViewHasher>>);

impl<K: Eq + Hash, V> MultimapView<K, V> {
    pub(crate) fn new(map: HashMap<K, Vec<V>, ViewHasher>) -> MultimapView<K, V> {
        MultimapView(Arc::new(map))
    }

    /// The values of `key`, none when it is not there.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> &[V]
    where
        K: Borrow<Q>,
    {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }
}

/// For tests that give a DoFn its side input themselves.
impl<K: Eq + Hash, V> From<HashMap<K, Vec<V>>> for MultimapView<K, V> {
    fn from(map: HashMap<K, Vec<V>>) -> MultimapView<K, V> {
        MultimapView::new(map.into_iter().collect())
    }
}

impl<K, V> Deref for MultimapView<K, V> {
    type Target = HashMap<K, Vec<V>, ViewHasher>;
    fn deref(&self) -> &HashMap<K, Vec<V>, ViewHasher> {
        &self.0
    }
}

impl<K, V> MultimapView<K, V> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &Vec<V>)> {
        self.0.iter()
    }
}

impl<K, V> Clone for MultimapView<K, V> {
    fn clone(&self) -> MultimapView<K, V> {
        MultimapView(Arc::clone(&self.0))
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for MultimapView<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
