//! How a timestamp is written: as text where people read it, and as its milliseconds where machines do.

use std::fmt;

use ::serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Visitor},
};

use super::Timestamp;

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() { to.collect_str(self) } else { to.serialize_i64(self.as_millis()) }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        if from.is_human_readable() {
            return from.deserialize_any(TextOrMillis);
        }
        Timestamp::from_millis(i64::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// RFC 3339, or milliseconds since 1970 as a number.
struct TextOrMillis;

impl Visitor<'_> for TextOrMillis {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time as in RFC 3339, such as 2024-05-01T12:00:00Z, or milliseconds since 1970")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Timestamp, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, millis: i64) -> Result<Timestamp, E> {
        Timestamp::from_millis(millis).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, millis: u64) -> Result<Timestamp, E> {
        self.visit_i64(i64::try_from(millis).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_text_and_machines_numbers() {
        let noon: Timestamp = "2024-05-01T12:00:00Z".parse().unwrap();
        assert_eq!(serde_json::to_string(&noon).unwrap(), "\"2024-05-01T12:00:00Z\"");
        for text in ["\"2024-05-01T14:00:00+02:00\"", "1714564800000"] {
            assert_eq!(serde_json::from_str::<Timestamp>(text).unwrap(), noon);
        }
        for at in [Timestamp::MIN, Timestamp::GLOBAL_WINDOW_MAX, Timestamp::MAX, Timestamp::EPOCH] {
            assert_eq!(serde_json::from_str::<Timestamp>(&serde_json::to_string(&at).unwrap()).unwrap(), at);
        }
        let e = serde_json::from_str::<Timestamp>("true").unwrap_err().to_string();
        assert!(e.contains("RFC 3339"), "{e}");
        assert!(serde_json::from_str::<Timestamp>("9223372036854775807").is_err());
    }
}
