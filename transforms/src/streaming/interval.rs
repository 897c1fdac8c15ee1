//! Spans of time as people write them into queries.

use std::{error::Error, fmt};

use purlin_sdk::Duration;

const DAY: i64 = 86_400_000_000;

/// Months, days and microseconds, as Spark keeps them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Interval {
    months: i32,
    days: i32,
    micros: i64,
}

impl Interval {
    /// A month has 31 days, so that a delay is never shorter than the month that was meant.
    fn micros_at_31_days(self) -> Option<i64> {
        let months = i64::from(self.months).checked_mul(31 * DAY)?;
        let days = i64::from(self.days).checked_mul(DAY)?;
        self.micros.checked_add(days)?.checked_add(months)
    }
}

/// Why a text is no span of time for its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntervalError {
    /// It is not made of numbers and units.
    NotAnInterval {
        /// The text.
        text: String,
    },
    /// It is below zero.
    Negative {
        /// The text.
        text: String,
    },
    /// It is zero, where there must be some time.
    Zero {
        /// The text.
        text: String,
    },
    /// It has months or years, which are not all equally long.
    MonthOrYear {
        /// The text.
        text: String,
    },
}

impl fmt::Display for IntervalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntervalError::NotAnInterval { text } => write!(
                f,
                "`{text}` is no span of time, or one that is too long; write whole numbers with units, such as `10 minutes` or `1 hour 30 \
                 minutes` (microseconds, milliseconds, seconds, minutes, hours, days, weeks, months, years; seconds \
                 may have a fraction)"
            ),
            IntervalError::Negative { text } => {
                write!(f, "`{text}` is below zero, which it must not be here; leave the minus out")
            }
            IntervalError::Zero { text } => write!(f, "`{text}` is no time at all; give it more than zero"),
            IntervalError::MonthOrYear { text } => write!(
                f,
                "`{text}` has months or years, which are not all equally long; write it in days or less"
            ),
        }
    }
}

impl Error for IntervalError {}

/// How a watermark's delay is written: numbers with units, as many as one likes, of any letter case, with the word
/// `interval` before them or not, a number in quotes or not, each with a sign or not. A month is 31 days, a year 12
/// months; what is below a millisecond is left out. The sum must not be below zero.
///
/// ```
/// use purlin_sdk::Duration;
/// use purlin_transforms::streaming::parse_delay;
/// assert_eq!(parse_delay("1 hour 30 minutes"), Ok(Duration::from_minutes(90)));
/// assert_eq!(parse_delay("INTERVAL '10' minute"), Ok(Duration::from_minutes(10)));
/// assert!(parse_delay("10").is_err());
/// ```
/// # Errors
/// When it is not written so, or below zero.
///
/// Source: Spark's `withWatermark`.
pub fn parse_delay(text: &str) -> Result<Duration, IntervalError> {
    let interval = parse(text, true).ok_or_else(|| not_an_interval(text))?;
    let micros = interval.micros_at_31_days().ok_or_else(|| not_an_interval(text))?;
    if micros < 0 {
        return Err(IntervalError::Negative { text: text.to_owned() });
    }
    Ok(Duration::from_millis(micros / 1000))
}

/// How the sizes, slides, offsets and gaps of windows are written: as a [delay](parse_delay), but without months and
/// years, and it may be below zero.
///
/// ```
/// use purlin_sdk::Duration;
/// use purlin_transforms::streaming::parse_span;
/// assert_eq!(parse_span("-15 minutes"), Ok(Duration::from_minutes(-15)));
/// assert!(parse_span("1 month").is_err());
/// ```
/// # Errors
/// When it is not written so.
///
/// Source: Spark's `window`.
pub fn parse_span(text: &str) -> Result<Duration, IntervalError> {
    span(text, true)
}

/// How a trigger's interval is written: as a [span](parse_span), not below zero, and without quotes.
pub(super) fn parse_trigger(text: &str) -> Result<Duration, IntervalError> {
    let time = span(text, false)?;
    if time < Duration::ZERO {
        return Err(IntervalError::Negative { text: text.to_owned() });
    }
    Ok(time)
}

fn span(text: &str, sql: bool) -> Result<Duration, IntervalError> {
    let interval = parse(text, sql).ok_or_else(|| not_an_interval(text))?;
    if interval.months != 0 {
        return Err(IntervalError::MonthOrYear { text: text.to_owned() });
    }
    let micros = interval.micros_at_31_days().ok_or_else(|| not_an_interval(text))?;
    Ok(Duration::from_millis(micros.div_euclid(1000)))
}

fn not_an_interval(text: &str) -> IntervalError {
    IntervalError::NotAnInterval { text: text.to_owned() }
}

/// In SQL a number may be in quotes, and a sign may follow a unit at once.
fn parse(text: &str, sql: bool) -> Option<Interval> {
    let lower = text.trim().to_ascii_lowercase();
    let mut rest = match lower.strip_prefix("interval") {
        Some(rest) if rest.starts_with(char::is_whitespace) || (sql && rest.starts_with('\'')) => rest,
        Some(_) => return None,
        None => &lower,
    }
    .trim_start();
    let mut interval = Interval::default();
    let mut any = false;
    while !rest.is_empty() {
        let (negative, after) = sign(rest);
        let (negative, digits, after) = if let Some(quoted) = after.strip_prefix('\'').filter(|_| sql) {
            let (inner, after) = quoted.split_once('\'')?;
            let (inner_negative, digits) = sign(inner.trim());
            (negative != inner_negative, digits, after)
        } else {
            let end = after.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(after.len());
            // `10minutes` is a word, and no number.
            if !after[end..].starts_with(char::is_whitespace) {
                return None;
            }
            (negative, &after[..end], &after[end..])
        };
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let unit = after.get(..end)?;
        interval.add(digits, unit.strip_suffix('s').unwrap_or(unit), negative)?;
        let next = &after[end..];
        rest = next.trim_start();
        if !sql && !rest.is_empty() && rest.len() == next.len() {
            return None;
        }
        any = true;
    }
    any.then_some(interval)
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text.strip_prefix('+').unwrap_or(text).trim_start()),
    }
}

impl Interval {
    fn add(&mut self, number: &str, unit: &str, negative: bool) -> Option<()> {
        let (whole, fraction) = match number.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (number, None),
        };
        if fraction.is_some() && unit != "second" || whole.is_empty() && fraction.is_none_or(str::is_empty) {
            return None;
        }
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !fraction.is_none_or(digits) {
            return None;
        }
        let n: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let n = if negative { -n } else { n };
        let micros = |each: i64| n.checked_mul(each);
        let small = |each: i64| micros(each).and_then(|n| i32::try_from(n).ok());
        match unit {
            "year" => self.months = self.months.checked_add(small(12)?)?,
            "month" => self.months = self.months.checked_add(small(1)?)?,
            "week" => self.days = self.days.checked_add(small(7)?)?,
            "day" => self.days = self.days.checked_add(small(1)?)?,
            "hour" => self.micros = self.micros.checked_add(micros(3_600_000_000)?)?,
            "minute" => self.micros = self.micros.checked_add(micros(60_000_000)?)?,
            "second" => {
                let part = micros_of(fraction.unwrap_or_default())?;
                let part = if negative { -part } else { part };
                self.micros = self.micros.checked_add(micros(1_000_000)?.checked_add(part)?)?;
            }
            "millisecond" => self.micros = self.micros.checked_add(micros(1000)?)?,
            "microsecond" => self.micros = self.micros.checked_add(n)?,
            _ => return None,
        }
        Some(())
    }
}

/// The digits behind the point of a number of seconds; at most nine are allowed, and six are kept.
fn micros_of(fraction: &str) -> Option<i64> {
    if fraction.len() > 9 {
        return None;
    }
    let six: String = fraction.chars().chain("000000".chars()).take(6).collect();
    six.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(text: &str) -> Option<i64> {
        parse_delay(text).ok().map(Duration::as_millis)
    }

    #[test]
    fn delays_as_people_write_them() {
        for (text, millis) in [
            ("0 seconds", 0),
            ("10 minute", 600_000),
            ("10   MINUTES", 600_000),
            ("1 hour 30 minutes", 5_400_000),
            ("interval 10 minutes", 600_000),
            ("interval '10' minute", 600_000),
            ("interval'-10'minute 11 minutes", 60_000),
            ("1 minute -30 seconds", 30_000),
            ("1 minute-30 seconds", 30_000),
            ("-1 minute 90 seconds", 30_000),
            ("1.5 seconds", 1500),
            (".5 seconds", 500),
            ("1500 microseconds", 1),
            ("999 microseconds", 0),
            ("1 week", 7 * 86_400_000),
            ("1 month", 31 * 86_400_000),
            ("1 year 1 month 1 day", (13 * 31 + 1) * 86_400_000),
        ] {
            assert_eq!(delay(text), Some(millis), "{text}");
        }
    }

    #[test]
    fn what_is_no_delay() {
        for text in [
            "",
            " ",
            "0",
            "10",
            "abc",
            "interval",
            "intervals 1 day",
            "10 minutes ago",
            "PT10M",
            "10min",
            "10minutes",
            "10 mins",
            "90 s",
            "1 nanosecond",
            "9223372036854775807 seconds",
            "1.5 minutes",
            "1.0000000001 seconds",
            ". seconds",
            "'10 minute",
            "1 day x",
            "3000000000 days",
            "- minutes",
            "1..5 seconds",
        ] {
            assert_eq!(delay(text), None, "{text}");
        }
        assert_eq!(parse_delay("-10 minutes"), Err(IntervalError::Negative { text: "-10 minutes".into() }));
    }

    #[test]
    fn triggers_are_stricter_than_delays() {
        assert_eq!(parse_trigger("interval 5 seconds"), Ok(Duration::from_secs(5)));
        assert_eq!(parse_trigger("0 seconds"), Ok(Duration::ZERO));
        assert_eq!(parse_trigger("1 month"), Err(IntervalError::MonthOrYear { text: "1 month".into() }));
        assert_eq!(parse_trigger("-1 seconds"), Err(IntervalError::Negative { text: "-1 seconds".into() }));
        for text in ["'5' seconds", "1 minute-30 seconds", "0", "", "abc"] {
            assert!(parse_trigger(text).is_err(), "{text}");
        }
        assert_eq!(parse_span("1500 microseconds"), Ok(Duration::from_millis(1)));
    }
}
