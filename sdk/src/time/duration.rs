//! A signed span of time.

use std::{
    fmt,
    ops::{Add, Mul, Neg, Sub},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

/// Signed milliseconds. Arithmetic saturates.
///
/// ```
/// use purlin_sdk::Duration;
/// assert_eq!("1 hour 30 minutes".parse::<Duration>().unwrap(), Duration::from_secs(5400));
/// assert_eq!("500ms".parse::<Duration>().unwrap().as_millis(), 500);
/// assert_eq!(Duration::from_secs(90).to_string(), "1m 30s");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration(i64);

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// The longest span; as an allowed skew it means "no limit".
    pub const MAX: Duration = Duration(i64::MAX);
    /// The longest span backwards.
    pub const MIN: Duration = Duration(i64::MIN);

    /// `millis` milliseconds.
    pub const fn from_millis(millis: i64) -> Duration {
        Duration(millis)
    }

    /// `secs` seconds.
    pub const fn from_secs(secs: i64) -> Duration {
        Duration(secs.saturating_mul(1000))
    }

    /// `minutes` minutes.
    pub const fn from_minutes(minutes: i64) -> Duration {
        Duration(minutes.saturating_mul(60_000))
    }

    /// `hours` hours.
    pub const fn from_hours(hours: i64) -> Duration {
        Duration(hours.saturating_mul(3_600_000))
    }

    /// `days` days of 24 hours.
    pub const fn from_days(days: i64) -> Duration {
        Duration(days.saturating_mul(86_400_000))
    }

    /// The span in milliseconds.
    #[inline]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// As std's unsigned duration; a negative span is zero.
    pub const fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_millis(if self.0 < 0 { 0 } else { self.0 as u64 })
    }
}

impl From<std::time::Duration> for Duration {
    fn from(d: std::time::Duration) -> Duration {
        Duration(i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, o: Duration) -> Duration {
        Duration(self.0.saturating_add(o.0))
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, o: Duration) -> Duration {
        Duration(self.0.saturating_sub(o.0))
    }
}

impl Neg for Duration {
    type Output = Duration;
    fn neg(self) -> Duration {
        Duration(self.0.saturating_neg())
    }
}

impl Mul<i64> for Duration {
    type Output = Duration;
    fn mul(self, n: i64) -> Duration {
        Duration(self.0.saturating_mul(n))
    }
}

const UNITS: [(&str, i64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.unsigned_abs();
        if rest == 0 {
            return f.write_str("0s");
        }
        let sign = if self.0 < 0 { "-" } else { "" };
        let mut gap = "";
        for (unit, millis) in UNITS {
            let n = rest / millis.unsigned_abs();
            rest %= millis.unsigned_abs();
            if n > 0 {
                write!(f, "{gap}{sign}{n}{unit}")?;
                gap = " ";
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is no interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseDurationError {
    text: String,
}

impl fmt::Display for ParseDurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not an interval; write numbers with units, such as `5 seconds`, `1m 30s` or `250ms` \
             (weeks, days, hours, minutes, seconds, milliseconds)",
            self.text
        )
    }
}

impl std::error::Error for ParseDurationError {}

impl FromStr for Duration {
    type Err = ParseDurationError;

    /// Numbers with units, in any number; an optional leading word `interval` and a leading minus are understood.
    fn from_str(text: &str) -> Result<Duration, ParseDurationError> {
        parse(text).map(Duration).ok_or_else(|| ParseDurationError { text: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<i64> {
    let lower = text.trim().to_ascii_lowercase();
    let mut rest = lower.strip_prefix("interval ").unwrap_or(&lower).trim_start();
    let mut total = 0_i64;
    let mut any = false;
    while !rest.is_empty() {
        let (negative, digits) = match rest.strip_prefix('-') {
            Some(r) => (true, r.trim_start()),
            None => (false, rest.strip_prefix('+').unwrap_or(rest).trim_start()),
        };
        let split = digits.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = digits[..split].parse().ok()?;
        let after = digits[split..].trim_start();
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let part = number.checked_mul(unit_millis(&after[..end])?)?;
        total = total.checked_add(if negative { -part } else { part })?;
        rest = after[end..].trim_start();
        any = true;
    }
    any.then_some(total)
}

fn unit_millis(unit: &str) -> Option<i64> {
    Some(match unit {
        "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1,
        "s" | "sec" | "secs" | "second" | "seconds" => 1000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        "w" | "week" | "weeks" => 7 * 86_400_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_intervals_as_people_write_them() {
        for (text, millis) in [
            ("5 seconds", 5000),
            ("1 minute", 60_000),
            ("interval 5 hours", 18_000_000),
            ("1m 30s", 90_000),
            ("1m30s", 90_000),
            ("-2 days", -172_800_000),
            ("0 seconds", 0),
        ] {
            assert_eq!(text.parse::<Duration>().map(Duration::as_millis), Ok(millis), "{text}");
        }
        for text in ["", "5", "seconds", "5 parsecs", "999999999999999 days", "5 s x"] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_printed_parses_back() {
        for millis in [1, 999, 1000, 61_001, 90_061_001, -5, -61_001] {
            let text = Duration(millis).to_string();
            assert_eq!(text.parse::<Duration>().map(Duration::as_millis), Ok(millis), "{text}");
        }
    }
}
