//! Elements with restrictions, as engines have them.

use std::{fmt, marker::PhantomData, sync::Arc};

use super::SdfElement;
use crate::{
    Element, Timestamp,
    coder::{Coder, CoderError, CoderRef, CoderSpec, Context, KvCoder, default_coder, rewrapped},
    exec::save::{put, take},
};

type Pair<I> = (I, Vec<u8>);
type SizedPair<I> = (Pair<I>, f64);

/// An element beside its restriction, or both beside their size. The restriction is bytes, in which everything lies that
/// work goes on with: only this SDK looks into them.
pub(super) struct ItemCoder<I, R, S> {
    pair: CoderRef<Pair<I>>,
    form: Form<I>,
    rest: PhantomData<fn() -> (R, S)>,
}

enum Form<I> {
    Paired(CoderRef<Pair<I>>),
    Sized(CoderRef<SizedPair<I>>),
}

/// What the bytes of a restriction hold.
type Rest<R, S> = (R, S, Timestamp, Timestamp, bool);

impl<I: Element, R: Element, S: Element> ItemCoder<I, R, S> {
    /// The coder with sizes, of elements that `element` writes.
    pub(super) fn new(element: CoderRef<I>) -> Result<ItemCoder<I, R, S>, CoderError> {
        let pair: CoderRef<Pair<I>> = Arc::new(KvCoder::new(element, default_coder()?));
        let form = Form::Sized(sized(&pair)?);
        Ok(ItemCoder { pair, form, rest: PhantomData })
    }
}

fn sized<I: Element>(pair: &CoderRef<Pair<I>>) -> Result<CoderRef<SizedPair<I>>, CoderError> {
    Ok(Arc::new(KvCoder::new(pair.clone(), default_coder()?)))
}

impl<I: Element, R: Element, S: Element> Coder<SdfElement<I, R, S>> for ItemCoder<I, R, S> {
    fn encode(
        &self,
        item: &SdfElement<I, R, S>,
        context: Context,
        out: &mut Vec<u8>,
    ) -> Result<(), CoderError> {
        let rest: Rest<R, S> =
            (item.restriction.clone(), item.state.clone(), item.watermark, item.estimated, item.truncated);
        let mut bytes = Vec::new();
        put(&rest, &mut bytes).map_err(CoderError::msg)?;
        let pair = (item.element.clone(), bytes);
        match &self.form {
            Form::Paired(coder) => coder.encode(&pair, context, out),
            Form::Sized(coder) => coder.encode(&(pair, item.size), context, out),
        }
    }

    fn decode(&self, input: &mut &[u8], context: Context) -> Result<SdfElement<I, R, S>, CoderError> {
        let ((element, bytes), size) = match &self.form {
            Form::Paired(coder) => (coder.decode(input, context)?, 0.0),
            Form::Sized(coder) => coder.decode(input, context)?,
        };
        let mut left = &bytes[..];
        let (restriction, state, watermark, estimated, truncated): Rest<R, S> =
            take(&mut left).map_err(CoderError::msg)?;
        if !left.is_empty() {
            return Err(CoderError::msg(format_args!("{} bytes too many in a restriction", left.len())));
        }
        Ok(SdfElement { element, restriction, state, size, watermark, estimated, truncated })
    }

    fn spec(&self) -> CoderSpec {
        match &self.form {
            Form::Paired(coder) => coder.spec(),
            Form::Sized(coder) => coder.spec(),
        }
    }

    fn rewrap(&self, spec: &CoderSpec) -> Result<CoderRef<SdfElement<I, R, S>>, CoderError> {
        let form = match is_sized(spec) {
            true => Form::Sized(rewrapped(&sized(&self.pair)?, spec)?),
            false => Form::Paired(rewrapped(&self.pair, spec)?),
        };
        Ok(Arc::new(ItemCoder::<I, R, S> { pair: self.pair.clone(), form, rest: PhantomData }))
    }
}

impl<I, R, S> fmt::Debug for ItemCoder<I, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ItemCoder({:?})", self.pair)
    }
}

/// Whether the second part of a pair is a size.
fn is_sized(spec: &CoderSpec) -> bool {
    match spec {
        CoderSpec::LengthPrefix(of) => is_sized(of),
        CoderSpec::Kv(_, size) => is_double(size),
        _ => false,
    }
}

fn is_double(spec: &CoderSpec) -> bool {
    match spec {
        CoderSpec::LengthPrefix(of) => is_double(of),
        spec => matches!(spec, CoderSpec::Double),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        batch::{Batch, Meta},
        coder::{from_bytes, to_bytes},
        exec::wire::wire_codec,
    };

    type Item = SdfElement<String, (u64, u64), i64>;

    fn item() -> Item {
        SdfElement {
            element: "e".to_owned(),
            restriction: (3, 9),
            state: -7,
            size: 6.0,
            watermark: Timestamp::EPOCH,
            estimated: Timestamp::from_secs(1),
            truncated: true,
        }
    }

    fn coder() -> CoderRef<Item> {
        Arc::new(ItemCoder::new(default_coder::<String>().unwrap()).unwrap())
    }

    #[test]
    fn an_item_is_an_element_with_opaque_bytes_and_a_size() {
        assert_eq!(coder().spec().to_string(), "kv<kv<string_utf8, bytes>, double>");
        let bytes = to_bytes(&*coder(), &item()).unwrap();
        let ((element, _), size) =
            from_bytes(&*default_coder::<((String, Vec<u8>), f64)>().unwrap(), &bytes).unwrap();
        assert_eq!((&*element, size), ("e", 6.0));
        let back = from_bytes(&*coder(), &bytes).unwrap();
        assert_eq!(format!("{back:?}"), format!("{:?}", item()));
    }

    #[test]
    fn it_takes_both_forms_with_prefixes() {
        let prefixed = |of| Box::new(CoderSpec::LengthPrefix(Box::new(of)));
        let pair = CoderSpec::Kv(prefixed(CoderSpec::StringUtf8), prefixed(CoderSpec::Bytes));
        for (value, size) in [
            (pair.clone(), 0.0),
            (CoderSpec::Kv(prefixed(pair.clone()), Box::new(CoderSpec::Double)), 6.0),
            (
                CoderSpec::LengthPrefix(prefixed(CoderSpec::Kv(Box::new(pair), prefixed(CoderSpec::Double)))),
                6.0,
            ),
        ] {
            let spec = CoderSpec::WindowedValue(Box::new(value), Box::new(CoderSpec::GlobalWindow));
            let wire = wire_codec(&coder(), &spec).unwrap();
            let mut bytes = Vec::new();
            let mut batch = Batch { values: vec![item(), item()], meta: Meta::default() };
            wire.write(&mut batch, &mut bytes, &mut |_| Ok(())).unwrap();
            let mut back = wire.read(&mut &bytes[..], 9).unwrap();
            let back = back.as_any().downcast_mut::<Batch<Item>>().unwrap();
            assert_eq!(format!("{:?}", back.values[1]), format!("{:?}", Item { size, ..item() }), "{spec}");
        }
        let spec = CoderSpec::WindowedValue(Box::new(CoderSpec::VarInt), Box::new(CoderSpec::GlobalWindow));
        assert!(wire_codec(&coder(), &spec).is_err());
    }
}
