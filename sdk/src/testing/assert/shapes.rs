//! What the elements are together: maps, numbers of each, windows with what is in them.

use std::{collections::HashMap, fmt};

use super::{
    assertion::Assertion,
    check::Selected,
    multiset::{Difference, Listed},
};
use crate::{DoFnError, Element, Key, Result, window::Window};

impl<T: Element + PartialEq + fmt::Debug> Assertion<T> {
    /// Each of these is there as often as is said beside it, and nothing else is. A number of 0 says that it is not
    /// there.
    ///
    /// ```
    /// # use purlin_sdk::{Pipeline, testing::assert_that};
    /// # let p = Pipeline::new();
    /// assert_that("Letters", &p.create("Create", ["a", "b", "a"].map(str::to_owned)))
    ///     .counts([("a".to_owned(), 2), ("b".to_owned(), 1)]);
    /// ```
    pub fn counts(self, expected: impl IntoIterator<Item = (T, usize)>) {
        let expected: Vec<(T, usize)> = expected.into_iter().collect();
        self.check(move |got| check_counts(&expected, &got));
    }

    /// The elements by their windows: in each of these is what is listed beside it, in any order, and in no other
    /// window is anything. An element in several windows counts once in each. Windows without elements may be left out.
    ///
    /// ```
    /// # use purlin_sdk::{Duration, Pipeline, Timestamp, testing::assert_that, window::{FixedWindows, Window}};
    /// # let p = Pipeline::new();
    /// let at = Timestamp::from_secs;
    /// let tens = p
    ///     .create_timestamped("Create", [1, 4, 12].map(|s| (s, at(s))))
    ///     .window_into("Tens", FixedWindows::of(Duration::from_secs(10)));
    /// assert_that("Tens have", &tens).per_window([
    ///     (Window::interval(at(0), at(10)), vec![1, 4]),
    ///     (Window::interval(at(10), at(20)), vec![12]),
    /// ]);
    /// ```
    /// Source: `equal_to_per_window` of Beam's Python SDK.
    pub fn per_window<W: Into<Window>, I: IntoIterator<Item = T>>(
        self,
        expected: impl IntoIterator<Item = (W, I)>,
    ) {
        let mut windows: Vec<(Window, Vec<T>)> = Vec::new();
        for (window, values) in expected {
            let (window, values) = (window.into(), values.into_iter());
            // Listed twice, a window has all that is listed.
            match windows.iter_mut().find(|(w, _)| *w == window) {
                Some((_, listed)) => listed.extend(values),
                None => windows.push((window, values.collect())),
            }
        }
        self.check(move |got| check_windows(&windows, got));
    }
}

impl<K: Key + fmt::Debug, V: Element + PartialEq + fmt::Debug> Assertion<(K, V)> {
    /// The elements are the entries of this map: each key once, with its value.
    ///
    /// ```
    /// # use purlin_sdk::{Pipeline, testing::assert_that};
    /// # let p = Pipeline::new();
    /// let sizes = p.create("Words", ["to", "purlin"].map(str::to_owned)).key_by("Key", |w| w.len());
    /// assert_that("Sizes", &sizes).is_map([(2, "to".to_owned()), (6, "purlin".to_owned())]);
    /// ```
    /// Source: Beam's `PAssert.thatMap`.
    pub fn is_map(self, expected: impl IntoIterator<Item = (K, V)>) {
        let expected: Vec<(K, V)> = expected.into_iter().collect();
        self.check(move |got| {
            one_value_each("expected", &expected)?;
            one_value_each("got", &got.values)?;
            check_all(&expected, &got)
        });
    }

    /// The elements are the entries of this multimap: each key with these values, in any order.
    ///
    /// Source: Beam's `PAssert.thatMultimap`.
    pub fn is_multimap<I: IntoIterator<Item = V>>(self, expected: impl IntoIterator<Item = (K, I)>) {
        let entries = expected
            .into_iter()
            .flat_map(|(key, values)| values.into_iter().map(move |v| (key.clone(), v)).collect::<Vec<_>>());
        let expected: Vec<(K, V)> = entries.collect();
        self.check(move |got| check_all(&expected, &got));
    }
}

fn check_all<T: Element + PartialEq + fmt::Debug>(expected: &[T], got: &Selected<T>) -> Result {
    let difference = Difference::between(expected, &got.values, |v| got.encoding_of(v));
    if difference.is_none() { Ok(()) } else { Err(DoFnError::msg(difference)) }
}

fn one_value_each<K: Key + fmt::Debug, V: fmt::Debug>(what: &str, entries: &[(K, V)]) -> Result {
    let mut seen: HashMap<&K, &V> = HashMap::new();
    for (key, value) in entries {
        if let Some(first) = seen.insert(key, value) {
            return Err(DoFnError::msg(format!(
                "{what} the key {} twice, with {} and {}: that is no map",
                Listed(&[key]),
                Listed(&[first]),
                Listed(&[value])
            )));
        }
    }
    Ok(())
}

fn check_counts<T: Element + PartialEq + fmt::Debug>(expected: &[(T, usize)], got: &Selected<T>) -> Result {
    let mut wrong = Vec::new();
    for (i, (value, n)) in expected.iter().enumerate() {
        if expected[..i].iter().any(|(other, _)| other == value) {
            return Err(DoFnError::msg(format!("{} is listed twice", Listed(&[value]))));
        }
        let found = got.values.iter().filter(|v| *v == value).count();
        if found != *n {
            wrong.push(format!("{} {found} times and not {n}", Listed(&[value])));
        }
    }
    let others: Vec<&T> = got.values.iter().filter(|v| !expected.iter().any(|(e, _)| e == *v)).collect();
    if !others.is_empty() {
        wrong.push(format!("{} unexpected: {}", others.len(), Listed(&others)));
    }
    if wrong.is_empty() { Ok(()) } else { Err(DoFnError::msg(wrong.join("\n  "))) }
}

fn check_windows<T: Element + PartialEq + fmt::Debug>(
    expected: &[(Window, Vec<T>)],
    mut got: Selected<T>,
) -> Result {
    let mut found: Vec<(Window, Vec<T>)> = Vec::new();
    for (window, value) in got.windows.drain(..).zip(got.values.drain(..)) {
        match found.iter_mut().find(|(w, _)| *w == window) {
            Some((_, values)) => values.push(value),
            None => found.push((window, vec![value])),
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut wrong = Vec::new();
    for (window, values) in expected {
        let there = found.iter().find(|(w, _)| w == window).map_or(&[][..], |(_, v)| v);
        let difference = Difference::between(values, there, |v| got.encoding_of(v));
        if !difference.is_none() {
            wrong.push(format!("in {window}: {difference}"));
        }
    }
    for (window, values) in found.iter().filter(|(w, _)| !expected.iter().any(|(e, _)| e == w)) {
        wrong.push(format!("in {window}, where nothing is expected: {}", Listed(values)));
    }
    if wrong.is_empty() { Ok(()) } else { Err(DoFnError::msg(wrong.join("\n  "))) }
}
