//! Timers as they are set and cleared between an engine and who runs a DoFn.

use std::fmt;

use super::{
    Coder, CoderError, CoderRef, CoderSpec, Context,
    pane::{encode_pane, read_pane},
    timestamp::{encode_timestamp, read_timestamp},
    window::{check_window_coder, read_windows, write_windows},
    wire::{Reader, write_bytes},
};
use crate::{
    Timestamp,
    window::{PaneInfo, Window},
};

/// That a timer of a key is set or cleared.
///
/// Source: Beam's `Timer` of `beam:coder:timer:v1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimerData<K> {
    /// Whose timer it is.
    pub key: K,
    /// Which timer of its family; empty when the family has only one.
    pub tag: String,
    /// The windows whose timer it is.
    pub windows: Vec<Window>,
    /// When it fires; `None` clears it.
    pub firing: Option<TimerFiring>,
}

/// When a timer fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimerFiring {
    /// When it is due: an event time or a processing time, by its family.
    pub fire_timestamp: Timestamp,
    /// The event time of what comes out when it fires, where it holds the watermark until then.
    pub hold_timestamp: Timestamp,
    /// The firing of the element that set it.
    pub pane: PaneInfo,
}

/// Writes the key, the tag, the windows behind their number, a byte that is 1 for a timer that is cleared, and
/// otherwise when it fires, what it holds, and the pane.
///
/// ```
/// use purlin_sdk::{Timestamp, window::{PaneInfo, Window}};
/// use purlin_sdk::coder::{CoderSpec, TimerCoder, TimerData, TimerFiring, default_coder, to_bytes};
/// let coder = TimerCoder::new(default_coder::<String>()?, CoderSpec::GlobalWindow)?;
/// let cleared = TimerData {
///     key: "key".to_owned(),
///     tag: "tag".to_owned(),
///     windows: vec![Window::Global],
///     firing: None,
/// };
/// assert_eq!(to_bytes(&coder, &cleared)?, b"\x03key\x03tag\0\0\0\x01\x01");
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: Beam's `Timer.Coder`.
pub struct TimerCoder<K> {
    key: CoderRef<K>,
    window: CoderSpec,
}

impl<K: 'static> TimerCoder<K> {
    /// The coder of timers of keys that `key` writes, in windows that `window` writes.
    ///
    /// # Errors
    /// When `window` is no coder of windows.
    pub fn new(key: CoderRef<K>, window: CoderSpec) -> Result<TimerCoder<K>, CoderError> {
        check_window_coder(&window)?;
        Ok(TimerCoder { key, window })
    }

    fn read(&self, reader: &mut Reader<'_>) -> Result<TimerData<K>, CoderError> {
        let key = reader.value(&*self.key, Context::Nested)?;
        let at = reader.offset();
        let tag = std::str::from_utf8(reader.prefixed()?)
            .map_err(|e| CoderError::msg(format_args!("no UTF-8: {e}")).at(at))?;
        let windows = read_windows(&self.window, reader)?;
        let firing = match reader.flag("the byte of a timer that is cleared")? {
            true => None,
            false => Some(TimerFiring {
                fire_timestamp: read_timestamp(reader)?,
                hold_timestamp: read_timestamp(reader)?,
                pane: read_pane(reader)?,
            }),
        };
        Ok(TimerData { key, tag: tag.to_owned(), windows, firing })
    }
}

impl<K: 'static> Coder<TimerData<K>> for TimerCoder<K> {
    fn encode(&self, timer: &TimerData<K>, _: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        self.key.encode(&timer.key, Context::Nested, out)?;
        write_bytes(timer.tag.as_bytes(), out);
        write_windows(&self.window, &timer.windows, out)?;
        out.push(u8::from(timer.firing.is_none()));
        if let Some(firing) = &timer.firing {
            encode_timestamp(firing.fire_timestamp, out);
            encode_timestamp(firing.hold_timestamp, out);
            encode_pane(firing.pane, out);
        }
        Ok(())
    }

    fn decode(&self, input: &mut &[u8], _: Context) -> Result<TimerData<K>, CoderError> {
        let mut reader = Reader::new(input);
        let timer = self.read(&mut reader).map_err(CoderError::reading::<TimerData<K>>)?;
        *input = reader.rest();
        Ok(timer)
    }

    fn spec(&self) -> CoderSpec {
        CoderSpec::Timer(Box::new(self.key.spec()), Box::new(self.window.clone()))
    }
}

impl<K> fmt::Debug for TimerCoder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimerCoder({:?}, {})", self.key, self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::{default_coder, from_bytes, to_bytes};

    #[test]
    fn timers_are_beams() {
        let coder = TimerCoder::new(default_coder::<String>().unwrap(), CoderSpec::GlobalWindow).unwrap();
        let at = Timestamp::saturating_from_millis;
        let timer = TimerData {
            key: "key".to_owned(),
            tag: "tag".to_owned(),
            windows: vec![Window::Global],
            firing: Some(TimerFiring {
                fire_timestamp: at(1234),
                hold_timestamp: at(5678),
                pane: PaneInfo::NO_FIRING,
            }),
        };
        let bytes = b"\x03key\x03tag\0\0\0\x01\0\x80\0\0\0\0\0\x04\xd2\x80\0\0\0\0\0\x16\x2e\x0f";
        assert_eq!(to_bytes(&coder, &timer).unwrap(), bytes);
        assert_eq!(from_bytes(&coder, bytes).unwrap(), timer);
        assert_eq!(coder.spec().to_string(), "timer<string_utf8, global_window>");
        let e = from_bytes(&coder, b"\x03key\x03tag\0\0\0\x01\x02").unwrap_err();
        assert_eq!(e.offset(), Some(12), "{e}");
    }
}
