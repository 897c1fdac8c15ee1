//! Amounts of memory as text.

use std::{fmt, str::FromStr};

/// A number of bytes that is read from text such as `256MB`.
///
/// Units are `B`, `kB`, `MB`, `GB`, `TB` (by 1000) and `KiB`, `MiB`, `GiB`, `TiB` (by 1024), in any case; none means
/// bytes.
///
/// ```
/// use purlin::MemorySize;
/// assert_eq!("256MB".parse(), Ok(MemorySize::from_bytes(256_000_000)));
/// assert_eq!("1.5 GiB".parse(), Ok(MemorySize::from_bytes(3 << 29)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemorySize(usize);

const UNITS: [(&str, u64); 10] = [
    ("", 1),
    ("b", 1),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

impl MemorySize {
    /// This many bytes.
    pub const fn from_bytes(bytes: usize) -> MemorySize {
        MemorySize(bytes)
    }

    /// How many bytes it is.
    pub const fn bytes(self) -> usize {
        self.0
    }
}

impl FromStr for MemorySize {
    type Err = String;

    fn from_str(text: &str) -> Result<MemorySize, String> {
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = unit.trim().to_ascii_lowercase();
        let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
        let (Some(factor), Ok(number)) = (factor, number.parse::<f64>()) else {
            return Err(
                "it is not an amount of memory: write a number and a unit, such as 256MB, 1.5GB or 512MiB"
                    .to_owned(),
            );
        };
        // Floats convert saturating, and are exact below 2^53 bytes.
        let bytes = (number * factor as f64) as usize;
        if bytes == 0 { Err("it must be above zero".to_owned()) } else { Ok(MemorySize(bytes)) }
    }
}

impl fmt::Display for MemorySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as u64;
        let whole = UNITS.iter().filter(|(_, factor)| bytes.is_multiple_of(*factor)).max_by_key(|(_, f)| *f);
        match whole {
            Some((unit, factor)) if *factor > 1 => {
                let unit = unit.to_ascii_uppercase().replace('I', "i");
                write!(f, "{}{unit}", bytes / factor)
            }
            _ => write!(f, "{bytes}B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_in_any_case() {
        let cases = [
            ("17", 17),
            ("17b", 17),
            ("2kB", 2000),
            ("2KIB", 2048),
            ("0.5 mb", 500_000),
            (" 1TiB ", 1 << 40),
        ];
        for (text, bytes) in cases {
            assert_eq!(text.parse(), Ok(MemorySize(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in ["", "MB", "-1MB", "1.2.3MB", "1 meter", "1e9"] {
            assert!(text.parse::<MemorySize>().unwrap_err().contains("256MB"), "{text}");
        }
        assert!("0MB".parse::<MemorySize>().unwrap_err().contains("above zero"));
    }

    #[test]
    fn an_amount_beyond_what_there_is_saturates() {
        let huge = format!("{}TB", "9".repeat(40));
        assert_eq!(huge.parse(), Ok(MemorySize(usize::MAX)));
    }

    #[test]
    fn it_is_shown_in_its_largest_whole_unit() {
        for text in ["17B", "256MB", "64MiB", "3GiB"] {
            assert_eq!(text.parse::<MemorySize>().unwrap().to_string(), text);
        }
    }
}
