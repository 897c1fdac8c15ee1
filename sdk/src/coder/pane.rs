//! Panes as one byte, and their numbers behind it where it cannot say them.

use super::{
    CoderError,
    wire::{Reader, write_varint},
};
use crate::window::{PaneInfo, PaneTiming};

const FIRST: u8 = 0b0001;
const LAST: u8 = 0b0010;
/// High nibble: no number follows, both are what the timing implies for a first pane.
const NO_INDEX: u8 = 0;
/// One number follows; the other is the same, or -1 when early.
const ONE_INDEX: u8 = 1;
/// Both numbers follow.
const TWO_INDICES: u8 = 2;

/// What the on-time index of a pane is when only its index is told.
fn implied_on_time(timing: PaneTiming, index: i64) -> i64 {
    if timing == PaneTiming::Early { -1 } else { index }
}

/// Appends `pane`: bit 0 first, bit 1 last, bits 2 and 3 the timing, and in the high nibble how many numbers follow.
///
/// Source: Beam's `PaneInfoCoder`. Panes that Beam's runners never make (an unknown timing with an index, an early pane
/// with an on-time index) keep their numbers here, in the same form, so every pane comes back as it was.
///
/// ```
/// use purlin_sdk::{coder::encode_pane, window::PaneInfo};
/// let mut out = Vec::new();
/// encode_pane(PaneInfo::NO_FIRING, &mut out);
/// assert_eq!(out, [0x0f]);
/// ```
pub fn encode_pane(pane: PaneInfo, out: &mut Vec<u8>) {
    let timing = match pane.timing {
        PaneTiming::Early => 0,
        PaneTiming::OnTime => 1,
        PaneTiming::Late => 2,
        PaneTiming::Unknown => 3,
    };
    let first = if pane.is_first { FIRST } else { 0 };
    let last = if pane.is_last { LAST } else { 0 };
    let low = first | last | (timing << 2);
    if pane.index == 0 && pane.on_time_index == 0 && pane.timing != PaneTiming::Early {
        out.push(low | (NO_INDEX << 4));
    } else if pane.on_time_index == implied_on_time(pane.timing, pane.index) {
        out.push(low | (ONE_INDEX << 4));
        write_varint(pane.index, out);
    } else {
        out.push(low | (TWO_INDICES << 4));
        write_varint(pane.index, out);
        write_varint(pane.on_time_index, out);
    }
}

/// Takes a pane off the front of `input`.
///
/// # Errors
/// When the bytes are no pane.
pub fn decode_pane(input: &mut &[u8]) -> Result<PaneInfo, CoderError> {
    let mut reader = Reader::new(input);
    let pane = read_pane(&mut reader).map_err(CoderError::reading::<PaneInfo>)?;
    *input = reader.rest();
    Ok(pane)
}

pub(super) fn read_pane(reader: &mut Reader<'_>) -> Result<PaneInfo, CoderError> {
    let at = reader.offset();
    let byte = reader.byte()?;
    let timing = match (byte >> 2) & 0b11 {
        0 => PaneTiming::Early,
        1 => PaneTiming::OnTime,
        2 => PaneTiming::Late,
        _ => PaneTiming::Unknown,
    };
    let (index, on_time_index) = match byte >> 4 {
        NO_INDEX => (0, implied_on_time(timing, 0)),
        ONE_INDEX => {
            let index = reader.varint()?;
            (index, implied_on_time(timing, index))
        }
        TWO_INDICES => (reader.varint()?, reader.varint()?),
        _ => return Err(CoderError::msg(format_args!("no pane begins with byte {byte:#04x}")).at(at)),
    };
    Ok(PaneInfo { is_first: byte & FIRST != 0, is_last: byte & LAST != 0, timing, index, on_time_index })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(pane: PaneInfo) -> Vec<u8> {
        let mut out = Vec::new();
        encode_pane(pane, &mut out);
        out
    }

    fn pane(is_first: bool, is_last: bool, timing: PaneTiming, index: i64, on_time_index: i64) -> PaneInfo {
        PaneInfo { is_first, is_last, timing, index, on_time_index }
    }

    #[test]
    fn b159_first_and_last_are_bits_0_and_1() {
        assert_eq!(bytes(PaneInfo::NO_FIRING), [0x0f]);
        assert_eq!(bytes(PaneInfo::ON_TIME_AND_ONLY), [0x07]);
        assert_eq!(bytes(pane(true, false, PaneTiming::OnTime, 0, 0)), [0x05]);
        assert_eq!(bytes(pane(true, false, PaneTiming::Early, 0, -1)), [0x11, 0x00]);
        // From Beam's param_windowed_value vector: last, on time, 30 and 40.
        assert_eq!(bytes(pane(false, true, PaneTiming::OnTime, 30, 40)), [0x26, 30, 40]);
    }

    #[test]
    fn b159_every_pane_comes_back() {
        for timing in [PaneTiming::Early, PaneTiming::OnTime, PaneTiming::Late, PaneTiming::Unknown] {
            for index in [0, 1, 127, 128, 300, i64::MAX, -1] {
                for on_time_index in [-1, 0, 1, 128, 300, i64::MAX] {
                    for bits in 0..4 {
                        let p = pane(bits & 1 != 0, bits & 2 != 0, timing, index, on_time_index);
                        let encoded = bytes(p);
                        let mut input = &encoded[..];
                        assert_eq!(decode_pane(&mut input).unwrap(), p, "{encoded:x?}");
                        assert!(input.is_empty());
                    }
                }
            }
        }
        assert_eq!(bytes(pane(false, false, PaneTiming::Late, 300, 300)), [0x18, 0xac, 0x02]);
    }

    #[test]
    fn what_is_no_pane_is_refused() {
        assert!(decode_pane(&mut &b"\x3f"[..]).unwrap_err().to_string().contains("0x3f"));
        assert!(decode_pane(&mut &b"\x1f"[..]).is_err());
        assert!(decode_pane(&mut &b""[..]).is_err());
    }
}
