//! An element with all that belongs to it.

use std::fmt;

use super::{
    Coder, CoderError, CoderRef, CoderSpec, Context,
    pane::{encode_pane, read_pane},
    timestamp::{encode_timestamp, read_timestamp},
    window::{check_window_coder, read_windows, write_windows},
    wire::Reader,
};
use crate::{
    Timestamp,
    window::{PaneInfo, Window},
};

/// A value, when it is, in which windows, and which firing it came from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WindowedValue<T> {
    /// The element.
    pub value: T,
    /// When it is.
    pub timestamp: Timestamp,
    /// The windows it is in.
    pub windows: Vec<Window>,
    /// The firing it came from.
    pub pane: PaneInfo,
}

/// Writes a value's timestamp, its windows behind their number, its pane, and then the value.
///
/// ```
/// use purlin_sdk::{Timestamp, window::{PaneInfo, Window}};
/// use purlin_sdk::coder::{CoderSpec, WindowedValue, WindowedValueCoder, default_coder, from_bytes, to_bytes};
/// let coder = WindowedValueCoder::new(default_coder::<i64>()?, CoderSpec::GlobalWindow)?;
/// let two = WindowedValue {
///     value: 2,
///     timestamp: Timestamp::EPOCH,
///     windows: vec![Window::Global],
///     pane: PaneInfo::NO_FIRING,
/// };
/// let bytes = to_bytes(&coder, &two)?;
/// assert_eq!(bytes, b"\x80\0\0\0\0\0\0\0\0\0\0\x01\x0f\x02");
/// assert_eq!(from_bytes(&coder, &bytes)?, two);
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: Beam's `WindowedValue.FullWindowedValueCoder`.
pub struct WindowedValueCoder<T> {
    value: CoderRef<T>,
    window: CoderSpec,
}

impl<T: 'static> WindowedValueCoder<T> {
    /// The coder of values that `value` writes, in windows that `window` writes.
    ///
    /// # Errors
    /// When `window` is no coder of windows.
    pub fn new(value: CoderRef<T>, window: CoderSpec) -> Result<WindowedValueCoder<T>, CoderError> {
        check_window_coder(&window)?;
        Ok(WindowedValueCoder { value, window })
    }

    /// Appends a value that its owner holds in parts. On an error `out` is as it was.
    ///
    /// # Errors
    /// When the value does not encode, or a window is of another kind.
    pub fn encode_parts(
        &self,
        value: &T,
        timestamp: Timestamp,
        windows: &[Window],
        pane: PaneInfo,
        context: Context,
        out: &mut Vec<u8>,
    ) -> Result<(), CoderError> {
        let before = out.len();
        let written = (|| {
            encode_timestamp(timestamp, out);
            write_windows(&self.window, windows, out)?;
            encode_pane(pane, out);
            self.value.encode(value, context, out)
        })();
        if written.is_err() {
            out.truncate(before);
        }
        written
    }

    fn read(&self, input: &mut &[u8], context: Context) -> Result<WindowedValue<T>, CoderError> {
        let mut reader = Reader::new(input);
        let timestamp = read_timestamp(&mut reader)?;
        let windows = read_windows(&self.window, &mut reader)?;
        let pane = read_pane(&mut reader)?;
        let value = reader.value(&*self.value, context)?;
        *input = reader.rest();
        Ok(WindowedValue { value, timestamp, windows, pane })
    }
}

impl<T> fmt::Debug for WindowedValueCoder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WindowedValueCoder({:?}, {})", self.value, self.window)
    }
}

impl<T: 'static> Coder<WindowedValue<T>> for WindowedValueCoder<T> {
    fn encode(&self, v: &WindowedValue<T>, context: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        self.encode_parts(&v.value, v.timestamp, &v.windows, v.pane, context, out)
    }

    fn decode(&self, input: &mut &[u8], context: Context) -> Result<WindowedValue<T>, CoderError> {
        self.read(input, context).map_err(CoderError::reading::<WindowedValue<T>>)
    }

    fn spec(&self) -> CoderSpec {
        CoderSpec::WindowedValue(Box::new(self.value.spec()), Box::new(self.window.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::{default_coder, from_bytes, to_bytes};

    fn interval(end: i64, span: i64) -> Window {
        let ts = |ms| Timestamp::from_millis(ms).unwrap();
        Window::interval(ts(end - span), ts(end))
    }

    #[test]
    fn windowed_values_are_beams() {
        let coder =
            WindowedValueCoder::new(default_coder::<i64>().unwrap(), CoderSpec::IntervalWindow).unwrap();
        let value = WindowedValue {
            value: 2,
            timestamp: Timestamp::from_millis(-100).unwrap(),
            windows: vec![interval(1_454_293_425_000, 3_600_000), interval(-9_223_372_036_854_410, 365)],
            pane: PaneInfo::NO_FIRING,
        };
        let bytes = b"\x7f\xff\xff\xff\xff\xff\xff\x9c\0\0\0\x02\x80\0\x01R\x9a\xa4\x9bh\x80\xdd\xdb\x01\x7f\xdf;dZ\x1c\xadv\xed\x02\x0f\x02";
        assert_eq!(to_bytes(&coder, &value).unwrap(), bytes);
        assert_eq!(from_bytes(&coder, bytes).unwrap(), value);
        assert_eq!(coder.spec().to_string(), "windowed_value<varint, interval_window>");
    }

    #[test]
    fn an_error_says_which_byte_of_the_whole() {
        let coder =
            WindowedValueCoder::new(default_coder::<bool>().unwrap(), CoderSpec::GlobalWindow).unwrap();
        let e = from_bytes(&coder, b"\x80\0\0\0\0\0\0\0\0\0\0\x01\x0f\x02").unwrap_err();
        assert_eq!(e.offset(), Some(13), "{e}");
    }

    #[test]
    fn a_count_that_lies_is_refused() {
        let coder =
            WindowedValueCoder::new(default_coder::<i64>().unwrap(), CoderSpec::GlobalWindow).unwrap();
        for count in [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"] {
            let bytes = [b"\x80\0\0\0\0\0\0\0", &count[..], b"\x0f\x02"].concat();
            assert!(from_bytes(&coder, &bytes).is_err());
        }
        let e = WindowedValueCoder::new(default_coder::<i64>().unwrap(), CoderSpec::VarInt).unwrap_err();
        assert_eq!(e.to_string(), "varint is no coder of windows");
    }
}
