//! What is in force while an epoch is worked off.

use purlin_sdk::Timestamp;

use super::OutputMode;

/// What is in force in the epoch at work. It changes only when nothing is under way.
///
/// Two watermarks are in force, which differ when an epoch follows another one without one in between that only closes:
/// rows are late by the older one, results are final by the newer one. Source: Spark's micro-batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// Its number, from 0.
    pub id: u64,
    /// How far it is.
    pub phase: Phase,
    /// In [`Phase::Results`] and [`Phase::Closing`]: how many milliseconds have passed in it. An operator with `n` others
    /// with state before it shows its results at tick `n + 1`.
    pub tick: u32,
    /// What of the result it shows.
    pub mode: OutputMode,
    /// Whether results come out as rows come in, and not when the epoch's rows have been worked off (real time).
    pub immediate: bool,
    /// Rows at or before this are late: the watermark of the epoch before. The epoch (1970) when there is none yet.
    pub late: Timestamp,
    /// What ends at or before this is final: it is closed, and its state removed, at the end of the epoch.
    pub watermark: Timestamp,
    /// Processing time when it began.
    pub began: Timestamp,
}

impl Epoch {
    /// Before the first one.
    pub(crate) fn none() -> Epoch {
        Epoch {
            id: 0,
            phase: Phase::Rows,
            tick: 0,
            mode: OutputMode::Append,
            immediate: false,
            late: Timestamp::EPOCH,
            watermark: Timestamp::EPOCH,
            began: Timestamp::EPOCH,
        }
    }
}

/// How far an epoch is. Each phase is worked off by the whole pipeline before the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Rows come in.
    Rows,
    /// Processing time passes, a millisecond at a time, as often as there are operators with state: an operator that set
    /// a processing-time timer to `now + 1 ms` when rows came in shows its result here.
    Results,
    /// The pipeline's watermark goes to [`Epoch::watermark`]: event-time timers fire. After that processing time passes
    /// once more, as in `Results`.
    Closing,
}
