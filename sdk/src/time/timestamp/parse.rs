//! Timestamps as text.

use std::{fmt, str::FromStr};

use super::Timestamp;

/// Text that is no timestamp, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseTimestampError {
    text: String,
    reason: String,
}

impl fmt::Display for ParseTimestampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a timestamp: {}. Write RFC 3339 with an offset, such as `2024-05-01T12:00:00Z` or \
             `2024-05-01T14:00:00+02:00`; milliseconds since the epoch, such as `1714564800000ms`; or `-inf`, `+inf` or \
             `end-of-global-window`",
            self.text, self.reason
        )
    }
}

impl std::error::Error for ParseTimestampError {}

/// What a [`Timestamp`] prints comes back as the same one.
///
/// ```
/// use purlin_sdk::Timestamp;
/// let noon: Timestamp = "2024-05-01T14:00:00+02:00".parse()?;
/// assert_eq!(noon.to_string(), "2024-05-01T12:00:00Z");
/// assert_eq!("+inf".parse(), Ok(Timestamp::MAX));
/// assert!("2024-05-01T12:00:00".parse::<Timestamp>().is_err()); // where?
/// # Ok::<(), purlin_sdk::ParseTimestampError>(())
/// ```
impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    /// RFC 3339 with an offset or `Z`, to the millisecond before; milliseconds since the epoch with `ms` behind them;
    /// and the names of the bounds, `-inf`, `+inf` and `end-of-global-window`. Space around it is passed over.
    fn from_str(text: &str) -> Result<Timestamp, ParseTimestampError> {
        parse(text.trim()).map_err(|reason| ParseTimestampError { text: text.to_owned(), reason })
    }
}

fn parse(text: &str) -> Result<Timestamp, String> {
    match text {
        "-inf" => return Ok(Timestamp::MIN),
        "+inf" => return Ok(Timestamp::MAX),
        "end-of-global-window" => return Ok(Timestamp::GLOBAL_WINDOW_MAX),
        _ => {}
    }
    if let Some(millis) = text.strip_suffix("ms") {
        let millis: i64 = millis.parse().map_err(|e| format!("before `ms`: {e}"))?;
        return Timestamp::from_millis(millis).map_err(|e| e.to_string());
    }
    if text.parse::<f64>().is_ok_and(f64::is_finite) {
        return Err("it is a number without a unit".to_owned());
    }
    let at: jiff::Timestamp = text.parse().map_err(|e: jiff::Error| e.to_string())?;
    let millis = at.as_nanosecond().div_euclid(1_000_000);
    i64::try_from(millis)
        .ok()
        .and_then(|ms| Timestamp::from_millis(ms).ok())
        .ok_or("it is too far away".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap_or_else(|e| panic!("{e}")).as_millis()
    }

    #[test]
    fn what_is_printed_parses_back() {
        let year_10_000 = 253_402_300_800_000;
        let mut all = vec![
            Timestamp::MIN.0,
            Timestamp::MIN.0 + 1,
            -377_705_116_800_001,
            -1_500,
            -1,
            0,
            1,
            1_714_564_800_123,
            year_10_000 - 1,
            year_10_000,
            Timestamp::GLOBAL_WINDOW_MAX.0 - 1,
            Timestamp::GLOBAL_WINDOW_MAX.0,
            Timestamp::GLOBAL_WINDOW_MAX.0 + 1,
            Timestamp::MAX.0 - 1,
            Timestamp::MAX.0,
        ];
        // And some of every magnitude.
        all.extend((0..53).flat_map(|bits| [1_i64 << bits, -(1_i64 << bits), (1_i64 << bits) + 777]));
        for ms in all {
            let at = Timestamp::from_millis(ms).unwrap();
            assert_eq!(at.to_string().parse(), Ok(at), "{at}");
        }
    }

    #[test]
    fn offsets_count_and_fractions_go_to_the_millisecond_before() {
        assert_eq!(millis("1970-01-01T01:00:00+01:00"), 0);
        assert_eq!(millis("1969-12-31T23:00:00-01:00"), 0);
        assert_eq!(millis(" 1970-01-01T00:00:00.25Z\n"), 250);
        assert_eq!(millis("1970-01-01T00:00:00.000999999Z"), 0);
        assert_eq!(millis("1969-12-31T23:59:59.9999Z"), -1);
        assert_eq!(millis("-7ms"), -7);
    }

    #[test]
    fn what_is_none_is_told_with_the_reason_and_the_way_out() {
        for (text, reason) in [
            ("2024-05-01T12:00:00", "offset"),
            ("2024-05-01", "time component"),
            ("2024-13-01T12:00:00Z", "month"),
            ("2024-02-30T12:00:00Z", "day"),
            ("yesterday", "year"),
            ("", "end of input"),
            ("1714564800", "without a unit"),
            ("17145648.5", "without a unit"),
            ("inf", "year"),
            ("9223372036854776ms", "outside the timestamps there are"),
            ("1.5ms", "before `ms`: invalid digit"),
        ] {
            let error = text.parse::<Timestamp>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` is not a timestamp: ")), "{error}");
            assert!(error.contains(reason) && error.contains("2024-05-01T14:00:00+02:00"), "{error}");
        }
    }
}
