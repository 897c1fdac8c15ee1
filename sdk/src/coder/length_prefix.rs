//! Values behind their length.

use std::{fmt, sync::Arc};

use super::{
    Coder, CoderError, CoderRef, CoderSpec, Context, rewrapped,
    wire::{Prefix, Reader},
};

/// Writes a value in its outer form behind its length in bytes, so that who does not know its coder can step over it.
///
/// ```
/// use purlin_sdk::coder::{LengthPrefixCoder, default_coder, to_bytes};
/// let coder = LengthPrefixCoder::new(default_coder::<i64>()?);
/// assert_eq!(to_bytes(&coder, &200)?, b"\x02\xc8\x01");
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: Beam's `LengthPrefixCoder`.
pub struct LengthPrefixCoder<T> {
    value: CoderRef<T>,
}

impl<T: 'static> LengthPrefixCoder<T> {
    /// The coder of what `value` writes, behind its length.
    pub fn new(value: CoderRef<T>) -> LengthPrefixCoder<T> {
        LengthPrefixCoder { value }
    }
}

impl<T: 'static> Coder<T> for LengthPrefixCoder<T> {
    fn encode(&self, value: &T, _: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        let prefix = Prefix::begin(0, out);
        self.value.encode(value, Context::Outer, out)?;
        prefix.end(out);
        Ok(())
    }

    fn decode(&self, input: &mut &[u8], _: Context) -> Result<T, CoderError> {
        let mut reader = Reader::new(input);
        let value = reader.within(|inner| inner.value(&*self.value, Context::Outer))?;
        *input = reader.rest();
        Ok(value)
    }

    fn spec(&self) -> CoderSpec {
        CoderSpec::LengthPrefix(Box::new(self.value.spec()))
    }

    fn rewrap(&self, spec: &CoderSpec) -> Result<CoderRef<T>, CoderError> {
        let CoderSpec::LengthPrefix(of) = spec else {
            return Err(CoderError::msg(format_args!("{} cannot be written as {spec}", self.spec())));
        };
        Ok(Arc::new(LengthPrefixCoder::new(rewrapped(&self.value, of)?)))
    }
}

impl<T> fmt::Debug for LengthPrefixCoder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LengthPrefixCoder({:?})", self.value)
    }
}
