//! Timestamps as bytes that sort as the times do.

use super::{CoderError, wire::Reader};
use crate::Timestamp;

/// Appends the eight bytes of `ts`: milliseconds since the epoch, big endian, the sign bit flipped.
///
/// Source: Beam's `InstantCoder`.
///
/// ```
/// use purlin_sdk::{Timestamp, coder::encode_timestamp};
/// let mut out = Vec::new();
/// encode_timestamp(Timestamp::EPOCH, &mut out);
/// assert_eq!(out, [0x80, 0, 0, 0, 0, 0, 0, 0]);
/// ```
#[inline]
pub fn encode_timestamp(ts: Timestamp, out: &mut Vec<u8>) {
    out.extend_from_slice(&(ts.as_millis() ^ i64::MIN).to_be_bytes());
}

/// Takes a timestamp off the front of `input`.
///
/// # Errors
/// When fewer than eight bytes are there, or the time lies beyond [`Timestamp::MIN`] or [`Timestamp::MAX`].
pub fn decode_timestamp(input: &mut &[u8]) -> Result<Timestamp, CoderError> {
    let mut reader = Reader::new(input);
    let ts = read_timestamp(&mut reader).map_err(CoderError::reading::<Timestamp>)?;
    *input = reader.rest();
    Ok(ts)
}

pub(super) fn read_timestamp(reader: &mut Reader<'_>) -> Result<Timestamp, CoderError> {
    let at = reader.offset();
    let millis = i64::from_be_bytes(reader.array()?) ^ i64::MIN;
    Timestamp::from_millis(millis).map_err(|e| CoderError::msg(e).at(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(ts: Timestamp) -> Vec<u8> {
        let mut out = Vec::new();
        encode_timestamp(ts, &mut out);
        out
    }

    #[test]
    fn b158_timestamps_are_shifted_big_endian() {
        let minus_one = Timestamp::saturating_from_millis(-1);
        assert_eq!(bytes(minus_one), [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(bytes(Timestamp::EPOCH), [0x80, 0, 0, 0, 0, 0, 0, 0]);
        let in_order = [Timestamp::MIN, minus_one, Timestamp::EPOCH, Timestamp::from_secs(1), Timestamp::MAX];
        assert!(in_order.map(bytes).is_sorted(), "byte order is time order");
        for ts in in_order {
            assert_eq!(decode_timestamp(&mut &bytes(ts)[..]).unwrap(), ts);
        }
    }

    #[test]
    fn a_time_that_is_none_is_refused() {
        let e = decode_timestamp(&mut &[0xff; 8][..]).unwrap_err().to_string();
        assert!(e.contains("9223372036854775807 ms since the epoch is outside"), "{e}");
        assert!(decode_timestamp(&mut &[0x80; 7][..]).is_err());
    }
}
