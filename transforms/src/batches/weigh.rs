//! How many bytes a value has.

use std::{fmt, sync::Arc};

use purlin_sdk::{
    Element, Result,
    coder::{Coder, Context, default_coder},
};

/// What a value counts for in a batch.
pub(super) type WeighBy<V> = Arc<dyn Fn(&V) -> Result<u64> + Send + Sync>;

/// Says how many bytes a value has, for [`GroupIntoBatches`](crate::GroupIntoBatches): [`EncodedSize`] or
/// [`ByteSizeBy`].
pub trait Weigh<V>: sealed::Sealed {
    /// A function that says it; without a coder that it would need, why there is none.
    #[doc(hidden)]
    fn ready(self) -> std::result::Result<WeighBy<V>, String>;
}

/// As many as the type's default coder writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncodedSize;

impl<V: Element> Weigh<V> for EncodedSize {
    fn ready(self) -> std::result::Result<WeighBy<V>, String> {
        let coder = default_coder::<V>().map_err(|e| e.to_string())?;
        Ok(Arc::new(move |value| {
            let mut bytes = Vec::new();
            coder.encode(value, Context::Outer, &mut bytes)?;
            Ok(bytes.len() as u64)
        }))
    }
}

/// As many as a closure says, see [`GroupIntoBatches::with_byte_size_by`](crate::GroupIntoBatches::with_byte_size_by).
#[derive(Clone, Copy)]
pub struct ByteSizeBy<F>(pub(super) F);

impl<V, F: Fn(&V) -> u64 + Clone + Send + Sync + 'static> Weigh<V> for ByteSizeBy<F> {
    fn ready(self) -> std::result::Result<WeighBy<V>, String> {
        Ok(Arc::new(move |value| Ok((self.0)(value))))
    }
}

impl<F> fmt::Debug for ByteSizeBy<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteSizeBy")
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::EncodedSize {}
    impl<F> Sealed for super::ByteSizeBy<F> {}
}
