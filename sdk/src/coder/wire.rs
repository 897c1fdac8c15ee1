//! Beam's bytes: varints, lengths, and a reader that never runs past the end.

use super::{Coder, CoderError, Context, bincode::MAX_DECODED_BYTES};

/// The longest varint: ten groups of seven bits hold 64.
const MAX_VARINT: usize = 10;

fn varint(value: i64) -> ([u8; MAX_VARINT], usize) {
    // Two's complement, so a negative number has its highest bit set and takes all ten bytes.
    let mut bits = value.cast_unsigned();
    let mut bytes = [0; MAX_VARINT];
    let mut len = 0;
    loop {
        let low = (bits & 0x7f) as u8;
        bits >>= 7;
        bytes[len] = if bits == 0 { low } else { low | 0x80 };
        len += 1;
        if bits == 0 {
            return (bytes, len);
        }
    }
}

#[inline]
pub(super) fn write_varint(value: i64, out: &mut Vec<u8>) {
    if (0..0x80).contains(&value) {
        out.push(value as u8);
    } else {
        let (bytes, len) = varint(value);
        out.extend_from_slice(&bytes[..len]);
    }
}

/// Bytes behind their length.
#[inline]
pub(super) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_varint(bytes.len() as i64, out);
    out.extend_from_slice(bytes);
}

/// The number of elements that follow, in four bytes.
pub(super) fn write_count(count: usize, out: &mut Vec<u8>) -> Result<(), CoderError> {
    let count = i32::try_from(count)
        .map_err(|_| CoderError::msg(format_args!("{count} elements, where {} are the most", i32::MAX)))?;
    out.extend_from_slice(&count.to_be_bytes());
    Ok(())
}

/// A length that is written before what it measures: a guess first, put right at the end.
#[derive(Debug)]
pub(super) struct Prefix {
    start: usize,
    width: usize,
}

impl Prefix {
    pub(super) fn begin(guess: usize, out: &mut Vec<u8>) -> Prefix {
        let start = out.len();
        write_varint(guess as i64, out);
        Prefix { start, width: out.len() - start }
    }

    pub(super) fn end(self, out: &mut Vec<u8>) {
        let body = self.start + self.width;
        let (bytes, len) = varint((out.len() - body) as i64);
        if len == self.width {
            out[self.start..body].copy_from_slice(&bytes[..len]);
        } else {
            out.splice(self.start..body, bytes[..len].iter().copied());
        }
    }
}

/// Reads one value's bytes from the front.
#[derive(Debug)]
pub(super) struct Reader<'de> {
    rest: &'de [u8],
    /// Where `rest` ends, counted from the value's first byte.
    end: usize,
    /// What may still be decoded. Bytes are there or are not, but elements may take none at all.
    budget: usize,
}

impl<'de> Reader<'de> {
    pub(super) fn new(input: &'de [u8]) -> Reader<'de> {
        Reader { rest: input, end: input.len(), budget: MAX_DECODED_BYTES }
    }

    pub(super) fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    pub(super) fn rest(&self) -> &'de [u8] {
        self.rest
    }

    /// Goes on behind what was read from [`Reader::rest`] by other means.
    pub(super) fn set_rest(&mut self, rest: &'de [u8]) {
        self.rest = rest;
    }

    pub(super) fn error(&self, what: impl std::fmt::Display) -> CoderError {
        CoderError::msg(what).at(self.offset())
    }

    /// Counts `n` against the limit of one value.
    #[inline]
    pub(super) fn charge(&mut self, n: usize) -> Result<(), CoderError> {
        match self.budget.checked_sub(n) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(self.error(format_args!(
                "one value may decode to {MAX_DECODED_BYTES} bytes and elements, and this one says it is larger"
            ))),
        }
    }

    #[inline]
    pub(super) fn take(&mut self, n: usize) -> Result<&'de [u8], CoderError> {
        let Some((head, tail)) = self.rest.split_at_checked(n) else {
            return Err(self.error(format_args!("{n} bytes should follow, {} do", self.rest.len())));
        };
        self.charge(n)?;
        self.rest = tail;
        Ok(head)
    }

    pub(super) fn take_rest(&mut self) -> Result<&'de [u8], CoderError> {
        self.take(self.rest.len())
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, CoderError> {
        match self.rest.split_first() {
            Some((&byte, rest)) => {
                self.rest = rest;
                Ok(byte)
            }
            None => Err(self.error("the bytes end too early")),
        }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], CoderError> {
        match self.rest.split_first_chunk() {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(*head)
            }
            None => Err(self.error(format_args!("{N} bytes should follow, {} do", self.rest.len()))),
        }
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<i64, CoderError> {
        let at = self.offset();
        let mut bits = 0_u64;
        for i in 0..MAX_VARINT {
            let byte = self.byte()?;
            if i == MAX_VARINT - 1 && byte > 1 {
                break;
            }
            bits |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                return Ok(bits.cast_signed());
            }
        }
        Err(CoderError::msg("a varint of more than 64 bits").at(at))
    }

    /// The bytes behind their length.
    #[inline]
    pub(super) fn prefixed(&mut self) -> Result<&'de [u8], CoderError> {
        let at = self.offset();
        let len = self.varint()?;
        let Ok(len) = usize::try_from(len) else {
            return Err(CoderError::msg(format_args!("a length of {len}")).at(at));
        };
        self.take(len)
    }

    /// A value that another coder reads.
    pub(super) fn value<T: 'static>(
        &mut self,
        coder: &dyn Coder<T>,
        context: Context,
    ) -> Result<T, CoderError> {
        let start = self.offset();
        let mut rest = self.rest;
        let value = coder.decode(&mut rest, context).map_err(|e| e.shifted(start))?;
        self.charge(self.rest.len().saturating_sub(rest.len()))?;
        self.rest = rest;
        Ok(value)
    }

    /// A byte that is 0 or 1.
    pub(super) fn flag(&mut self, what: &str) -> Result<bool, CoderError> {
        let at = self.offset();
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(CoderError::msg(format_args!("{what} is 0 or 1, not {other}")).at(at)),
        }
    }

    /// Reads inside the next bytes behind their length, and wants all of them read.
    pub(super) fn within<R>(
        &mut self,
        read: impl FnOnce(&mut Reader<'de>) -> Result<R, CoderError>,
    ) -> Result<R, CoderError> {
        let rest = self.prefixed()?;
        let mut inner = Reader { rest, end: self.offset(), budget: self.budget };
        // The offset of an error from user code is no nearer than where reading stopped.
        let value = read(&mut inner).map_err(|e| e.at(inner.offset()))?;
        self.budget = inner.budget;
        match inner.rest.len() {
            0 => Ok(value),
            n => Err(CoderError::left_over(n, inner.offset())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_beams() {
        for (value, bytes) in [
            (0_i64, &b"\x00"[..]),
            (1, b"\x01"),
            (200, b"\xc8\x01"),
            (1000, b"\xe8\x07"),
            (9001, b"\xa9\x46"),
            (-1, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            (i64::MIN, b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
            (i64::MAX, b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
        ] {
            let mut out = Vec::new();
            write_varint(value, &mut out);
            assert_eq!(out, bytes, "{value}");
            let mut reader = Reader::new(bytes);
            assert_eq!(reader.varint().unwrap(), value);
            assert!(reader.rest().is_empty());
        }
    }

    #[test]
    fn a_varint_beyond_64_bits_is_refused() {
        let e = Reader::new(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02").varint().unwrap_err();
        assert_eq!(e.to_string(), "a varint of more than 64 bits (at byte 0)");
        assert!(Reader::new(&[0xff; 20]).varint().is_err());
    }

    #[test]
    fn a_prefix_grows_when_its_guess_was_short() {
        let mut out = vec![9];
        let prefix = Prefix::begin(0, &mut out);
        out.extend([7; 200]);
        prefix.end(&mut out);
        assert_eq!(out[..4], [9, 0xc8, 0x01, 7]);
        assert_eq!(out.len(), 203);
    }

    #[test]
    fn a_length_that_lies_allocates_nothing() {
        let mut bytes = Vec::new();
        write_varint(i64::MAX, &mut bytes);
        let e = Reader::new(&bytes).prefixed().unwrap_err();
        assert_eq!(e.to_string(), "9223372036854775807 bytes should follow, 0 do (at byte 9)");
    }
}
