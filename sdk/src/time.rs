//! Event time and spans of time, in milliseconds, within Beam's bounds.
//!
//! All arithmetic saturates at [`Timestamp::MIN`] and [`Timestamp::MAX`]; nothing here panics or wraps. Timestamps
//! print as RFC 3339, and the bounds by name; what they print can be parsed:
//!
//! ```
//! use purlin_sdk::{Duration, Timestamp};
//! let noon = Timestamp::from_millis(1_700_000_000_000).unwrap();
//! assert_eq!(noon.to_string(), "2023-11-14T22:13:20Z");
//! assert_eq!("2023-11-14T22:13:20Z".parse(), Ok(noon));
//! assert_eq!((Timestamp::MAX + Duration::from_secs(1)).to_string(), "+inf");
//! ```
//! Source of the bounds: Beam's `BoundedWindow.TIMESTAMP_MIN_VALUE`, `TIMESTAMP_MAX_VALUE` and
//! `GlobalWindow.maxTimestamp`.

mod combined;
mod duration;
mod timestamp;

pub use combined::CombinedWatermark;
pub use duration::{Duration, ParseDurationError};
pub use timestamp::{ParseTimestampError, Timestamp, TimestampOutOfBounds};
