//! Says by itself why there is no output.

use purlin_sdk::{
    Clock, Duration, Holder, RunHandle, RunResult, StageReport, StallReport, SystemClock, Timestamp,
};

use super::report;

/// Waits for the run's end. When no watermark has moved for `patience`, it says what holds them: once, until one moves
/// again.
pub(super) fn wait(run: &RunHandle, patience: Duration) -> RunResult {
    if patience <= Duration::ZERO {
        return run.wait();
    }
    let mut told = None;
    loop {
        if let Some(result) = run.wait_timeout(patience.to_std()) {
            return result;
        }
        let stall = run.stall_report();
        let last = last_move(&stall);
        if last.is_some() && last != told && is_stalled(&stall, patience) {
            report::note(&stall.to_string());
            told = last;
        }
    }
}

/// When a watermark moved last.
fn last_move(stall: &StallReport) -> Option<Timestamp> {
    stall.stages.iter().map(|stage| stage.since).max()
}

fn is_stalled(stall: &StallReport, patience: Duration) -> bool {
    // A run whose watermarks only move at its end, such as one over files, is not stalled; neither is a query that waits
    // for data, also where it assigns the watermark itself.
    let is_told = |stage: &StageReport| stage.holds.iter().any(|hold| hold.by == Holder::Scripted);
    let told = stall.culprit().is_none_or(|(_, hold)| match hold.by {
        Holder::Scripted => true,
        Holder::Assigned { .. } | Holder::Controlled { .. } => stall.stages.iter().any(is_told),
        _ => false,
    });
    let last = last_move(stall).filter(|last| *last > Timestamp::MIN && !told);
    last.is_some_and(|last| SystemClock.now() - last >= patience)
}
