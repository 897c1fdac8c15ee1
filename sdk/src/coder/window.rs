//! Windows as bytes.

use super::{
    Coder, CoderError, CoderSpec, Context,
    timestamp::{encode_timestamp, read_timestamp},
    wire::{Prefix, Reader, write_bytes, write_count, write_varint},
};
use crate::{
    Duration, Timestamp,
    window::{CustomWindow, IntervalWindow, Window},
};

/// Appends `window` as `spec` says: [`CoderSpec::GlobalWindow`] (no bytes), [`CoderSpec::IntervalWindow`] (its end and
/// its length), or [`CoderSpec::CustomWindow`] (its last timestamp and then the window), with length prefixes where an
/// engine put them.
///
/// Source: Beam's `IntervalWindowCoder`, `TimestampPrefixingWindowCoder`.
///
/// ```
/// use purlin_sdk::{Timestamp, coder::{CoderSpec, encode_window}, window::Window};
/// let mut out = Vec::new();
/// let window = Window::interval(Timestamp::EPOCH, Timestamp::from_secs(10));
/// encode_window(&CoderSpec::IntervalWindow, &window, &mut out)?;
/// assert_eq!(out, b"\x80\x00\x00\x00\x00\x00\x27\x10\x90\x4e");
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// # Errors
/// When the window is of another kind than `spec`, or ends before it starts.
pub fn encode_window(spec: &CoderSpec, window: &Window, out: &mut Vec<u8>) -> Result<(), CoderError> {
    write_window(spec, Context::Nested, window, out).map_err(CoderError::writing::<Window>)
}

/// Takes a window off the front of `input`.
///
/// # Errors
/// When the bytes are no window of `spec`'s kind.
pub fn decode_window(spec: &CoderSpec, input: &mut &[u8]) -> Result<Window, CoderError> {
    let mut reader = Reader::new(input);
    let window = read_window(spec, &mut reader).map_err(CoderError::reading::<Window>)?;
    *input = reader.rest();
    Ok(window)
}

/// The windows of an element, behind their number.
pub(super) fn write_windows(
    spec: &CoderSpec,
    windows: &[Window],
    out: &mut Vec<u8>,
) -> Result<(), CoderError> {
    write_count(windows.len(), out)?;
    windows.iter().try_for_each(|window| encode_window(spec, window, out))
}

pub(super) fn read_windows(spec: &CoderSpec, reader: &mut Reader<'_>) -> Result<Vec<Window>, CoderError> {
    let at = reader.offset();
    let count = i32::from_be_bytes(reader.array()?);
    let Ok(count) = usize::try_from(count) else {
        return Err(CoderError::msg(format_args!("an element in {count} windows")).at(at));
    };
    // The global window takes no bytes, and nothing is in it twice.
    if count > 1 && matches!(spec, CoderSpec::GlobalWindow) {
        return Err(CoderError::msg(format_args!("an element {count} times in the global window")).at(at));
    }
    let mut windows = Vec::with_capacity(count.min(reader.rest().len()));
    for _ in 0..count {
        windows.push(read_window(spec, reader)?);
    }
    Ok(windows)
}

/// The coder of windows as values.
///
/// ```
/// use purlin_sdk::{Timestamp, coder::{CoderSpec, WindowCoder, to_bytes}, window::Window};
/// let coder = WindowCoder::new(CoderSpec::IntervalWindow)?;
/// let window = Window::interval(Timestamp::EPOCH, Timestamp::from_secs(10));
/// assert_eq!(to_bytes(&coder, &window)?, b"\x80\x00\x00\x00\x00\x00\x27\x10\x90\x4e");
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
#[derive(Clone, Debug)]
pub struct WindowCoder(CoderSpec);

impl WindowCoder {
    /// The coder of windows of this kind.
    ///
    /// # Errors
    /// When `spec` is no coder of windows.
    pub fn new(spec: CoderSpec) -> Result<WindowCoder, CoderError> {
        check_window_coder(&spec)?;
        Ok(WindowCoder(spec))
    }
}

impl Coder<Window> for WindowCoder {
    fn encode(&self, value: &Window, context: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        write_window(&self.0, context, value, out).map_err(CoderError::writing::<Window>)
    }

    fn decode(&self, input: &mut &[u8], context: Context) -> Result<Window, CoderError> {
        let mut reader = Reader::new(input);
        let window =
            read_within(&self.0, context, None, &mut reader).map_err(CoderError::reading::<Window>)?;
        *input = reader.rest();
        Ok(window)
    }

    fn spec(&self) -> CoderSpec {
        self.0.clone()
    }
}

/// # Errors
/// When `spec` writes no windows.
pub(super) fn check_window_coder(spec: &CoderSpec) -> Result<(), CoderError> {
    match is_window_coder(spec) {
        true => Ok(()),
        false => Err(CoderError::msg(format_args!("{spec} is no coder of windows"))),
    }
}

fn is_window_coder(spec: &CoderSpec) -> bool {
    match spec {
        CoderSpec::GlobalWindow | CoderSpec::IntervalWindow | CoderSpec::CustomWindow(_) => true,
        CoderSpec::LengthPrefix(of) => is_window_coder(of),
        _ => false,
    }
}

fn write_window(
    spec: &CoderSpec,
    context: Context,
    window: &Window,
    out: &mut Vec<u8>,
) -> Result<(), CoderError> {
    match (spec, window) {
        (CoderSpec::GlobalWindow, Window::Global) => {}
        (CoderSpec::IntervalWindow, Window::Interval(w)) => {
            let span = (w.end() - w.start()).as_millis();
            if span < 0 {
                return Err(CoderError::msg(format_args!("window {w} ends before it starts")));
            }
            encode_timestamp(w.end(), out);
            write_varint(span, out);
        }
        (CoderSpec::CustomWindow(of), window) => {
            encode_timestamp(window.max_timestamp(), out);
            write_window(of, context, window, out)?;
        }
        (CoderSpec::LengthPrefix(of), window) => {
            let prefix = Prefix::begin(0, out);
            write_window(of, Context::Outer, window, out)?;
            prefix.end(out);
        }
        (CoderSpec::Bincode(_) | CoderSpec::Custom { .. }, Window::Custom(w)) => match context {
            Context::Outer => out.extend_from_slice(w.encoded()),
            Context::Nested => write_bytes(w.encoded(), out),
        },
        (spec, window) => return Err(CoderError::msg(format_args!("{window} is not of coder {spec}"))),
    }
    Ok(())
}

fn read_window(spec: &CoderSpec, reader: &mut Reader<'_>) -> Result<Window, CoderError> {
    read_within(spec, Context::Nested, None, reader)
}

fn read_within(
    spec: &CoderSpec,
    context: Context,
    max_timestamp: Option<Timestamp>,
    reader: &mut Reader<'_>,
) -> Result<Window, CoderError> {
    match spec {
        CoderSpec::GlobalWindow => Ok(Window::Global),
        CoderSpec::IntervalWindow => {
            let end = read_timestamp(reader)?;
            let at = reader.offset();
            let span = reader.varint()?;
            if span < 0 {
                return Err(CoderError::msg(format_args!("a window {span} ms long")).at(at));
            }
            // Saturates: other SDKs let the first window begin before the first timestamp.
            Ok(Window::Interval(IntervalWindow::new(end - Duration::from_millis(span), end)))
        }
        CoderSpec::CustomWindow(of) => {
            let max = read_timestamp(reader)?;
            read_within(of, context, Some(max), reader)
        }
        CoderSpec::LengthPrefix(of) => {
            reader.within(|inner| read_within(of, Context::Outer, max_timestamp, inner))
        }
        CoderSpec::Bincode(_) | CoderSpec::Custom { .. } => {
            let Some(max) = max_timestamp else {
                return Err(reader.error("a window of its own kind comes without its last timestamp"));
            };
            let encoded = match context {
                Context::Outer => reader.take_rest()?,
                Context::Nested => reader.prefixed()?,
            };
            Ok(Window::Custom(CustomWindow::from_encoded(max, encoded)))
        }
        other => Err(reader.error(format_args!("{other} is no coder of windows"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(end: i64, span: i64) -> Window {
        let ts = |ms| Timestamp::from_millis(ms).unwrap();
        Window::interval(ts(end - span), ts(end))
    }

    fn check(spec: &CoderSpec, window: &Window, bytes: &[u8]) {
        let mut out = Vec::new();
        encode_window(spec, window, &mut out).unwrap();
        assert_eq!(out, bytes, "{window}");
        let mut input = bytes;
        assert_eq!(&decode_window(spec, &mut input).unwrap(), window);
        assert!(input.is_empty(), "{window}");
    }

    fn custom(of: CoderSpec) -> CoderSpec {
        CoderSpec::CustomWindow(Box::new(of))
    }

    #[test]
    fn b158_a_window_before_the_epoch() {
        check(&CoderSpec::IntervalWindow, &interval(0, 10_000), b"\x80\0\0\0\0\0\0\0\x90\x4e");
    }

    #[test]
    fn interval_windows_are_beams() {
        let spec = CoderSpec::IntervalWindow;
        check(
            &spec,
            &interval(1_454_293_425_000, 3_600_000),
            b"\x80\0\x01\x52\x9a\xa4\x9b\x68\x80\xdd\xdb\x01",
        );
        check(&spec, &interval(-9_223_372_036_854_410, 365), b"\x7f\xdf\x3b\x64\x5a\x1c\xad\x76\xed\x02");
        check(&spec, &interval(9_223_372_036_854_775, 0), b"\x80\x20\xc4\x9b\xa5\xe3\x53\xf7\0");
        check(&CoderSpec::GlobalWindow, &Window::Global, b"");
    }

    #[test]
    fn custom_windows_carry_their_last_timestamp() {
        let window = interval(1_454_293_425_000, 3_600_000);
        let bytes = b"\x80\0\x01\x52\x9a\xa4\x9b\x67\x80\0\x01\x52\x9a\xa4\x9b\x68\x80\xdd\xdb\x01";
        check(&custom(CoderSpec::IntervalWindow), &window, bytes);
        // As an engine sends it that was not told of interval windows.
        let wrapped = custom(CoderSpec::LengthPrefix(Box::new(CoderSpec::IntervalWindow)));
        let mut longer = bytes.to_vec();
        longer.insert(8, 12);
        check(&wrapped, &window, &longer);
    }

    #[test]
    fn a_window_of_the_users_own() {
        let own = Window::Custom(CustomWindow::new(Timestamp::EPOCH, &"tuesday".to_owned()).unwrap());
        let leaf = CoderSpec::Bincode("String".into());
        let bytes = b"\x80\0\0\0\0\0\0\0\x08\x07tuesday";
        check(&custom(leaf.clone()), &own, bytes);
        check(&custom(CoderSpec::LengthPrefix(Box::new(leaf.clone()))), &own, bytes);
        assert!(decode_window(&leaf, &mut &bytes[8..]).is_err());
    }

    #[test]
    fn a_window_of_another_kind_is_refused() {
        let mut out = Vec::new();
        let e = encode_window(&CoderSpec::GlobalWindow, &interval(10, 10), &mut out).unwrap_err();
        assert!(e.to_string().contains("is not of coder global_window"), "{e}");
        let backwards = Window::interval(Timestamp::from_secs(1), Timestamp::EPOCH);
        assert!(encode_window(&CoderSpec::IntervalWindow, &backwards, &mut out).is_err());
        let negative = b"\x80\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert!(decode_window(&CoderSpec::IntervalWindow, &mut &negative[..]).is_err());
    }

    #[test]
    fn a_start_before_all_time_saturates() {
        let mut input = &b"\x7f\xdf\x3b\x64\x5a\x1c\xad\x76\x90\x4e"[..];
        let window = decode_window(&CoderSpec::IntervalWindow, &mut input).unwrap();
        assert_eq!(window.as_interval().unwrap().start(), Timestamp::MIN);
    }
}
