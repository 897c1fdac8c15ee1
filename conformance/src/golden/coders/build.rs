//! Coders of values of cases, made of the SDK's own.

use std::{collections::BTreeMap, fmt, sync::Arc};

use purlin_sdk::{
    Element,
    coder::{
        Coder, CoderError, CoderRef, CoderSpec, Context, IterableCoder, KvCoder, LengthPrefixCoder,
        NullableCoder, ParamWindowedValueCoder, RowCoder, ShardedKeyCoder, TimerCoder, WindowCoder,
        WindowedValueCoder, default_coder,
    },
};

use super::values;
use crate::golden::datum::Datum;

/// What lies behind the tokens of iterables.
pub(super) type States = BTreeMap<Vec<u8>, Vec<u8>>;

type Read<T> = dyn Fn(&Datum) -> Result<T, String> + Send + Sync;
type Show<T> = dyn Fn(T) -> Result<Datum, String> + Send + Sync;

/// A coder of `T` with values of cases in front.
struct Through<T> {
    coder: CoderRef<T>,
    read: Box<Read<T>>,
    show: Box<Show<T>>,
}

impl<T: 'static> Coder<Datum> for Through<T> {
    fn encode(&self, value: &Datum, context: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        self.coder.encode(&(self.read)(value).map_err(CoderError::msg)?, context, out)
    }

    fn decode(&self, input: &mut &[u8], context: Context) -> Result<Datum, CoderError> {
        (self.show)(self.coder.decode(input, context)?).map_err(CoderError::msg)
    }

    fn spec(&self) -> CoderSpec {
        self.coder.spec()
    }
}

impl<T> fmt::Debug for Through<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.coder.fmt(f)
    }
}

fn through<T: 'static>(
    coder: impl Coder<T>,
    read: impl Fn(&Datum) -> Result<T, String> + Send + Sync + 'static,
    show: impl Fn(T) -> Result<Datum, String> + Send + Sync + 'static,
) -> CoderRef<Datum> {
    Arc::new(Through { coder: Arc::new(coder), read: Box::new(read), show: Box::new(show) })
}

/// A coder of a type that every value of cases can be turned into.
pub(super) fn natural<T: Element>(
    coder: CoderRef<T>,
    read: fn(&Datum) -> Result<T, String>,
    show: fn(T) -> Datum,
) -> CoderRef<Datum> {
    through(coder, read, move |value| Ok(show(value)))
}

/// The default coder of a type.
fn leaf<T: Element>(
    read: fn(&Datum) -> Result<T, String>,
    show: fn(T) -> Datum,
) -> Result<CoderRef<Datum>, String> {
    Ok(natural(default_coder::<T>().map_err(|e| e.to_string())?, read, show))
}

/// The coder that `spec` describes, over values of cases.
///
/// # Errors
/// When there is none.
pub(super) fn coder(spec: &CoderSpec, states: States) -> Result<CoderRef<Datum>, String> {
    let of = |part: &CoderSpec| coder(part, states.clone());
    let fail = |e: CoderError| e.to_string();
    Ok(match spec {
        CoderSpec::Bytes => leaf(|d| Ok(d.to_text()?.as_bytes().to_vec()), values::show_bytes)?,
        CoderSpec::StringUtf8 => leaf(|d| d.to_text().map(str::to_owned), Datum::Text)?,
        CoderSpec::Bool => leaf(Datum::to_bool, Datum::Bool)?,
        CoderSpec::VarInt => leaf(Datum::to_int, Datum::Int)?,
        CoderSpec::Double => leaf(values::read_float, Datum::float)?,
        CoderSpec::Kv(k, v) => through(
            KvCoder::new(of(k)?, of(v)?),
            |d| Ok((d.need("key")?.clone(), d.need("value")?.clone())),
            |(key, value)| Ok(Datum::map([("key", key), ("value", value)])),
        ),
        CoderSpec::Iterable(part) => through(IterableCoder::new(of(part)?), read_list, show_list),
        CoderSpec::StateBackedIterable(part) => {
            let fetched = states.clone();
            let fetch = move |token: &[u8]| {
                let found = fetched.get(token).cloned();
                found.ok_or_else(|| CoderError::msg(format!("no state at {}", token.escape_ascii())))
            };
            through(IterableCoder::state_backed(of(part)?, fetch), read_list, show_list)
        }
        CoderSpec::Nullable(part) => through(
            NullableCoder::new(of(part)?),
            |d| Ok(Some(d.clone()).filter(|d| *d != Datum::Null)),
            |value| Ok(value.unwrap_or(Datum::Null)),
        ),
        CoderSpec::LengthPrefix(part) => through(LengthPrefixCoder::new(of(part)?), |d| Ok(d.clone()), Ok),
        CoderSpec::ShardedKey(key) => {
            through(ShardedKeyCoder::new(of(key)?), values::read_sharded, values::show_sharded)
        }
        CoderSpec::GlobalWindow => {
            through(window(spec)?, |_| Ok(purlin_sdk::window::Window::Global), |_| Ok(Datum::text("")))
        }
        CoderSpec::IntervalWindow => through(window(spec)?, values::read_window, values::show_window),
        CoderSpec::CustomWindow(_) => through(
            window(spec)?,
            |d| values::read_window(d.need("window")?),
            |w| Ok(Datum::map([("window", values::show_window(w)?)])),
        ),
        CoderSpec::WindowedValue(value, window) => {
            let coder = WindowedValueCoder::new(of(value)?, (**window).clone()).map_err(fail)?;
            through(coder, values::read_windowed, values::show_windowed)
        }
        CoderSpec::ParamWindowedValue { value, window, constant } => {
            let coder = ParamWindowedValueCoder::from_payload(of(value)?, (**window).clone(), constant);
            through(coder.map_err(fail)?, values::read_windowed, values::show_windowed)
        }
        CoderSpec::Timer(key, window) => {
            let coder = TimerCoder::new(of(key)?, (**window).clone()).map_err(fail)?;
            through(coder, values::read_timer, values::show_timer)
        }
        CoderSpec::Row(payload) => {
            let coder = RowCoder::from_payload(payload).map_err(fail)?;
            let (written, read) = (coder.schema().clone(), coder.schema().clone());
            through(coder, move |d| values::read_row(&written, d), move |row| values::show_row(&read, row))
        }
        other => return Err(format!("`{}` is no coder that is known", other.urn())),
    })
}

fn window(spec: &CoderSpec) -> Result<WindowCoder, String> {
    WindowCoder::new(spec.clone()).map_err(|e| e.to_string())
}

fn read_list(list: &Datum) -> Result<Vec<Datum>, String> {
    list.to_list().map(<[Datum]>::to_vec)
}

fn show_list(values: Vec<Datum>) -> Result<Datum, String> {
    Ok(Datum::List(values))
}
