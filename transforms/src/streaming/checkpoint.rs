//! What a query writes down so that it can go on after a restart.
//!
//! ```text
//! LOCATION/metadata     the query's id, and what of its operators must stay as it is
//! LOCATION/lock         locked while a query uses the location
//! LOCATION/offsets/N    epoch N was begun: from where to where it reads, and by which watermarks
//! LOCATION/commits/N    epoch N is done, with the watermark that the next one closes by
//! LOCATION/state/N      what the pipeline had gathered when epoch N was done
//! ```
//! Each file is written under another name, synced and renamed, and has a version and a checksum. An epoch that was begun
//! and is not done is done again, with the same rows and the same watermarks, on the state of the epoch before.

mod file;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use purlin_sdk::{PipelineError, Timestamp};
use serde::{Deserialize, Serialize};

use self::file::{read, write, write_bytes};
use super::{Offset, WatermarkPolicy, driver::Position, settings::Settings};

/// How many epochs' logs are kept.
const LOGS: u64 = 100;

/// How many states are kept: that of the last epoch, and that of the one before, on which the last one can be done again.
const STATES: u64 = 2;

/// An epoch as it was begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EpochLog {
    pub(crate) epoch: u64,
    /// Where each source begins.
    pub(crate) from: Vec<Offset>,
    /// Where each source ends.
    pub(crate) to: Vec<Offset>,
    pub(crate) watermark: Timestamp,
    pub(crate) late: Timestamp,
    pub(crate) no_data: bool,
    pub(crate) policy: WatermarkPolicy,
    pub(crate) began: Timestamp,
}

#[derive(Debug, Serialize, Deserialize)]
struct Done {
    epoch: u64,
    next_watermark: Timestamp,
    /// How far the pipeline's clock was.
    clock: Timestamp,
}

#[derive(Debug, Serialize, Deserialize)]
struct Metadata {
    id: String,
    /// What must stay the same, by the operators' paths.
    #[serde(default)]
    operators: BTreeMap<String, String>,
}

/// Tells operators apart that would go on with what others have gathered.
fn differences(
    dir: &Path,
    was: &BTreeMap<String, String>,
    is: &BTreeMap<String, String>,
) -> Result<(), PipelineError> {
    let changed = was.iter().filter_map(|(path, was)| {
        let is = is.get(path).filter(|is| *is != was)?;
        Some(format!("\n  changed: `{path}`: it had {was}, and has {is}"))
    });
    let changed: String = changed.collect();
    if changed.is_empty() {
        return Ok(());
    }
    Err(PipelineError::runner(format!(
        "the checkpoint location {} is of a query that cannot be gone on with as this one:{changed}\n  A changed query \
         needs another checkpoint location",
        dir.display()
    )))
}

/// Where a query was, and what it had gathered.
pub(crate) type Resumed = (Position, Option<Vec<u8>>);

/// A checkpoint location.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    dir: PathBuf,
    /// The last epoch that was begun when it was opened.
    last: Option<u64>,
    /// Held while the query runs.
    lock: Option<fs::File>,
}

impl Checkpoint {
    /// Opens or makes it; with the query's id.
    ///
    /// # Errors
    /// When it cannot be used, or is that of a query with other `operators`.
    pub(crate) fn open(
        dir: &Path,
        operators: BTreeMap<String, String>,
    ) -> Result<(Checkpoint, String), PipelineError> {
        let failed = |e: io::Error| {
            PipelineError::runner(format!("the checkpoint location {} cannot be used: {e}", dir.display()))
        };
        for part in ["offsets", "commits", "state"] {
            fs::create_dir_all(dir.join(part)).map_err(failed)?;
        }
        let path = dir.join("metadata");
        let known: Option<Metadata> = read(&path)?;
        let id = match known {
            Some(known) => {
                differences(dir, &known.operators, &operators)?;
                known.id
            }
            None => {
                let id = uuid::Uuid::new_v4().to_string();
                write(&path, &Metadata { id: id.clone(), operators })?;
                id
            }
        };
        let mut checkpoint = Checkpoint { dir: dir.to_owned(), last: None, lock: None };
        checkpoint.last = checkpoint.last("offsets")?;
        Ok((checkpoint, id))
    }

    /// Keeps other queries out until it is dropped.
    ///
    /// # Errors
    /// When there is another one, or there was one since this was opened.
    pub(crate) fn lock(&mut self) -> Result<(), PipelineError> {
        let taken = |why: &str| {
            Err(PipelineError::runner(format!(
                "the checkpoint location {} {why}: a location is for one query at a time",
                self.dir.display()
            )))
        };
        let file = fs::OpenOptions::new().create(true).append(true).open(self.dir.join("lock"));
        let file = match file {
            Ok(file) => file,
            Err(e) => return taken(&format!("cannot be locked ({e})")),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return taken("is in use by another query; stop that one, or give this one another location");
            }
            Err(fs::TryLockError::Error(e)) => return taken(&format!("cannot be locked ({e})")),
        }
        if self.last("offsets")? != self.last {
            return taken("was used by another query since this one was built; build this one again");
        }
        self.lock = Some(file);
        Ok(())
    }

    fn path(&self, part: &str, epoch: u64) -> PathBuf {
        self.dir.join(part).join(epoch.to_string())
    }

    /// An epoch begins.
    pub(crate) fn begin(&mut self, log: &EpochLog) -> Result<(), PipelineError> {
        write(&self.path("offsets", log.epoch), log)
    }

    /// An epoch is done, after which the pipeline is as `state` says.
    pub(crate) fn done(
        &mut self,
        log: &EpochLog,
        next_watermark: Timestamp,
        clock: Timestamp,
        state: &[u8],
    ) -> Result<(), PipelineError> {
        write_bytes(&self.path("state", log.epoch), state)?;
        write(&self.path("commits", log.epoch), &Done { epoch: log.epoch, next_watermark, clock })?;
        for (part, kept) in [("offsets", LOGS), ("commits", LOGS), ("state", STATES)] {
            if let Some(old) = log.epoch.checked_sub(kept) {
                // What is not there is gone already.
                let _ = fs::remove_file(self.path(part, old));
            }
        }
        Ok(())
    }

    /// What the pipeline had gathered when `epoch` was done.
    fn state(&self, epoch: u64) -> Result<Vec<u8>, PipelineError> {
        let path = self.path("state", epoch);
        fs::read(&path).map_err(|e| {
            PipelineError::runner(format!(
                "{} cannot be read, without which the query cannot go on: {e}. Use another checkpoint location, or a \
                 copy of this one",
                path.display()
            ))
        })
    }

    /// Where the query was, and what it had gathered; nothing when it is new.
    pub(crate) fn resume(&mut self, settings: &Settings) -> Result<Option<Resumed>, PipelineError> {
        let Some(last) = self.last("offsets")? else { return Ok(None) };
        let Some(log) = read::<EpochLog>(&self.path("offsets", last))? else { return Ok(None) };
        let done = read::<Done>(&self.path("commits", last))?;
        let mut position = Position::start();
        position.policy = Some(log.policy);
        if let Some(done) = done {
            position.next = last + 1;
            position.offsets = log.to;
            position.before = log.watermark;
            position.watermark = done.next_watermark;
            position.clock = done.clock;
        } else {
            position.next = last;
            position.offsets = log.from.clone();
            position.before = log.late;
            position.watermark = log.watermark;
            if let Some(before) = last.checked_sub(1)
                && let Some(done) = read::<Done>(&self.path("commits", before))?
            {
                position.clock = done.clock;
            }
            position.again = Some(log);
        }
        tracing::info!(
            target: "purlin::streaming",
            name = settings.name.as_deref().unwrap_or("-"),
            epoch = position.next,
            "goes on from {}", self.dir.display()
        );
        let state = position.next.checked_sub(1).map(|before| self.state(before)).transpose()?;
        Ok(Some((position, state)))
    }

    /// The greatest epoch of which there is a file in `part`.
    fn last(&self, part: &str) -> Result<Option<u64>, PipelineError> {
        let dir = self.dir.join(part);
        let failed = |e: io::Error| {
            PipelineError::runner(format!("the checkpoint folder {} cannot be read: {e}", dir.display()))
        };
        let mut last = None;
        for entry in fs::read_dir(&dir).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            last = last.max(name.to_str().and_then(|name| name.parse().ok()));
        }
        Ok(last)
    }
}
