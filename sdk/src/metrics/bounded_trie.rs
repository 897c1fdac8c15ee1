//! Paths as a metric, of which there may be any number: those that share a beginning are cut to it when there are too
//! many.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How many paths a trie tells apart. Source: Beam's `BoundedTrieData`.
const MOST_PATHS: usize = 100;

/// How many segments of a path are looked at.
const MOST_SEGMENTS: usize = 64;

/// Paths that were added, such as names of files by folder: a hundred of them, and where there are more those with the
/// longest shared beginning are cut to it.
///
/// ```
/// # use purlin_sdk::metrics::BoundedTrieValue;
/// let read = BoundedTrieValue::of([["data", "2024", "a.csv"], ["data", "2024", "b.csv"]]);
/// assert_eq!(read.paths(), [(vec!["data", "2024", "a.csv"], false), (vec!["data", "2024", "b.csv"], false)]);
/// let many = (0..1000).map(|n| ["data".to_owned(), "2024".to_owned(), format!("{n}.csv")]);
/// // There is more below.
/// assert_eq!(BoundedTrieValue::of(many).paths(), [(vec!["data", "2024"], true)]);
/// ```
/// Source: Beam's `BoundedTrie`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundedTrieValue(Node);

/// What follows a beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Node {
    children: BTreeMap<String, Node>,
    /// There was something below that is told no more.
    is_cut: bool,
}

impl BoundedTrieValue {
    /// The trie of these paths.
    pub fn of<S: AsRef<str>>(
        paths: impl IntoIterator<Item = impl IntoIterator<Item = S>>,
    ) -> BoundedTrieValue {
        let mut trie = BoundedTrieValue::default();
        paths.into_iter().for_each(|path| trie.add(path));
        trie
    }

    /// The paths, in their order; of each, whether it is a beginning of others that are not told apart.
    pub fn paths(&self) -> Vec<(Vec<&str>, bool)> {
        let mut paths = Vec::new();
        self.0.gather(&mut Vec::new(), &mut paths);
        paths
    }

    /// What [`paths`](Self::paths) gave.
    ///
    /// ```
    /// # use purlin_sdk::metrics::BoundedTrieValue;
    /// let many = BoundedTrieValue::of((0..1000).map(|n| ["data".to_owned(), format!("{n}.csv")]));
    /// assert_eq!(BoundedTrieValue::from_paths(many.paths()), many);
    /// ```
    pub fn from_paths<S: AsRef<str>>(paths: impl IntoIterator<Item = (Vec<S>, bool)>) -> BoundedTrieValue {
        let mut trie = BoundedTrieValue::default();
        for (path, is_cut) in paths {
            let mut node = &mut trie.0;
            for segment in path.iter().take(MOST_SEGMENTS) {
                node = node.children.entry(segment.as_ref().to_owned()).or_default();
            }
            if is_cut {
                node.cut();
            }
        }
        trie.trim();
        trie
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.0.children.is_empty() && !self.0.is_cut
    }

    pub(super) fn add<S: AsRef<str>>(&mut self, path: impl IntoIterator<Item = S>) {
        let mut node = &mut self.0;
        for (i, segment) in path.into_iter().enumerate() {
            if node.is_cut {
                return;
            }
            if i == MOST_SEGMENTS {
                node.cut();
                break;
            }
            node = node.children.entry(segment.as_ref().to_owned()).or_default();
        }
        self.trim();
    }

    pub(super) fn merge(&mut self, other: &BoundedTrieValue) {
        self.0.merge(&other.0);
        self.trim();
    }

    fn trim(&mut self) {
        while self.0.leaves() > MOST_PATHS {
            self.0.trim();
        }
    }
}

// These go no deeper than the segments that are looked at.
impl Node {
    fn cut(&mut self) {
        self.children.clear();
        self.is_cut = true;
    }

    fn leaves(&self) -> usize {
        self.children.values().map(Node::leaves).sum::<usize>().max(1)
    }

    fn merge(&mut self, other: &Node) {
        if self.is_cut || other.is_cut {
            self.cut();
            return;
        }
        for (segment, child) in &other.children {
            match self.children.get_mut(segment) {
                Some(ours) => ours.merge(child),
                None => {
                    self.children.insert(segment.clone(), child.clone());
                }
            }
        }
    }

    /// Cuts where most paths share their beginning, as far down as may be.
    fn trim(&mut self) {
        match self.children.values_mut().max_by_key(|child| child.leaves()) {
            Some(child) if child.leaves() > 1 => child.trim(),
            _ => self.cut(),
        }
    }

    fn gather<'t>(&'t self, path: &mut Vec<&'t str>, into: &mut Vec<(Vec<&'t str>, bool)>) {
        if self.children.is_empty() && (self.is_cut || !path.is_empty()) {
            into.push((path.clone(), self.is_cut));
        }
        for (segment, child) in &self.children {
            path.push(segment);
            child.gather(path, into);
            path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(folder: &str, n: usize) -> BoundedTrieValue {
        BoundedTrieValue::of((0..n).map(|i| [folder.to_owned(), format!("{i:03}")]))
    }

    #[test]
    fn too_many_paths_are_cut_where_most_are() {
        let mut all = numbered("many", 90);
        all.merge(&numbered("few", 10));
        assert_eq!(all.paths().len(), 100);
        all.add(["other"]);
        let paths = all.paths();
        assert_eq!(paths.len(), 12);
        assert_eq!(paths[10], (vec!["many"], true));
        assert_eq!(paths[11], (vec!["other"], false));
        // What is cut stays so.
        let before = all.clone();
        all.merge(&numbered("many", 3));
        all.add(["many", "again"]);
        assert_eq!(all, before);
    }

    #[test]
    fn merging_does_not_hang_on_the_order() {
        let (a, b) = (numbered("a", 70), numbered("b", 70));
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.merge(&b);
        ba.merge(&a);
        assert_eq!(ab, ba);
        assert_eq!(ab.paths().len(), 71);
    }

    #[test]
    fn a_path_is_looked_at_so_far_and_one_of_nothing_is_none() {
        let deep = BoundedTrieValue::of([(0..100_000).map(|n| n.to_string())]);
        assert_eq!(
            deep.paths().iter().map(|(path, cut)| (path.len(), *cut)).collect::<Vec<_>>(),
            [(64, true)]
        );
        assert!(BoundedTrieValue::of([[""; 0]]).paths().is_empty());
    }
}
