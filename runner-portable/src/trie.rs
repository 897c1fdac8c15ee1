//! Bounded tries as engines have them.

use prost::Message;
use purlin_sdk::{coder::CoderError, metrics::BoundedTrieValue};

use crate::proto::pipeline::{BoundedTrie, BoundedTrieNode};

/// How many paths a trie tells apart. Source: Beam's `BoundedTrieData`.
const BOUND: i32 = 100;

/// So many segments of a path are sent: prost reads messages up to 100 deep in each other, and each segment is two.
const DEEPEST: usize = 40;

/// `trie` as Beam's message.
pub(crate) fn encode(trie: &BoundedTrieValue) -> Vec<u8> {
    let mut root = BoundedTrieNode::default();
    for (path, is_cut) in trie.paths() {
        let mut node = &mut root;
        for segment in path.iter().take(DEEPEST) {
            node = node.children.entry((*segment).to_owned()).or_default();
        }
        node.truncated |= is_cut || path.len() > DEEPEST;
    }
    BoundedTrie { bound: BOUND, root: Some(root), singleton: Vec::new() }.encode_to_vec()
}

/// A trie from Beam's message: paths, or a path alone.
///
/// # Errors
/// When the bytes are no such message.
pub(crate) fn decode(bytes: &[u8]) -> Result<BoundedTrieValue, CoderError> {
    // What follows goes no deeper than prost does.
    let BoundedTrie { root, singleton, .. } = BoundedTrie::decode(bytes).map_err(CoderError::msg)?;
    let mut paths = Vec::new();
    if !singleton.is_empty() {
        paths.push((singleton, false));
    }
    if let Some(root) = root {
        gather(&root, &mut Vec::new(), &mut paths);
    }
    Ok(BoundedTrieValue::from_paths(paths))
}

fn gather(node: &BoundedTrieNode, path: &mut Vec<String>, into: &mut Vec<(Vec<String>, bool)>) {
    if node.children.is_empty() || node.truncated {
        into.push((path.clone(), node.truncated));
        return;
    }
    for (segment, child) in &node.children {
        path.push(segment.clone());
        gather(child, path, into);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trie_comes_back() {
        let many = (0..1000).map(|n| vec!["data".to_owned(), "2024".to_owned(), format!("{n}.csv")]);
        let few = [vec!["logs".to_owned(), "a".to_owned()], vec!["x".to_owned()]];
        for trie in [
            BoundedTrieValue::of(many.clone().chain(few.clone())),
            BoundedTrieValue::of(few),
            BoundedTrieValue::of(many),
        ] {
            assert_eq!(decode(&encode(&trie)).unwrap(), trie);
        }
        assert!(decode(&encode(&BoundedTrieValue::default())).unwrap().is_empty());
        let alone = BoundedTrie { singleton: vec!["a".to_owned(), "b".to_owned()], ..BoundedTrie::default() };
        assert_eq!(decode(&alone.encode_to_vec()).unwrap().paths(), [(vec!["a", "b"], false)]);
        let deep = BoundedTrieValue::of([(0..60).map(|n| n.to_string())]);
        assert!(
            matches!(&decode(&encode(&deep)).unwrap().paths()[..], [(path, true)] if path.len() == DEEPEST)
        );
        assert!(decode(b"\xff").is_err());
    }
}
