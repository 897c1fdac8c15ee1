//! Says by itself why there is no output.

use std::time::Instant;

use purlin_sdk::{
    Clock, Duration, Holder, RunHandle, RunResult, StageReport, StallReport, SystemClock, Timestamp,
};

use super::{
    progress::{self, Line},
    report,
};

/// Waits for the run's end, and shows meanwhile how far it is. When no watermark has moved for `patience`, it says what
/// holds them: once, until one moves again.
pub(super) fn wait(run: &RunHandle, patience: Duration, line: Option<Line>) -> RunResult {
    let patience = (patience > Duration::ZERO).then_some(patience);
    let every = match (&line, patience) {
        (Some(_), _) => progress::EVERY,
        (None, Some(patience)) => patience.to_std(),
        (None, None) => return run.wait(),
    };
    let mut told = None;
    let mut looked = Instant::now();
    loop {
        if let Some(result) = run.wait_timeout(every) {
            return result;
        }
        if let Some(line) = &line {
            line.show(run);
        }
        let Some(patience) = patience.filter(|patience| looked.elapsed() >= patience.to_std()) else {
            continue;
        };
        looked = Instant::now();
        let stall = run.stall_report();
        let last = last_move(&stall);
        if last.is_some() && last != told && is_stalled(&stall, patience) {
            let note = || report::note(&stall.to_string());
            match &line {
                Some(line) => line.aside(note),
                None => note(),
            }
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
