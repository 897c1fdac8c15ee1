//! The laws of a [`Coder`], as functions for the tests of whoever writes one.

use std::fmt::Debug;

use crate::{
    Key,
    coder::{Coder, CoderError, Context},
};

/// How many values are put behind one another.
const ROW: usize = 3;

/// Checks a coder against its laws with these values, and returns the first that is broken, in words; `same` says
/// whether two values mean the same (a float that is no number does not equal itself).
///
/// The laws, in both [`Context`]s where nothing else is said:
/// - what was written reads back as the same value, and nothing of it is left over;
/// - a value is written the same each time, also a copy that has travelled, and behind whatever `out` holds already,
///   which is left alone;
/// - values in [`Context::Nested`] end by themselves: several behind one another come back one by one;
/// - bytes that were cut short, in [`Context::Nested`], are an error, and so is nothing at all, unless the value takes
///   no bytes; neither is a panic;
/// - values that are not the same have different encodings.
///
/// ```
/// use purlin_sdk::{coder::default_coder, testing::check_coder_laws};
/// let coder = default_coder::<(String, f64)>()?;
/// let values = [("".to_owned(), -0.0), ("a\0".to_owned(), f64::INFINITY)];
/// check_coder_laws(&*coder, &values, |a, b| a.0 == b.0 && a.1.to_bits() == b.1.to_bits()).unwrap();
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
/// Give values at the limits: nothing, empty ones, the least and the most, those that are alike. Source: Beam's
/// `CoderProperties`.
///
/// # Errors
/// When a law is broken: the value, its bytes, and what came instead.
pub fn check_coder_laws<T: Clone + Debug + 'static>(
    coder: &dyn Coder<T>,
    values: &[T],
    same: impl Fn(&T, &T) -> bool,
) -> Result<(), String> {
    for context in [Context::Outer, Context::Nested] {
        let mut written: Vec<(&T, Vec<u8>)> = Vec::new();
        for value in values {
            let bytes = check_value(coder, context, value, &same)?;
            if let Some((other, _)) = written.iter().find(|(v, b)| *b == bytes && !same(v, value)) {
                return Err(format!(
                    "{other:?} and {value:?} are not the same, and both are written as {} in {context:?}",
                    Hex(&bytes)
                ));
            }
            written.push((value, bytes));
        }
    }
    check_rows(coder, values, &same)
}

/// Checks the coder of a key: all of [`check_coder_laws`], and that **equal keys have the same encoding**, since
/// engines that know bytes only group by those. Put in values that are equal and were made in different ways (a set
/// that was filled in another order, a number with another sign of zero), if there are such.
///
/// ```
/// use purlin_sdk::{coder::default_coder, testing::check_key_coder_laws};
/// let coder = default_coder::<(String, Option<i64>)>()?;
/// check_key_coder_laws(&*coder, &[("a".to_owned(), None), ("a".to_owned(), Some(0)), ("".to_owned(), None)]).unwrap();
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// # Errors
/// When a law is broken: the values and their bytes.
pub fn check_key_coder_laws<K: Key + Debug>(coder: &dyn Coder<K>, keys: &[K]) -> Result<(), String> {
    for context in [Context::Outer, Context::Nested] {
        let encoded = keys.iter().map(|key| Ok((key, write(coder, context, key)?)));
        let encoded = encoded.collect::<Result<Vec<_>, String>>()?;
        for (i, (a, a_bytes)) in encoded.iter().enumerate() {
            if let Some((b, b_bytes)) = encoded[..i].iter().find(|(b, bytes)| b == a && bytes != a_bytes) {
                return Err(format!(
                    "the keys {b:?} and {a:?} are equal, and are written as {} and {} in {context:?}, so that they \
                     would be two groups",
                    Hex(b_bytes),
                    Hex(a_bytes)
                ));
            }
        }
    }
    check_coder_laws(coder, keys, |a, b| a == b)
}

fn write<T: Debug + 'static>(coder: &dyn Coder<T>, context: Context, value: &T) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    match coder.encode(value, context, &mut bytes) {
        Ok(()) => Ok(bytes),
        Err(e) => Err(format!("{value:?} cannot be written in {context:?}: {e}")),
    }
}

/// What is broken for one value on its own; its encoding when nothing is.
fn check_value<T: Clone + Debug + 'static>(
    coder: &dyn Coder<T>,
    context: Context,
    value: &T,
    same: &impl Fn(&T, &T) -> bool,
) -> Result<Vec<u8>, String> {
    let bytes = write(coder, context, value)?;
    let mut rest = &bytes[..];
    let back = coder
        .decode(&mut rest, context)
        .map_err(|e| format!("{value:?} does not come back from {} in {context:?}: {e}", Hex(&bytes)))?;
    if !same(value, &back) {
        return Err(format!("{value:?} comes back from {} as {back:?} in {context:?}", Hex(&bytes)));
    }
    if !rest.is_empty() {
        return Err(format!(
            "{value:?} is written as {} and read without the last {} in {context:?}",
            Hex(&bytes),
            Hex(rest)
        ));
    }
    for (what, again) in [("a second time", value.clone()), ("when it came back", back)] {
        let again = write(coder, context, &again)?;
        if again != bytes {
            return Err(format!(
                "{value:?} is written as {}, and {what} as {} in {context:?}",
                Hex(&bytes),
                Hex(&again)
            ));
        }
    }
    let mut behind = vec![0xA5, 0x5A];
    if let Err(e) = coder.encode(value, context, &mut behind) {
        return Err(format!("{value:?} cannot be written behind other bytes in {context:?}: {e}"));
    }
    if behind.strip_prefix(&[0xA5, 0x5A]) != Some(&bytes[..]) {
        return Err(format!(
            "{value:?} is written as {}, and behind the bytes A5 5A they are {} in {context:?}: append to what is there",
            Hex(&bytes),
            Hex(&behind)
        ));
    }
    if context == Context::Nested {
        check_cut(coder, value, &bytes)?;
    }
    Ok(bytes)
}

fn check_cut<T: Debug + 'static>(coder: &dyn Coder<T>, value: &T, bytes: &[u8]) -> Result<(), String> {
    for end in 0..bytes.len() {
        let cut = || coder.decode(&mut &bytes[..end], Context::Nested);
        let found: Result<Result<T, CoderError>, _> =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(cut));
        match found {
            Ok(Err(_)) => {}
            Ok(Ok(other)) => {
                return Err(format!(
                    "{value:?} is written as {}, and its first bytes {} are read as {other:?}: it does not end by \
                     itself",
                    Hex(bytes),
                    Hex(&bytes[..end])
                ));
            }
            Err(_) => {
                return Err(format!(
                    "{value:?} is written as {}, and to read its first bytes {} panics: an error is asked for",
                    Hex(bytes),
                    Hex(&bytes[..end])
                ));
            }
        }
    }
    Ok(())
}

/// Values behind one another.
fn check_rows<T: Debug + 'static>(
    coder: &dyn Coder<T>,
    values: &[T],
    same: &impl Fn(&T, &T) -> bool,
) -> Result<(), String> {
    for first in 0..values.len() {
        let row: Vec<&T> = values.iter().cycle().skip(first).take(ROW).collect();
        let mut bytes = Vec::new();
        for value in &row {
            bytes.extend(write(coder, Context::Nested, value)?);
        }
        let mut rest = &bytes[..];
        for value in &row {
            let found = coder.decode(&mut rest, Context::Nested);
            if !found.as_ref().is_ok_and(|back| same(value, back)) {
                return Err(format!(
                    "{row:?} behind one another are written as {}, and {found:?} is read in place of {value:?}",
                    Hex(&bytes)
                ));
            }
        }
    }
    Ok(())
}

/// Bytes to be read.
struct Hex<'a>(&'a [u8]);

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const MOST: usize = 40;
        f.write_str("[")?;
        for (i, byte) in self.0.iter().take(MOST).enumerate() {
            write!(f, "{}{byte:02X}", if i > 0 { " " } else { "" })?;
        }
        match self.0.len().saturating_sub(MOST) {
            0 => f.write_str("]"),
            more => write!(f, " and {more} more]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::coder::{CoderSpec, default_coder};

    /// A string with its length in a byte, and a way to break each law.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Text {
        Right,
        NoLength,
        LowerCase,
        Counting,
        LeavesOne,
        Clears,
        Indexes,
    }

    thread_local! {
        static COUNT: Cell<u8> = const { Cell::new(0) };
    }

    impl Coder<String> for Text {
        fn encode(&self, value: &String, context: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
            if *self == Text::Clears {
                out.clear();
            }
            if *self == Text::Counting {
                out.push(COUNT.with(|c| c.replace(c.get().wrapping_add(1))));
            }
            if context == Context::Nested && *self != Text::NoLength {
                out.push(value.len() as u8);
            }
            match self {
                Text::LowerCase => out.extend(value.to_lowercase().as_bytes()),
                _ => out.extend(value.as_bytes()),
            }
            if *self == Text::LeavesOne {
                out.push(0);
            }
            Ok(())
        }

        fn decode(&self, input: &mut &[u8], context: Context) -> Result<String, CoderError> {
            let short = || CoderError::msg("too short");
            if *self == Text::Counting {
                *input = input.get(1..).ok_or_else(short)?;
            }
            if *self == Text::LeavesOne && context == Context::Outer {
                let bytes = input.split_off(..input.len() - 1).unwrap();
                return Ok(String::from_utf8(bytes.to_vec()).unwrap());
            }
            let length = match context {
                Context::Nested if *self == Text::Indexes => {
                    let n = usize::from(input[0]);
                    *input = &input[1..];
                    n
                }
                Context::Nested if *self != Text::NoLength => {
                    usize::from(*input.split_off_first().ok_or_else(short)?)
                }
                _ => input.len(),
            };
            let bytes = input.split_off(..length).ok_or_else(short)?;
            String::from_utf8(bytes.to_vec()).map_err(|_| short())
        }

        fn spec(&self) -> CoderSpec {
            CoderSpec::Custom { name: "test:text".into(), parameters: String::new() }
        }
    }

    fn check(coder: Text) -> Result<(), String> {
        let values = ["", "a", "Purlin", "\0\0"].map(str::to_owned);
        check_coder_laws(&coder, &values, |a, b| a == b)
    }

    #[test]
    fn a_coder_that_is_right_obeys() {
        check(Text::Right).unwrap();
        check_key_coder_laws(&Text::Right, &["a", "b", "a"].map(str::to_owned)).unwrap();
        check_coder_laws(&*default_coder::<()>().unwrap(), &[(), ()], |a, b| a == b).unwrap();
        let numbers = [i64::MIN, -1, 0, 127, 128, i64::MAX];
        check_key_coder_laws(&*default_coder::<i64>().unwrap(), &numbers).unwrap();
        let lists = vec![vec![], vec![None], vec![Some(vec![0_u8]), None]];
        check_key_coder_laws(&*default_coder::<Vec<Option<Vec<u8>>>>().unwrap(), &lists).unwrap();
    }

    #[test]
    fn each_broken_law_is_found() {
        for (coder, words) in [
            (Text::NoLength, "does not end by itself"),
            (Text::LowerCase, "\"Purlin\" comes back from"),
            (Text::Counting, "a second time as"),
            (Text::LeavesOne, "and read without the last [00]"),
            (Text::Clears, "append to what is there"),
            (Text::Indexes, "panics"),
        ] {
            let said = check(coder).unwrap_err();
            assert!(said.contains(words), "{coder:?}: {said}");
        }
    }

    /// Writes the last digit only; `same` below does not look at more either when it is asked what came back.
    #[test]
    fn values_that_differ_and_are_written_alike_are_found() {
        #[derive(Debug)]
        struct LastDigit;
        impl Coder<u64> for LastDigit {
            fn encode(&self, value: &u64, _: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
                out.push((value % 10) as u8);
                Ok(())
            }
            fn decode(&self, input: &mut &[u8], _: Context) -> Result<u64, CoderError> {
                let byte = input.split_off_first().ok_or_else(|| CoderError::msg("too short"))?;
                Ok(u64::from(*byte))
            }
            fn spec(&self) -> CoderSpec {
                CoderSpec::Custom { name: "test:digit".into(), parameters: String::new() }
            }
        }
        let same = |a: &u64, b: &u64| a == b || *a.min(b) < 10 && a % 10 == b % 10;
        let said = check_coder_laws(&LastDigit, &[11, 12, 21], same).unwrap_err();
        assert!(said.starts_with("11 and 21 are not the same, and both are written as [01]"), "{said}");
    }

    #[derive(Clone, Debug, Serialize, Deserialize)]
    struct Name(String);

    impl PartialEq for Name {
        fn eq(&self, other: &Name) -> bool {
            self.0.eq_ignore_ascii_case(&other.0)
        }
    }

    impl Eq for Name {}

    impl std::hash::Hash for Name {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            self.0.to_ascii_lowercase().hash(state);
        }
    }

    #[test]
    fn equal_keys_that_are_written_differently_are_found() {
        let coder = default_coder::<Name>().unwrap();
        let said =
            check_key_coder_laws(&*coder, &[Name("Ann".into()), Name("Bob".into()), Name("ann".into())])
                .unwrap_err();
        assert!(said.contains("two groups") && said.contains("Ann") && said.contains("ann"), "{said}");
        check_coder_laws(&*coder, &[Name("Ann".into()), Name("ann".into())], |a, b| a == b).unwrap();
    }
}
