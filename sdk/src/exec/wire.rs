//! Batches as the bytes that an engine sends and takes.
//!
//! On Beam's data plane a collection is windowed values, one behind the other, in the form of a tree of coders that the
//! engine gives: the collection's own, with length prefixes where the engine put them. A [`BatchCodec`] knows the
//! element type and makes the [`WireCodec`] for such a tree.
//!
//! [`BatchCodec`]: super::BatchCodec

use std::sync::Arc;

use crate::{
    DoFnError, Element, Result,
    batch::{AnyBatch, Batch, Column, ErasedBatch, Meta, Row, WindowSet, Windows},
    coder::{
        Coder, CoderRef, CoderSpec, Context, ParamWindowedValueCoder, WindowedValue, WindowedValueCoder,
        rewrapped,
    },
    window::ValueKind,
};

/// Writes and reads the elements of a collection as an engine has them, with timestamps, windows and panes.
pub trait WireCodec: Send + Sync {
    /// An empty batch of the collection's type.
    fn batch(&self) -> AnyBatch;

    /// Takes all of `batch` and appends it to `out`. After each element `border` is called, which may take what is
    /// there.
    ///
    /// # Errors
    /// When an element does not encode, or is a retraction, which the wire has no word for; and those of `border`.
    fn write(
        &self,
        batch: &mut dyn ErasedBatch,
        out: &mut Vec<u8>,
        border: &mut dyn FnMut(&mut Vec<u8>) -> Result,
    ) -> Result;

    /// Takes up to `most` elements off the front of `input`.
    ///
    /// # Errors
    /// When the bytes are no such elements.
    fn read(&self, input: &mut &[u8], most: usize) -> Result<AnyBatch>;
}

impl std::fmt::Debug for dyn WireCodec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WireCodec")
    }
}

/// What writes the elements that `coder` is for as `spec` says, which is a coder of windowed values.
pub(crate) fn wire_codec<T: Element>(coder: &CoderRef<T>, spec: &CoderSpec) -> Result<Arc<dyn WireCodec>> {
    match spec {
        CoderSpec::WindowedValue(value, window) => {
            let value = rewrapped(coder, value)?;
            Ok(Arc::new(Full(WindowedValueCoder::new(value, (**window).clone())?)))
        }
        CoderSpec::ParamWindowedValue { value, window, constant } => {
            let value = rewrapped(coder, value)?;
            let all = ParamWindowedValueCoder::from_payload(value.clone(), (**window).clone(), constant)?;
            Ok(Arc::new(Constant { value, all }))
        }
        other => Err(DoFnError::msg(format!("{other} is no coder of windowed values"))),
    }
}

/// Each element with its own timestamp, windows and pane.
struct Full<T>(WindowedValueCoder<T>);

/// All elements with the same.
struct Constant<T> {
    value: CoderRef<T>,
    all: ParamWindowedValueCoder<T>,
}

fn typed<T: Element>(batch: &mut dyn ErasedBatch) -> Result<&mut Batch<T>> {
    match batch.as_any().downcast_mut::<Batch<T>>() {
        Some(batch) => Ok(batch),
        None => Err(DoFnError::msg(format!("a batch is not one of `{}`", std::any::type_name::<T>()))),
    }
}

fn read<T: Element>(coder: &dyn Coder<WindowedValue<T>>, input: &mut &[u8], most: usize) -> Result<AnyBatch> {
    let mut batch = Batch::<T>::default();
    let mut place = Meta::default();
    while batch.len() < most && !input.is_empty() {
        let before = input.len();
        let WindowedValue { value, timestamp, windows, pane } = coder.decode(input, Context::Nested)?;
        if input.len() == before {
            let what =
                "elements that take no bytes cannot be told apart; the engine must put a length before them";
            return Err(DoFnError::msg(what));
        }
        place.times = Column::Const(timestamp);
        place.panes = Column::Const(pane.into());
        if !matches!(&place.windows, Windows::Const(set) if set.as_slice() == windows) {
            place.windows = Windows::Const(WindowSet::of(&windows));
        }
        batch.push(value, Row::of(&place, 0));
    }
    Ok(Box::new(batch))
}

impl<T: Element> WireCodec for Full<T> {
    fn batch(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }

    fn write(
        &self,
        batch: &mut dyn ErasedBatch,
        out: &mut Vec<u8>,
        border: &mut dyn FnMut(&mut Vec<u8>) -> Result,
    ) -> Result {
        let Batch { values, meta } = typed::<T>(batch)?;
        for (i, value) in values.iter().enumerate() {
            let row = Row::of(meta, i);
            if row.kind() != ValueKind::Insert {
                let what =
                    format!("an element is {:?}, and what travels between stages is added only", row.kind());
                return Err(DoFnError::msg(what));
            }
            let windows = row.windows();
            self.0.encode_parts(value, row.time(), windows.as_slice(), row.pane(), Context::Nested, out)?;
            border(out)?;
        }
        values.clear();
        meta.clear();
        Ok(())
    }

    fn read(&self, input: &mut &[u8], most: usize) -> Result<AnyBatch> {
        read(&self.0, input, most)
    }
}

impl<T: Element> WireCodec for Constant<T> {
    fn batch(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }

    fn write(
        &self,
        batch: &mut dyn ErasedBatch,
        out: &mut Vec<u8>,
        border: &mut dyn FnMut(&mut Vec<u8>) -> Result,
    ) -> Result {
        let batch = typed::<T>(batch)?;
        for value in &batch.values {
            self.value.encode(value, Context::Nested, out)?;
            border(out)?;
        }
        batch.clear();
        Ok(())
    }

    fn read(&self, input: &mut &[u8], most: usize) -> Result<AnyBatch> {
        read(&self.all, input, most)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Timestamp,
        coder::{default_coder, from_bytes},
        window::{PaneInfo, PaneTiming, Window},
    };

    type Value = (String, Vec<Option<i64>>);

    fn prefixed(of: CoderSpec) -> Box<CoderSpec> {
        Box::new(CoderSpec::LengthPrefix(Box::new(of)))
    }

    /// The coder of `Value` with prefixes where the bits of `at` say so.
    fn tree(at: u8) -> CoderSpec {
        let or = |bit: u8, spec: CoderSpec| {
            if at & (1 << bit) == 0 { Box::new(spec) } else { prefixed(spec) }
        };
        let item = CoderSpec::Nullable(or(3, CoderSpec::VarInt));
        let kv = CoderSpec::Kv(or(0, CoderSpec::StringUtf8), or(1, CoderSpec::Iterable(or(2, item))));
        *or(4, kv)
    }

    fn rows() -> impl Strategy<Value = Vec<WindowedValue<Value>>> {
        let at = |ms: i64| Timestamp::saturating_from_millis(ms);
        let window = (-1_000_000_i64..1_000_000, 0_i64..100_000)
            .prop_map(move |(end, span)| Window::interval(at(end - span), at(end)));
        let timing = prop_oneof![
            Just(PaneTiming::Early),
            Just(PaneTiming::OnTime),
            Just(PaneTiming::Late),
            Just(PaneTiming::Unknown)
        ];
        let pane = (any::<bool>(), any::<bool>(), timing, 0_i64..300, -1_i64..300).prop_map(
            |(is_first, is_last, timing, index, on_time_index)| PaneInfo {
                is_first,
                is_last,
                timing,
                index,
                on_time_index,
            },
        );
        let value = ("[a-z]{0,5}", proptest::collection::vec(any::<Option<i64>>(), 0..4));
        let row = (value, any::<i64>(), proptest::collection::vec(window, 0..3), pane).prop_map(
            move |(value, ms, windows, pane)| WindowedValue { value, timestamp: at(ms), windows, pane },
        );
        proptest::collection::vec(row, 0..12)
    }

    fn batch_of(rows: &[WindowedValue<Value>]) -> Batch<Value> {
        let mut batch = Batch::default();
        for row in rows {
            let meta = Meta::constant(row.timestamp, WindowSet::of(&row.windows), row.pane);
            batch.push(row.value.clone(), Row::of(&meta, 0));
        }
        batch
    }

    fn rows_of(batch: &mut AnyBatch) -> Vec<WindowedValue<Value>> {
        let Batch { values, meta } = typed::<Value>(&mut **batch).unwrap();
        let row = |(i, value): (usize, &Value)| {
            let row = Row::of(meta, i);
            let windows = row.windows().as_slice().to_vec();
            WindowedValue { value: value.clone(), timestamp: row.time(), windows, pane: row.pane() }
        };
        values.iter().enumerate().map(row).collect()
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_the_windowed_coder_reads(rows in rows(), at in 0_u8..32, most in 1_usize..5) {
            let own = default_coder::<Value>().unwrap();
            let value = tree(at);
            let spec = CoderSpec::WindowedValue(Box::new(value.clone()), Box::new(CoderSpec::IntervalWindow));
            let wire = wire_codec(&own, &spec).unwrap();
            let (mut out, mut each) = (Vec::new(), Vec::new());
            let mut batch = batch_of(&rows);
            wire.write(&mut batch, &mut out, &mut |bytes| {
                each.push(std::mem::take(bytes));
                Ok(())
            }).unwrap();
            prop_assert!(batch.is_empty() && out.is_empty() && each.len() == rows.len());
            // One by one, by the coder of windowed values; a nested value ends by itself, so the outer form is the same
            // for all but bytes and text.
            let one = WindowedValueCoder::new(rewrapped(&own, &value).unwrap(), CoderSpec::IntervalWindow).unwrap();
            for (bytes, row) in each.iter().zip(&rows) {
                prop_assert_eq!(&from_bytes(&one, bytes).unwrap(), row);
            }
            let bytes = each.concat();
            let mut rest = &bytes[..];
            let mut back = Vec::new();
            while !rest.is_empty() {
                let mut batch = wire.read(&mut rest, most).unwrap();
                prop_assert!(batch.len() <= most);
                back.extend(rows_of(&mut batch));
            }
            prop_assert_eq!(back, rows);
            for cut in 1..each.last().map_or(1, Vec::len) {
                let mut short = &bytes[..bytes.len() - cut];
                prop_assert!(wire.read(&mut short, usize::MAX).is_err());
            }
        }
    }

    #[test]
    fn elements_with_one_place_for_all_are_values_alone() {
        let constant = b"\x80\0\0\0\0\0\x03\xe8\0\0\0\x01\x80\0\0\0\0\0\0\x14\n\x0f\0".to_vec();
        let spec = CoderSpec::ParamWindowedValue {
            value: prefixed(CoderSpec::VarInt),
            window: Box::new(CoderSpec::IntervalWindow),
            constant,
        };
        let wire = wire_codec(&default_coder::<i64>().unwrap(), &spec).unwrap();
        let mut batch = wire.read(&mut &b"\x01\x07\x02\xc8\x01"[..], 9).unwrap();
        let (mut out, typed) = (Vec::new(), typed::<i64>(&mut *batch).unwrap());
        assert_eq!(
            (&typed.values[..], Row::of(&typed.meta, 1).time()),
            (&[7, 200][..], Timestamp::from_secs(1))
        );
        wire.write(typed, &mut out, &mut |_| Ok(())).unwrap();
        assert_eq!(out, b"\x01\x07\x02\xc8\x01");
    }

    #[test]
    fn what_cannot_be_told_is_told() {
        let own = default_coder::<()>().unwrap();
        let e = wire_codec(&own, &CoderSpec::Unit).unwrap_err().to_string();
        assert!(e.contains("no coder of windowed values"), "{e}");
        let spec = CoderSpec::ParamWindowedValue {
            value: Box::new(CoderSpec::Unit),
            window: Box::new(CoderSpec::GlobalWindow),
            constant: b"\x80\0\0\0\0\0\0\0\0\0\0\x01\x0f\0".to_vec(),
        };
        let e = wire_codec(&own, &spec).unwrap().read(&mut &b"x"[..], 3).unwrap_err().to_string();
        assert!(e.contains("take no bytes"), "{e}");
        let spec = CoderSpec::WindowedValue(Box::new(CoderSpec::Unit), Box::new(CoderSpec::GlobalWindow));
        let mut batch = Batch { values: vec![()], meta: Meta::default() };
        let row = Meta::default();
        batch.push((), Row { kind: Some(ValueKind::Delete), ..Row::of(&row, 0) });
        let e =
            wire_codec(&own, &spec).unwrap().write(&mut batch, &mut Vec::new(), &mut |_| Ok(())).unwrap_err();
        assert!(e.to_string().contains("added only"), "{e}");
    }
}
