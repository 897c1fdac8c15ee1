//! A point in event time or processing time.

mod parse;
mod serde;

use std::{
    fmt,
    ops::{Add, Sub},
};

pub use parse::ParseTimestampError;

use super::Duration;

/// Milliseconds since 1970-01-01T00:00:00Z, always within [`Timestamp::MIN`]`..=`[`Timestamp::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The earliest time there is, Beam's `TIMESTAMP_MIN_VALUE`: what a watermark is before anything is known.
    pub const MIN: Timestamp = Timestamp(-9_223_372_036_854_775);
    /// The latest time there is, Beam's `TIMESTAMP_MAX_VALUE`: a watermark here says that nothing is to come.
    pub const MAX: Timestamp = Timestamp(9_223_372_036_854_775);
    /// The last timestamp in the global window, one day before [`Timestamp::MAX`].
    pub const GLOBAL_WINDOW_MAX: Timestamp = Timestamp(Timestamp::MAX.0 - 86_400_000);
    /// The epoch, 1970-01-01T00:00:00Z.
    pub const EPOCH: Timestamp = Timestamp(0);

    /// The time `millis` milliseconds after the epoch.
    ///
    /// # Errors
    /// When it lies outside [`Timestamp::MIN`]`..=`[`Timestamp::MAX`].
    pub const fn from_millis(millis: i64) -> Result<Timestamp, TimestampOutOfBounds> {
        if millis < Self::MIN.0 || millis > Self::MAX.0 {
            return Err(TimestampOutOfBounds { millis });
        }
        Ok(Timestamp(millis))
    }

    /// The time `millis` milliseconds after the epoch, or the nearer bound.
    pub const fn saturating_from_millis(millis: i64) -> Timestamp {
        if millis < Self::MIN.0 {
            Self::MIN
        } else if millis > Self::MAX.0 {
            Self::MAX
        } else {
            Timestamp(millis)
        }
    }

    /// The time `secs` seconds after the epoch, or the nearer bound.
    pub const fn from_secs(secs: i64) -> Timestamp {
        Self::saturating_from_millis(secs.saturating_mul(1000))
    }

    /// The wall clock's time.
    pub fn now() -> Timestamp {
        let millis = match std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |m| -m),
        };
        Self::saturating_from_millis(millis)
    }

    /// Milliseconds since the epoch.
    #[inline]
    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;
    #[inline]
    fn add(self, d: Duration) -> Timestamp {
        Timestamp::saturating_from_millis(self.0.saturating_add(d.as_millis()))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Timestamp;
    #[inline]
    fn sub(self, d: Duration) -> Timestamp {
        Timestamp::saturating_from_millis(self.0.saturating_sub(d.as_millis()))
    }
}

impl Sub for Timestamp {
    type Output = Duration;
    #[inline]
    fn sub(self, other: Timestamp) -> Duration {
        Duration::from_millis(self.0 - other.0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Timestamp::MIN => f.write_str("-inf"),
            Timestamp::MAX => f.write_str("+inf"),
            Timestamp::GLOBAL_WINDOW_MAX => f.write_str("end-of-global-window"),
            Timestamp(ms) => match jiff::Timestamp::from_millisecond(ms) {
                Ok(t) => write!(f, "{t}"),
                // Outside of the years -9999 to 9999, for which RFC 3339 has no words.
                Err(_) => write!(f, "{ms}ms"),
            },
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A number of milliseconds that is no [`Timestamp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampOutOfBounds {
    millis: i64,
}

impl fmt::Display for TimestampOutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ms since the epoch is outside the timestamps there are, {} to {} ms",
            self.millis,
            Timestamp::MIN.0,
            Timestamp::MAX.0
        )
    }
}

impl std::error::Error for TimestampOutOfBounds {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let day = Duration::from_secs(86_400);
        assert_eq!(Timestamp::MAX + day, Timestamp::MAX);
        assert_eq!(Timestamp::MIN - day, Timestamp::MIN);
        assert_eq!(Timestamp::MAX - Duration::MIN, Timestamp::MAX);
        assert_eq!(Timestamp::MIN + Duration::MAX, Timestamp::MAX);
        assert_eq!((Timestamp::MAX - Timestamp::MIN).as_millis(), 2 * 9_223_372_036_854_775);
    }

    #[test]
    fn out_of_bounds_is_refused_with_both_bounds() {
        let e = Timestamp::from_millis(i64::MAX).unwrap_err().to_string();
        assert!(e.contains("-9223372036854775 to 9223372036854775"), "{e}");
        assert!(serde_json::from_str::<Timestamp>("9223372036854776").is_err());
    }

    #[test]
    fn prints_times_people_can_read() {
        assert_eq!(Timestamp::MIN.to_string(), "-inf");
        assert_eq!(Timestamp::GLOBAL_WINDOW_MAX.to_string(), "end-of-global-window");
        assert_eq!(Timestamp::from_secs(-1).to_string(), "1969-12-31T23:59:59Z");
    }
}
