//! A set of strings as a metric.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// How many bytes the strings of a set have at most. Source: Beam's `StringSetData`.
const MOST_BYTES: usize = 1_000_000;

/// The strings that were added, each once. It has room for a million bytes; a string for which there is none is dropped,
/// with a warning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StringSetValue {
    strings: BTreeSet<String>,
    bytes: usize,
}

impl StringSetValue {
    /// The set of these strings.
    ///
    /// ```
    /// # use purlin_sdk::metrics::StringSetValue;
    /// assert_eq!(StringSetValue::of(["b", "a", "b"]).iter().collect::<Vec<_>>(), ["a", "b"]);
    /// ```
    pub fn of<S: AsRef<str>>(strings: impl IntoIterator<Item = S>) -> StringSetValue {
        let mut set = StringSetValue::default();
        strings.into_iter().for_each(|text| set.add(text.as_ref()));
        set
    }

    /// Whether `text` is there.
    pub fn contains(&self, text: &str) -> bool {
        self.strings.contains(text)
    }

    /// The strings, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.strings.iter().map(String::as_str)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.strings.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.strings.is_empty()
    }

    pub(super) fn add(&mut self, text: &str) {
        if self.contains(text) {
            return;
        }
        if self.bytes + text.len() > MOST_BYTES {
            tracing::warn!("a string set has no room for {} bytes more, which are dropped", text.len());
            return;
        }
        self.bytes += text.len();
        self.strings.insert(text.to_owned());
    }

    pub(super) fn merge(&mut self, other: &StringSetValue) {
        other.iter().for_each(|text| self.add(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_there_once_and_up_to_a_size() {
        let mut set = StringSetValue::default();
        ["b", "a", "b"].iter().for_each(|text| set.add(text));
        let half = "x".repeat(600_000);
        set.add(&half);
        let mut other = StringSetValue::default();
        other.add(&"y".repeat(600_000));
        other.add("c");
        set.merge(&other);
        assert_eq!(set.iter().map(|text| &text[..1]).collect::<String>(), "abcx");
        assert!(set.contains(&half) && set.len() == 4);
    }
}
