//! The manifest of a checkpoint: what its segments are, where they lie in the file, and their checksums.
//!
//! Its first line is `purlin checkpoint VERSION CHECKSUM`, where the checksum is that of all that follows: JSON. A
//! checkpoint is there once its manifest is; a manifest gets its name by a rename, when everything else is on disk.

use std::fmt::Write;

use purlin_sdk::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use super::SegmentName;

/// The version of manifest and segments. One that is not known is refused.
const VERSION: u32 = 1;
const FIRST: &str = "purlin checkpoint";

/// What is in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// Which one of the run it is.
    pub(super) number: u64,
    /// When it was made, by the wall clock.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub(super) made_at: Timestamp,
    /// How many bytes the file with the segments has.
    pub(super) bytes: u64,
    /// The segments, one behind the other.
    pub(super) segments: Vec<Entry>,
}

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) name: SegmentName,
    pub(super) bytes: u64,
    pub(super) crc32: u32,
}

fn as_text<S: Serializer>(at: &Timestamp, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(at)
}

fn from_text<'de, D: Deserializer<'de>>(d: D) -> Result<Timestamp, D::Error> {
    String::deserialize(d)?.parse().map_err(D::Error::custom)
}

impl Manifest {
    /// The text of the file.
    pub(super) fn to_text(&self) -> Result<String, String> {
        let body = serde_json::to_string_pretty(self).map_err(|e| e.to_string())?;
        let mut text = String::new();
        let _ = writeln!(text, "{FIRST} {VERSION} {:08x}", crc32fast::hash(body.as_bytes()));
        text.push_str(&body);
        Ok(text)
    }

    /// What a file says, or what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Manifest, String> {
        let (first, body) = text.split_once('\n').ok_or("it is cut off")?;
        let rest = first.strip_prefix(FIRST).ok_or("it does not begin like one")?;
        let (version, sum) = rest.trim().split_once(' ').ok_or("its first line is cut off")?;
        if version != VERSION.to_string() {
            return Err(format!("its version is {version}, and this program reads version {VERSION}"));
        }
        if sum != format!("{:08x}", crc32fast::hash(body.as_bytes())) {
            return Err("its checksum does not match: it is cut off or damaged".to_owned());
        }
        serde_json::from_str(body).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SegmentPart;

    fn manifest() -> Manifest {
        let name = SegmentName { stage: "Count/Group".into(), part: SegmentPart::KeyGroup(3) };
        let entry = Entry { name, bytes: 5, crc32: 7 };
        Manifest { number: 12, made_at: Timestamp::EPOCH, bytes: 5, segments: vec![entry] }
    }

    #[test]
    fn it_comes_back() {
        assert_eq!(Manifest::parse(&manifest().to_text().unwrap()), Ok(manifest()));
    }

    #[test]
    fn what_is_cut_off_or_changed_is_seen() {
        let text = manifest().to_text().unwrap();
        for end in 0..text.len() {
            assert!(Manifest::parse(&text[..end]).is_err(), "cut at {end}");
        }
        let changed = text.replacen("\"bytes\": 5", "\"bytes\": 6", 1);
        assert!(Manifest::parse(&changed).unwrap_err().contains("checksum"));
        let newer = text.replacen("checkpoint 1 ", "checkpoint 2 ", 1);
        assert!(Manifest::parse(&newer).unwrap_err().contains("version is 2"));
    }
}
