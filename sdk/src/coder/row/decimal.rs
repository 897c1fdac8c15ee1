//! Decimal numbers of any length.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::coder::CoderError;

/// A whole number divided by a power of ten: 3.14 is 314 with the scale 2, and 3.140 another value, 3140 with the
/// scale 3.
///
/// ```
/// use purlin_sdk::coder::Decimal;
/// let pi: Decimal = "3.14".parse()?;
/// assert_eq!(pi, Decimal::new(314, 2));
/// assert_eq!((pi.unscaled(), pi.scale()), (Some(314), 2));
/// assert_eq!(pi.to_string(), "3.14");
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: Java's `BigDecimal`, in which Beam's `beam:logical_type:decimal:v1` is defined.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Decimal {
    /// Two's complement, big endian, no longer than it must be.
    unscaled: Vec<u8>,
    scale: i32,
}

impl Decimal {
    /// `unscaled` divided by ten to the power of `scale`.
    pub fn new(unscaled: i128, scale: i32) -> Decimal {
        Decimal::from_bytes(&unscaled.to_be_bytes(), scale)
    }

    /// The same, with the whole number as its bytes in two's complement, big endian. None are zero.
    pub fn from_bytes(unscaled: &[u8], scale: i32) -> Decimal {
        let mut rest = unscaled;
        // A first byte that only repeats the sign of the second says nothing.
        while let [sign, second, ..] = rest
            && matches!((sign, second >> 7), (0, 0) | (0xff, 1))
        {
            rest = &rest[1..];
        }
        Decimal { unscaled: if rest.is_empty() { vec![0] } else { rest.to_vec() }, scale }
    }

    /// The whole number in two's complement, big endian, in as few bytes as can be.
    pub fn unscaled_bytes(&self) -> &[u8] {
        &self.unscaled
    }

    /// The whole number, when 128 bits hold it.
    pub fn unscaled(&self) -> Option<i128> {
        let mut bytes = [if self.is_negative() { 0xff } else { 0 }; 16];
        let start = bytes.len().checked_sub(self.unscaled.len())?;
        bytes[start..].copy_from_slice(&self.unscaled);
        Some(i128::from_be_bytes(bytes))
    }

    /// The power of ten that the whole number is divided by.
    pub fn scale(&self) -> i32 {
        self.scale
    }

    fn is_negative(&self) -> bool {
        self.unscaled.first().is_some_and(|first| first & 0x80 != 0)
    }
}

/// The number of the other sign, in place.
fn negate(twos_complement: &mut [u8]) {
    let mut carry = true;
    for byte in twos_complement.iter_mut().rev() {
        let (sum, overflow) = (!*byte).overflowing_add(u8::from(carry));
        *byte = sum;
        carry = overflow;
    }
}

impl FromStr for Decimal {
    type Err = CoderError;

    /// Digits with a sign, a point and an exponent where needed: `-12.50`, `1e-7`. The scale is the number of digits
    /// after the point less the exponent.
    fn from_str(text: &str) -> Result<Decimal, CoderError> {
        let wrong = || CoderError::msg(format_args!("`{text}` is no decimal number"));
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().map_err(|_| wrong())?),
            None => (text, 0),
        };
        let (negative, number) = match number.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return Err(wrong());
        }
        // Big endian, with a byte in front that holds the sign.
        let mut magnitude = vec![0_u8];
        for digit in whole.bytes().chain(fraction.bytes()) {
            if !digit.is_ascii_digit() {
                return Err(wrong());
            }
            let mut carry = u16::from(digit - b'0');
            for byte in magnitude.iter_mut().rev() {
                carry += u16::from(*byte) * 10;
                *byte = (carry & 0xff) as u8;
                carry >>= 8;
            }
            if magnitude[0] != 0 {
                magnitude.insert(0, 0);
            }
        }
        if negative {
            negate(&mut magnitude);
        }
        let scale = i32::try_from(fraction.len()).ok().and_then(|digits| digits.checked_sub(exponent));
        Ok(Decimal::from_bytes(&magnitude, scale.ok_or_else(wrong)?))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut magnitude = self.unscaled.clone();
        if self.is_negative() {
            f.write_str("-")?;
            magnitude.insert(0, 0xff);
            negate(&mut magnitude);
        }
        let mut digits = Vec::new();
        while digits.is_empty() || magnitude.iter().any(|byte| *byte != 0) {
            let mut rest = 0_u16;
            for byte in &mut magnitude {
                rest = (rest << 8) | u16::from(*byte);
                *byte = (rest / 10) as u8;
                rest %= 10;
            }
            digits.push(b'0' + rest as u8);
        }
        let places = usize::try_from(self.scale).unwrap_or(0);
        // More zeros than anybody reads are an exponent.
        let spelt = self.scale >= 0 && places < digits.len() + 40;
        let places = if spelt { places } else { 0 };
        while digits.len() <= places {
            digits.push(b'0');
        }
        for (i, digit) in digits.iter().enumerate().rev() {
            write!(f, "{}", char::from(*digit))?;
            if i == places && places > 0 {
                f.write_str(".")?;
            }
        }
        if spelt { Ok(()) } else { write!(f, "e{}", -i64::from(self.scale)) }
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_their_text_says() {
        for (text, unscaled, scale) in [
            ("0", 0_i128, 0),
            ("0.0", 0, 1),
            ("-100.123", -100_123, 3),
            ("128", 128, 0),
            ("-128", -128, 0),
            ("0.005", 5, 3),
            ("1e3", 1, -3),
            ("1e-60", 1, 60),
            ("170141183460469231731687303715884105727", i128::MAX, 0),
            ("-170141183460469231731687303715884105728", i128::MIN, 0),
        ] {
            let number: Decimal = text.parse().unwrap();
            assert_eq!(number, Decimal::new(unscaled, scale), "{text}");
            assert_eq!(number.unscaled(), Some(unscaled), "{text}");
            assert_eq!(number.to_string(), text);
        }
        assert_eq!(".5".parse::<Decimal>().unwrap(), "+0.5".parse().unwrap());
        for wrong in ["", ".", "-", "1.2.3", "0x1", "1e", "1e99999999999", "a", "--1"] {
            let e = wrong.parse::<Decimal>().unwrap_err();
            assert!(e.to_string().contains("is no decimal number"), "{e}");
        }
    }

    #[test]
    fn numbers_have_no_end() {
        let text = format!("-{}.5", "1234567890".repeat(20));
        let number: Decimal = text.parse().unwrap();
        assert_eq!((number.to_string(), number.unscaled()), (text, None));
        assert_eq!(Decimal::from_bytes(number.unscaled_bytes(), 1), number);
    }

    #[test]
    fn bytes_are_as_few_as_can_be() {
        assert_eq!(Decimal::from_bytes(&[], 0), Decimal::new(0, 0));
        assert_eq!(Decimal::from_bytes(&[0, 0, 0x80], 0).unscaled_bytes(), [0, 0x80]);
        assert_eq!(Decimal::from_bytes(&[0xff, 0xff, 0x7f], 0).unscaled_bytes(), [0xff, 0x7f]);
        assert_eq!(Decimal::from_bytes(&[0xff, 0x80], 0).unscaled_bytes(), [0x80]);
    }
}
