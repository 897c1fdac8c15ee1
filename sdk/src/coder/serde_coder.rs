//! The coder of every element that is given no other.

use std::{any::type_name, fmt, marker::PhantomData, sync::Arc};

use super::{
    Coder, CoderError, CoderRef, CoderSpec, Context, de::decode_node, ser::encode_node, trace::trace,
    wire::Reader,
};
use crate::Element;

/// Writes `T` by its serde implementations, as a tree of coders says.
///
/// One value decodes to 2^30 bytes and elements at most, and in a leaf values lie at most 256 deep in each other (an
/// `Option`, a sequence, a struct or an enum each count as one): bytes that say more are taken to be broken. A type
/// that nests without bound, such as a linked list, is better written as a `Vec`.
///
/// ```
/// use purlin_sdk::coder::{SerdeCoder, from_bytes, to_bytes};
/// let coder = SerdeCoder::<(String, Option<i64>)>::of()?;
/// let bytes = to_bytes(&coder, &("a".to_owned(), Some(2)))?;
/// assert_eq!(bytes, b"\x01a\x01\x02");
/// assert_eq!(from_bytes(&coder, &bytes)?.1, Some(2));
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
pub struct SerdeCoder<T> {
    spec: CoderSpec,
    values: PhantomData<fn() -> T>,
}

impl<T: Element> SerdeCoder<T> {
    /// The coder with the tree that [`trace`] finds.
    ///
    /// # Errors
    /// As [`trace`].
    pub fn of() -> Result<SerdeCoder<T>, CoderError> {
        Ok(SerdeCoder { spec: trace::<T>()?, values: PhantomData })
    }

    /// The coder with a tree that is known to be the type's.
    pub(super) fn written_as(spec: CoderSpec) -> SerdeCoder<T> {
        SerdeCoder { spec, values: PhantomData }
    }

    /// The coder with a tree that an engine sent back: the traced one, but for length prefixes.
    ///
    /// ```
    /// use purlin_sdk::coder::{CoderSpec, SerdeCoder, to_bytes};
    /// let text = CoderSpec::LengthPrefix(Box::new(CoderSpec::StringUtf8));
    /// let coder = SerdeCoder::<(String, i64)>::with_spec(CoderSpec::Kv(Box::new(text), Box::new(CoderSpec::VarInt)))?;
    /// // A string in its outer form, behind the prefix's length; the key of a pair alone would look the same.
    /// assert_eq!(to_bytes(&coder, &("the".to_owned(), 1))?, b"\x03the\x01");
    /// # Ok::<(), purlin_sdk::coder::CoderError>(())
    /// ```
    ///
    /// # Errors
    /// As [`trace`], and when the tree is another than the type's.
    pub fn with_spec(spec: CoderSpec) -> Result<SerdeCoder<T>, CoderError> {
        let own = trace::<T>()?;
        if !own.fits(&spec) {
            return Err(CoderError::msg(format_args!(
                "`{}` is written by {own}, which {spec} does not fit",
                type_name::<T>()
            )));
        }
        Ok(SerdeCoder { spec, values: PhantomData })
    }
}

impl<T: Element> Coder<T> for SerdeCoder<T> {
    fn encode(&self, value: &T, context: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        let before = out.len();
        encode_node(&self.spec, context, value, out).map_err(|e| {
            out.truncate(before);
            e.writing::<T>()
        })
    }

    fn decode(&self, input: &mut &[u8], context: Context) -> Result<T, CoderError> {
        let mut reader = Reader::new(input);
        match decode_node(&self.spec, context, &mut reader, PhantomData::<T>) {
            Ok(value) => {
                *input = reader.rest();
                Ok(value)
            }
            Err(e) => Err(e.at(reader.offset()).reading::<T>()),
        }
    }

    fn spec(&self) -> CoderSpec {
        self.spec.clone()
    }

    fn rewrap(&self, spec: &CoderSpec) -> Result<CoderRef<T>, CoderError> {
        if !self.spec.fits(spec) {
            return Err(CoderError::msg(format_args!("{} cannot be written as {spec}", self.spec)));
        }
        Ok(Arc::new(SerdeCoder { spec: spec.clone(), values: PhantomData }))
    }
}

impl<T> fmt::Debug for SerdeCoder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SerdeCoder({})", self.spec)
    }
}
