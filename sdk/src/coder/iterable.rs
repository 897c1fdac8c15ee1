//! Many values behind each other, of which the last may lie elsewhere.

use std::{fmt, sync::Arc};

use super::{
    Coder, CoderError, CoderRef, CoderSpec, Context, rewrapped,
    wire::{Reader, write_count},
};

/// Where the rest of an iterable is asked for: the token that was found, and the bytes of the elements that follow.
type Fetch = Arc<dyn Fn(&[u8]) -> Result<Vec<u8>, CoderError> + Send + Sync>;

/// Instead of a block's number of elements: the rest lies behind a token.
const TOKEN: i64 = -1;

/// Writes values behind their number, each nested: what the default coder does for a `Vec`, for elements that the
/// default coder is not for.
///
/// It also reads what others write when they do not know the number: -1, and then blocks behind their own number, up
/// to a block of none. With [`state_backed`](IterableCoder::state_backed) the blocks may end in a token too.
///
/// ```
/// use purlin_sdk::coder::{IterableCoder, default_coder, from_bytes, to_bytes};
/// let coder = IterableCoder::new(default_coder::<i64>()?);
/// assert_eq!(to_bytes(&coder, &vec![1, 200])?, b"\0\0\0\x02\x01\xc8\x01");
/// assert_eq!(from_bytes(&coder, b"\xff\xff\xff\xff\x02\x01\xc8\x01\0")?, [1, 200]);
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: Beam's `IterableCoder`, `StateBackedIterable.Coder`.
pub struct IterableCoder<T> {
    of: CoderRef<T>,
    fetch: Option<Fetch>,
}

impl<T: 'static> IterableCoder<T> {
    /// The coder of many of what `of` writes.
    pub fn new(of: CoderRef<T>) -> IterableCoder<T> {
        IterableCoder { of, fetch: None }
    }

    /// The same, where the rest of what does not fit into a message lies with an engine: `fetch` gets its token and
    /// gives the bytes of the elements that follow, one behind the other. What is written here is written whole.
    ///
    /// ```
    /// use purlin_sdk::coder::{IterableCoder, default_coder, from_bytes};
    /// let coder = IterableCoder::state_backed(default_coder::<i64>()?, |token| {
    ///     assert_eq!(token, b"more");
    ///     Ok(b"\x02\x03".to_vec())
    /// });
    /// let bytes = b"\xff\xff\xff\xff\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x04more";
    /// assert_eq!(from_bytes(&coder, bytes)?, [1, 2, 3]);
    /// # Ok::<(), purlin_sdk::coder::CoderError>(())
    /// ```
    pub fn state_backed(
        of: CoderRef<T>,
        fetch: impl Fn(&[u8]) -> Result<Vec<u8>, CoderError> + Send + Sync + 'static,
    ) -> IterableCoder<T> {
        IterableCoder { of, fetch: Some(Arc::new(fetch)) }
    }

    fn block(&self, count: i64, reader: &mut Reader<'_>, out: &mut Vec<T>) -> Result<(), CoderError> {
        let Ok(count) = usize::try_from(count) else {
            return Err(reader.error(format_args!("an iterable of {count} elements")));
        };
        // Charged before the first is read: elements that take no bytes would otherwise be made for ever.
        reader.charge(count)?;
        out.reserve(count.min(reader.rest().len()));
        for _ in 0..count {
            out.push(reader.value(&*self.of, Context::Nested)?);
        }
        Ok(())
    }

    /// Reads blocks up to the last.
    fn blocks(&self, reader: &mut Reader<'_>, out: &mut Vec<T>) -> Result<(), CoderError> {
        loop {
            match reader.varint()? {
                0 => return Ok(()),
                TOKEN => {
                    let token = reader.prefixed()?;
                    let Some(fetch) = &self.fetch else {
                        return Err(reader.error(
                            "the rest of the iterable lies in the engine's state, and no such coder was declared",
                        ));
                    };
                    return self.suffix(&fetch(token)?, out);
                }
                count => self.block(count, reader, out)?,
            }
        }
    }

    fn suffix(&self, bytes: &[u8], out: &mut Vec<T>) -> Result<(), CoderError> {
        let mut reader = Reader::new(bytes);
        while !reader.rest().is_empty() {
            let before = reader.offset();
            out.push(reader.value(&*self.of, Context::Nested)?);
            if reader.offset() == before {
                return Err(reader.error("bytes behind elements that take none"));
            }
        }
        Ok(())
    }
}

impl<T: 'static> Coder<Vec<T>> for IterableCoder<T> {
    fn encode(&self, values: &Vec<T>, _: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        write_count(values.len(), out)?;
        values.iter().try_for_each(|value| self.of.encode(value, Context::Nested, out))
    }

    fn decode(&self, input: &mut &[u8], _: Context) -> Result<Vec<T>, CoderError> {
        let mut reader = Reader::new(input);
        let mut values = Vec::new();
        match i32::from_be_bytes(reader.array()?) {
            -1 => self.blocks(&mut reader, &mut values)?,
            count => self.block(i64::from(count), &mut reader, &mut values)?,
        }
        *input = reader.rest();
        Ok(values)
    }

    fn spec(&self) -> CoderSpec {
        let of = Box::new(self.of.spec());
        if self.fetch.is_some() { CoderSpec::StateBackedIterable(of) } else { CoderSpec::Iterable(of) }
    }

    fn rewrap(&self, spec: &CoderSpec) -> Result<CoderRef<Vec<T>>, CoderError> {
        match (spec, &self.fetch) {
            (CoderSpec::Iterable(of), None) | (CoderSpec::StateBackedIterable(of), Some(_)) => {
                Ok(Arc::new(IterableCoder { of: rewrapped(&self.of, of)?, fetch: self.fetch.clone() }))
            }
            _ => Err(CoderError::msg(format_args!("{} cannot be written as {spec}", self.spec()))),
        }
    }
}

impl<T> fmt::Debug for IterableCoder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IterableCoder({:?})", self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::{default_coder, from_bytes, to_bytes};

    #[test]
    fn counts_that_lie_are_refused() {
        let coder = IterableCoder::new(default_coder::<()>().unwrap());
        assert!(from_bytes(&coder, b"\x7f\xff\xff\xff").unwrap_err().to_string().contains("1073741824"));
        let e = from_bytes(&coder, b"\xff\xff\xff\xfe").unwrap_err();
        assert!(e.to_string().contains("an iterable of -2 elements"), "{e}");
        let token = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01t";
        let e = from_bytes(&coder, token).unwrap_err();
        assert!(e.to_string().contains("lies in the engine's state"), "{e}");
        let endless = IterableCoder::state_backed(default_coder::<()>().unwrap(), |_| Ok(vec![0]));
        let e = from_bytes(&endless, token).unwrap_err();
        assert!(e.to_string().contains("bytes behind elements that take none"), "{e}");
    }

    #[test]
    fn it_writes_as_the_default_coder_does() {
        let own = IterableCoder::new(default_coder::<String>().unwrap());
        let values = vec!["a".to_owned(), String::new()];
        let bytes = to_bytes(&own, &values).unwrap();
        assert_eq!(bytes, to_bytes(&*default_coder::<Vec<String>>().unwrap(), &values).unwrap());
        assert_eq!(own.spec(), default_coder::<Vec<String>>().unwrap().spec());
    }
}
