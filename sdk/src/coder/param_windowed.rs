//! Elements that all have the same timestamp, windows and pane.

use std::fmt;

use super::{
    Coder, CoderError, CoderRef, CoderSpec, Context, WindowedValue, WindowedValueCoder,
    window::check_window_coder, wire::Reader,
};

/// Writes the value alone: timestamp, windows and pane are the coder's, and those of an element are not looked at.
///
/// ```
/// use purlin_sdk::{Timestamp, window::{PaneInfo, Window}};
/// use purlin_sdk::coder::{CoderSpec, ParamWindowedValueCoder, WindowedValue, default_coder, from_bytes};
/// let constant = WindowedValue {
///     value: (),
///     timestamp: Timestamp::EPOCH,
///     windows: vec![Window::Global],
///     pane: PaneInfo::NO_FIRING,
/// };
/// let coder = ParamWindowedValueCoder::new(default_coder::<i64>()?, CoderSpec::GlobalWindow, constant)?;
/// let two = from_bytes(&coder, b"\x02")?;
/// assert_eq!((two.value, two.timestamp), (2, Timestamp::EPOCH));
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: Beam's `WindowedValue.ParamWindowedValueCoder`, `beam:coder:param_windowed_value:v1`.
pub struct ParamWindowedValueCoder<T> {
    value: CoderRef<T>,
    window: CoderSpec,
    constant: WindowedValue<()>,
    payload: Vec<u8>,
}

impl<T: 'static> ParamWindowedValueCoder<T> {
    /// The coder of values that `value` writes, all of them at the place of `constant`, whose windows are of the kind
    /// that `window` writes.
    ///
    /// # Errors
    /// When `window` is no coder of windows, or `constant` lies in a window of another kind.
    pub fn new(
        value: CoderRef<T>,
        window: CoderSpec,
        constant: WindowedValue<()>,
    ) -> Result<ParamWindowedValueCoder<T>, CoderError> {
        let mut payload = Vec::new();
        place_coder(&window)?.encode(&constant, Context::Nested, &mut payload)?;
        Ok(ParamWindowedValueCoder { value, window, constant, payload })
    }

    /// The coder that an engine described: `payload` is a windowed value of no bytes, as
    /// [`CoderSpec::ParamWindowedValue`] has it.
    ///
    /// # Errors
    /// When `window` is no coder of windows, or `payload` no such value.
    pub fn from_payload(
        value: CoderRef<T>,
        window: CoderSpec,
        payload: &[u8],
    ) -> Result<ParamWindowedValueCoder<T>, CoderError> {
        let mut rest = payload;
        let constant = place_coder(&window)?.decode(&mut rest, Context::Nested)?;
        if !rest.is_empty() {
            return Err(CoderError::left_over(rest.len(), payload.len() - rest.len()));
        }
        Ok(ParamWindowedValueCoder { value, window, constant, payload: payload.to_vec() })
    }
}

/// The place of an element, with a value of no bytes.
fn place_coder(window: &CoderSpec) -> Result<WindowedValueCoder<()>, CoderError> {
    check_window_coder(window)?;
    WindowedValueCoder::new(std::sync::Arc::new(NoBytes), window.clone())
}

/// Nothing, as bytes behind their length.
#[derive(Debug)]
struct NoBytes;

impl Coder<()> for NoBytes {
    fn encode(&self, (): &(), _: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        out.push(0);
        Ok(())
    }

    fn decode(&self, input: &mut &[u8], _: Context) -> Result<(), CoderError> {
        let mut reader = Reader::new(input);
        if !reader.prefixed()?.is_empty() {
            return Err(CoderError::msg("the constant of a coder has a value of its own"));
        }
        *input = reader.rest();
        Ok(())
    }

    fn spec(&self) -> CoderSpec {
        CoderSpec::Bytes
    }
}

impl<T: 'static> Coder<WindowedValue<T>> for ParamWindowedValueCoder<T> {
    fn encode(&self, v: &WindowedValue<T>, context: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        self.value.encode(&v.value, context, out)
    }

    fn decode(&self, input: &mut &[u8], context: Context) -> Result<WindowedValue<T>, CoderError> {
        let value = self.value.decode(input, context)?;
        let WindowedValue { timestamp, windows, pane, .. } = &self.constant;
        Ok(WindowedValue { value, timestamp: *timestamp, windows: windows.clone(), pane: *pane })
    }

    fn spec(&self) -> CoderSpec {
        CoderSpec::ParamWindowedValue {
            value: Box::new(self.value.spec()),
            window: Box::new(self.window.clone()),
            constant: self.payload.clone(),
        }
    }
}

impl<T> fmt::Debug for ParamWindowedValueCoder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParamWindowedValueCoder({:?}, {:?})", self.value, self.constant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Timestamp,
        coder::{default_coder, from_bytes, to_bytes},
        window::{PaneInfo, PaneTiming, Window},
    };

    #[test]
    fn the_constant_is_beams() {
        let at = Timestamp::saturating_from_millis;
        let place = WindowedValue {
            value: (),
            timestamp: at(1000),
            windows: vec![Window::interval(at(10), at(20))],
            pane: PaneInfo {
                is_first: false,
                is_last: true,
                timing: PaneTiming::OnTime,
                index: 30,
                on_time_index: 40,
            },
        };
        let payload = b"\x80\0\0\0\0\0\x03\xe8\0\0\0\x01\x80\0\0\0\0\0\0\x14\n&\x1e(\0";
        let value = default_coder::<i64>().unwrap();
        let coder =
            ParamWindowedValueCoder::new(value.clone(), CoderSpec::IntervalWindow, place.clone()).unwrap();
        assert_eq!(coder.spec().payload(), payload);
        let read =
            ParamWindowedValueCoder::from_payload(value.clone(), CoderSpec::IntervalWindow, payload).unwrap();
        let two = WindowedValue {
            value: 2,
            timestamp: place.timestamp,
            windows: place.windows.clone(),
            pane: place.pane,
        };
        assert_eq!(from_bytes(&read, b"\x02").unwrap(), two);
        assert_eq!(to_bytes(&read, &two).unwrap(), b"\x02");
        assert!(ParamWindowedValueCoder::new(value, CoderSpec::GlobalWindow, place).is_err());
    }
}
