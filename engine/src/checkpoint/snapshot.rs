//! A cut as bytes.

use std::{fmt, sync::Arc};

use purlin_sdk::{
    PipelineError,
    exec::save::{put, take},
};
use serde::{Deserialize, Serialize};

/// A pipeline between two commits: everything that is needed to go on from there.
///
/// ```
/// use std::sync::Arc;
/// use purlin_engine::{Engine, EngineConfig, Next, Snapshot};
/// use purlin_sdk::{Pipeline, SystemClock, Timestamp, exec::{Checks, RunEnv}};
///
/// let p = Pipeline::new();
/// p.create("Numbers", 0..9).key_by("Parity", |n| n % 2).group_by_key("Group");
/// let graph = p.build().unwrap();
/// let env = RunEnv {
///     options: graph.options.clone(),
///     clock: Arc::new(SystemClock),
///     parallelism: 1,
///     atomic: false,
///     checks: Checks::default(),
/// };
/// let config = EngineConfig::default();
/// let mut engine = Engine::new(&graph, env.clone(), config.clone()).unwrap();
/// let Next::Task(first) = engine.next(Timestamp::EPOCH) else { panic!("there is nothing to do") };
/// engine.commit(first.run(), Timestamp::EPOCH);
///
/// let bytes = engine.snapshot().unwrap().to_bytes();
/// let snapshot = Snapshot::from_bytes(&bytes).unwrap();
/// let again = Engine::restore(&graph, env, config, &snapshot).unwrap();
/// assert_eq!(again.watermarks("Group"), engine.watermarks("Group"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    segments: Vec<Segment>,
}

/// A part of a cut that can be written and read by itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Segment {
    /// What it is of.
    pub name: SegmentName,
    /// The encoding.
    pub bytes: Vec<u8>,
}

/// What a segment is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentName {
    /// The path of the transform that its stage begins with; empty for what is of the whole pipeline.
    pub stage: Arc<str>,
    /// What of it.
    pub part: SegmentPart,
}

/// What of a stage a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SegmentPart {
    /// The graph, clocks, metrics, and how far each stage has come.
    Header,
    /// Elements and restrictions that wait.
    Items,
    /// Windows that closed and are not emitted yet.
    Windows,
    /// What one worker has gathered for a grouping or a side input.
    Shard,
    /// Windows of a side input that are built.
    Values,
    /// One key group.
    KeyGroup(u32),
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            SegmentPart::Header => f.write_str("header"),
            SegmentPart::Items => write!(f, "what waits for `{}`", self.stage),
            SegmentPart::Windows => write!(f, "closed windows of `{}`", self.stage),
            SegmentPart::Shard => write!(f, "a shard of `{}`", self.stage),
            SegmentPart::Values => write!(f, "values of `{}`", self.stage),
            SegmentPart::KeyGroup(n) => write!(f, "key group {n} of `{}`", self.stage),
        }
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} bytes", self.name, self.bytes.len())
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.segments).finish()
    }
}

const MAGIC: &[u8; 8] = b"purlin\x00s";
/// The version of the format, of the whole and of each segment. One that is not known is refused.
const VERSION: u32 = 1;

impl Snapshot {
    /// A cut of these segments.
    pub fn from_segments(segments: Vec<Segment>) -> Snapshot {
        Snapshot { segments }
    }

    /// Its parts.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// How many bytes its parts have.
    pub fn len(&self) -> usize {
        self.segments.iter().map(|s| s.bytes.len()).sum()
    }

    /// Whether there is nothing in it, which is no cut at all.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// All of it as one string of bytes, with a checksum.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len() + 64 * self.segments.len() + 32);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(self.segments.len() as u64).to_le_bytes());
        for Segment { name, bytes } in &self.segments {
            let before = out.len();
            if put(name, &mut out).is_err() {
                // A name is text and numbers, which always encode; were it not, the checksum would not hold either.
                out.truncate(before);
            }
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        }
        let sum = crc32fast::hash(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// What [`to_bytes`](Snapshot::to_bytes) made.
    ///
    /// # Errors
    /// When the bytes are no cut, one of another version, or were damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Snapshot, PipelineError> {
        let broken = |what: &str| PipelineError::runner(format!("the snapshot cannot be read: {what}"));
        let Some((body, sum)) = bytes.split_last_chunk::<4>() else {
            return Err(broken("it is cut off"));
        };
        let Some(mut rest) = body.strip_prefix(MAGIC) else {
            return Err(broken("it does not begin like one"));
        };
        let version = u32::from_le_bytes(*chunk(&mut rest).ok_or_else(|| broken("it is cut off"))?);
        if version != VERSION {
            return Err(broken(&format!(
                "its version is {version}, and this program reads version {VERSION}"
            )));
        }
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return Err(broken("its checksum does not match: it is cut off or damaged"));
        }
        let mut read = || {
            let count = u64::from_le_bytes(*chunk(&mut rest)?);
            let mut segments = Vec::new();
            for _ in 0..count {
                let name = take(&mut rest).ok()?;
                let len = usize::try_from(u64::from_le_bytes(*chunk(&mut rest)?)).ok()?;
                let (bytes, behind) = rest.split_at_checked(len)?;
                segments.push(Segment { name, bytes: bytes.to_vec() });
                rest = behind;
            }
            rest.is_empty().then_some(segments)
        };
        let segments = read().ok_or_else(|| broken("its parts are not what it says"))?;
        Ok(Snapshot { segments })
    }
}

fn chunk<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        let name = |stage: &str, part| SegmentName { stage: stage.into(), part };
        Snapshot::from_segments(vec![
            Segment { name: name("", SegmentPart::Header), bytes: b"head".to_vec() },
            Segment { name: name("A/B", SegmentPart::KeyGroup(7)), bytes: Vec::new() },
        ])
    }

    #[test]
    fn it_comes_back() {
        assert_eq!(Snapshot::from_bytes(&snapshot().to_bytes()).unwrap(), snapshot());
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_seen() {
        let bytes = snapshot().to_bytes();
        for end in 0..bytes.len() {
            assert!(Snapshot::from_bytes(&bytes[..end]).is_err(), "cut at {end}");
        }
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Snapshot::from_bytes(&damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn another_version_is_named() {
        let mut bytes = snapshot().to_bytes();
        bytes[8] = 9;
        let e = Snapshot::from_bytes(&bytes).unwrap_err().to_string();
        assert!(e.contains("version is 9") && e.contains("reads version 1"), "{e}");
    }
}
