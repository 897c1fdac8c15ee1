//! State as bytes, for checkpoints.
//!
//! What the typed kernels keep knows how to write itself, and what made it knows how to read it: [`GroupState::save`]
//! and [`GroupFactory::load_keyed_state`], and so on. Keys, values and accumulators go through serde and bincode, which
//! works for every type that has a default coder; one that has none is refused when a run with checkpoints starts.
//! Elements on their way are written by the coder of their collection.
//!
//! [`GroupState::save`]: super::GroupState::save
//! [`GroupFactory::load_keyed_state`]: super::GroupFactory::load_keyed_state

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};

use super::wire::{WireCodec, wire_codec};
use crate::{
    DoFnError, Element, Result,
    batch::{AnyBatch, Batch, ErasedBatch, Meta},
    coder::{CoderSpec, Context, bincode, default_coder},
    coder_slot::CoderSlot,
};

/// Appends `value`.
///
/// # Errors
/// When its `Serialize` fails.
pub fn put<T: Serialize + Clone + Send + Sync + DeserializeOwned + 'static>(
    value: &T,
    out: &mut Vec<u8>,
) -> Result {
    bincode::encode(value, out)
}

/// Takes a value off the front of `input`.
///
/// # Errors
/// When the bytes are none.
pub fn take<T: DeserializeOwned>(input: &mut &[u8]) -> Result<T> {
    bincode::decode(input)
}

/// Appends how many values follow.
pub(crate) fn put_len(len: usize, out: &mut Vec<u8>) -> Result {
    put(&(len as u64), out)
}

/// How many values follow.
pub(crate) fn take_len(input: &mut &[u8]) -> Result<usize> {
    Ok(usize::try_from(take::<u64>(input)?)?)
}

/// How much to make room for, where the bytes say that so many values follow: a count that lies allocates nothing.
pub(crate) fn room(len: usize, input: &[u8]) -> usize {
    len.min(input.len())
}

/// Whether values of this type can be kept in a checkpoint.
pub(crate) fn check<T: Element>(what: &str) -> Result {
    match default_coder::<T>() {
        Ok(_) => Ok(()),
        Err(e) => Err(DoFnError::msg(format!(
            "its {what} of type `{}` cannot be kept in a checkpoint: {e}. Make it a type that serde writes and reads by \
             itself, or run without checkpoints",
            std::any::type_name::<T>()
        ))),
    }
}

/// Writes and reads the batches of a collection, whose element type it knows.
pub trait BatchCodec: Send + Sync {
    /// Appends all of `batch`, which is of the collection's type.
    ///
    /// # Errors
    /// When an element does not encode.
    fn save(&self, batch: &mut dyn ErasedBatch, out: &mut Vec<u8>) -> Result;

    /// Takes a batch off the front of `input`.
    ///
    /// # Errors
    /// When the bytes are none.
    fn load(&self, input: &mut &[u8]) -> Result<AnyBatch>;

    /// What writes and reads such batches for an engine, whose coder of windowed values is `spec`.
    ///
    /// # Errors
    /// When `spec` is another coder than the collection's, length prefixes aside.
    fn wire(&self, spec: &CoderSpec) -> Result<Arc<dyn WireCodec>>;
}

impl std::fmt::Debug for dyn BatchCodec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BatchCodec")
    }
}

impl<T: Element> BatchCodec for CoderSlot<T> {
    fn save(&self, batch: &mut dyn ErasedBatch, out: &mut Vec<u8>) -> Result {
        let Some(batch) = batch.as_any().downcast_mut::<Batch<T>>() else {
            return Err(DoFnError::msg(format!("a batch is not one of `{}`", std::any::type_name::<T>())));
        };
        let coder = self.get();
        put_len(batch.values.len(), out)?;
        for value in &batch.values {
            coder.encode(value, Context::Nested, out)?;
        }
        put(&batch.meta, out)
    }

    fn load(&self, input: &mut &[u8]) -> Result<AnyBatch> {
        let coder = self.get();
        let len = take_len(input)?;
        let mut values = Vec::with_capacity(room(len, input));
        for _ in 0..len {
            values.push(coder.decode(input, Context::Nested)?);
        }
        let meta: Meta = take(input)?;
        if !meta.is_of(len) {
            return Err(DoFnError::msg(format!("a batch of {len} elements has columns of another length")));
        }
        Ok(Box::new(Batch { values, meta }))
    }

    fn wire(&self, spec: &CoderSpec) -> Result<Arc<dyn WireCodec>> {
        wire_codec(&self.get(), spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Duration, Timestamp,
        batch::{Row, WindowSet, Windows},
        window::{FixedWindows, PaneInfo, Window},
    };

    fn round_trip<T: Element>(batch: &mut Batch<T>) -> Batch<T> {
        let codec = CoderSlot::<T>::default_of_type();
        let mut bytes = b"before".to_vec();
        codec.save(batch, &mut bytes).unwrap();
        bytes.extend(b"after");
        let mut rest = &bytes[6..];
        let mut loaded = codec.load(&mut rest).unwrap();
        assert_eq!(rest, b"after");
        for end in 6..bytes.len() - 5 {
            assert!(codec.load(&mut &bytes[6..end]).is_err(), "cut at {end}");
        }
        std::mem::take(loaded.as_any().downcast_mut().unwrap())
    }

    #[test]
    fn a_batch_comes_back_with_times_windows_and_panes() {
        let at = Timestamp::from_secs;
        let sessions = WindowSet::of(&[Window::interval(at(0), at(3)), Window::interval(at(1), at(4))]);
        let mut batch = Batch::default();
        let first = Meta::constant(at(1), sessions, PaneInfo::NO_FIRING);
        let second = Meta::constant(
            at(2),
            WindowSet::One(Window::Global),
            PaneInfo { index: 3, ..PaneInfo::NO_FIRING },
        );
        batch.push("a".to_owned(), Row::of(&first, 0));
        batch.push("b".to_owned(), Row::of(&second, 0));
        let loaded = round_trip(&mut batch);
        assert_eq!(loaded.values, ["a", "b"]);
        for i in 0..2 {
            let (was, is) = (Row::of(&batch.meta, i), Row::of(&loaded.meta, i));
            assert_eq!((was.time(), was.windows(), was.pane()), (is.time(), is.windows(), is.pane()));
        }
    }

    #[test]
    fn elements_of_no_bytes_and_derived_windows() {
        let fixed = FixedWindows::of(Duration::from_secs(7)).offset(Duration::from_secs(1));
        let mut batch =
            Batch { values: vec![(); 3], meta: Meta { windows: Windows::Fixed(fixed), ..Meta::default() } };
        batch.meta.times = crate::batch::Column::Each([1, 9, 30].map(Timestamp::from_secs).to_vec());
        let loaded = round_trip(&mut batch);
        assert_eq!(loaded.len(), 3);
        assert!(matches!(loaded.meta.windows, Windows::Fixed(f) if f == fixed));
        assert_eq!(loaded.meta.times.get(2), Timestamp::from_secs(30));
    }

    #[test]
    fn columns_of_another_length_are_refused() {
        let mut batch = Batch { values: vec![1_u8, 2], meta: Meta::default() };
        batch.meta.times = crate::batch::Column::Each(vec![Timestamp::EPOCH; 3]);
        let codec = CoderSlot::<u8>::default_of_type();
        let mut bytes = Vec::new();
        codec.save(&mut batch, &mut bytes).unwrap();
        let e = codec.load(&mut &bytes[..]).unwrap_err().to_string();
        assert!(e.contains("another length"), "{e}");
    }

    #[test]
    fn a_type_that_does_not_come_back_is_told_with_the_way_out() {
        let e = check::<serde_json::Value>("accumulator").unwrap_err().to_string();
        assert!(e.contains("accumulator of type") && e.contains("without checkpoints"), "{e}");
        check::<(String, Vec<u64>)>("accumulator").unwrap();
    }
}
