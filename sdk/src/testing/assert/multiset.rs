//! What two collections do not have in common.

use std::{collections::HashMap, fmt};

/// Elements that are only in one of two collections, each as often as it is there more.
pub(in crate::testing) struct Difference<'a, T> {
    expected: &'a [T],
    got: &'a [T],
    missing: Vec<&'a T>,
    unexpected: Vec<&'a T>,
}

impl<'a, T: PartialEq> Difference<'a, T> {
    /// Compares by `==`. `encode` is equal for most values that are equal: with it, many elements do not take the
    /// square of their number.
    pub(in crate::testing) fn between(
        expected: &'a [T],
        got: &'a [T],
        encode: impl Fn(&T) -> Option<Vec<u8>>,
    ) -> Difference<'a, T> {
        let mut by_encoding: HashMap<Option<Vec<u8>>, Vec<usize>> = HashMap::new();
        for (i, value) in expected.iter().enumerate() {
            by_encoding.entry(encode(value)).or_default().push(i);
        }
        let mut left: Vec<Option<&T>> = expected.iter().map(Some).collect();
        let mut unmatched = Vec::new();
        for value in got {
            let alike = by_encoding.get_mut(&encode(value));
            // From the back: equal elements are mostly taken in one step.
            let found = alike.and_then(|indices| {
                let at = indices.iter().rposition(|i| expected[*i] == *value)?;
                Some(indices.swap_remove(at))
            });
            match found {
                Some(i) => left[i] = None,
                None => unmatched.push(value),
            }
        }
        let mut missing: Vec<&T> = left.into_iter().flatten().collect();
        // Equal values whose encodings differ, as those of hash maps do.
        let unexpected = unmatched.into_iter().filter(|value| {
            let found = missing.iter().position(|m| *m == *value);
            found.map(|i| missing.remove(i)).is_none()
        });
        let unexpected = unexpected.collect();
        Difference { expected, got, missing, unexpected }
    }

    /// Whether there is none.
    pub(in crate::testing) fn is_none(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty()
    }
}

impl<T: fmt::Debug> fmt::Display for Difference<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { expected, got, missing, unexpected } = self;
        write!(f, "{} missing, {} unexpected", missing.len(), unexpected.len())?;
        if !missing.is_empty() {
            write!(f, "\n  missing:    {}", Listed(missing))?;
        }
        if !unexpected.is_empty() {
            write!(f, "\n  unexpected: {}", Listed(unexpected))?;
        }
        write!(f, "\n  expected:   {}", Listed(expected))?;
        write!(f, "\n  got:        {}", Listed(got))
    }
}

/// Writes a list that may be long, and elements that may be.
pub(super) struct Listed<'a, T>(pub(super) &'a [T]);

impl<T: fmt::Debug> fmt::Display for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ELEMENTS: usize = 20;
        const LETTERS: usize = 200;
        f.write_str("[")?;
        for (i, value) in self.0.iter().take(ELEMENTS).enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            let text = format!("{value:?}");
            match text.char_indices().nth(LETTERS) {
                Some((end, _)) => write!(f, "{}...", &text[..end])?,
                None => f.write_str(&text)?,
            }
        }
        match self.0.len().saturating_sub(ELEMENTS) {
            0 => f.write_str("]"),
            more => write!(f, ", and {more} more]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference<'a, T: PartialEq + fmt::Debug>(expected: &'a [T], got: &'a [T]) -> Difference<'a, T> {
        let by_text = Difference::between(expected, got, |v| Some(format!("{v:?}").into_bytes()));
        let by_value = Difference::between(expected, got, |_| None);
        assert_eq!(by_text.missing, by_value.missing);
        assert_eq!(by_text.unexpected, by_value.unexpected);
        by_text
    }

    #[test]
    fn elements_count_as_often_as_they_are_there() {
        let found = difference(&[1, 2, 2, 3], &[2, 1, 4, 4]);
        assert_eq!(found.missing, [&2, &3]);
        assert_eq!(found.unexpected, [&4, &4]);
        assert!(difference(&[1, 1, 2], &[2, 1, 1]).is_none());
        assert!(difference::<u8>(&[], &[]).is_none());
    }

    #[test]
    fn what_does_not_equal_itself_is_both_missing_and_unexpected() {
        let (expected, got) = ([f64::NAN], [f64::NAN]);
        let found = Difference::between(&expected, &got, |v| Some(v.to_le_bytes().to_vec()));
        assert_eq!((found.missing.len(), found.unexpected.len()), (1, 1));
    }

    #[test]
    fn equal_values_with_other_encodings_match() {
        // Positive and negative zero are equal, and encode otherwise.
        let found = Difference::between(&[0.0, 1.0], &[1.0, -0.0], |v: &f64| Some(v.to_le_bytes().to_vec()));
        assert!(found.is_none());
    }

    #[test]
    fn the_text_has_a_bounded_length() {
        let many: Vec<String> = (0..1000).map(|i| format!("{i}").repeat(1000)).collect();
        let text = difference(&many, &[]).to_string();
        assert!(text.contains("1000 missing, 0 unexpected") && text.contains("and 980 more"), "{text}");
        assert!(text.len() < 10_000, "{}", text.len());
        assert_eq!(Listed(&['ä', 'b']).to_string(), "['ä', 'b']");
    }
}
