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
        let stuck = stuck_at(&stall, patience);
        if stuck.is_some() && stuck != told {
            let note = || report::note(&stall.to_string());
            match &line {
                Some(line) => line.aside(note),
                None => note(),
            }
            told = stuck;
        }
    }
}

/// What does not go on, and since when: so that it is told once. Nothing when the run goes on.
fn stuck_at(stall: &StallReport, patience: Duration) -> Option<(String, Timestamp)> {
    let long_ago = |at: Timestamp| SystemClock.now() - at >= patience;
    // A strategy that lacks data holds up what is behind it, whatever moves elsewhere.
    let lacks_data = |stage: &&StageReport| {
        stage.waited_for
            && long_ago(stage.since)
            && stage.holds.first().is_some_and(|hold| match hold.by {
                Holder::Assigned { silent, warm_up, .. } => silent > 0 || warm_up.is_some(),
                _ => false,
            })
    };
    if let Some(stage) = stall.stages.iter().find(lacks_data).filter(|_| !is_told(stall)) {
        return Some((stage.path.clone(), stage.since));
    }
    // A run whose watermarks only move at its end, such as one over files, is not stalled; neither is a query that waits
    // for data, also where it assigns the watermark itself.
    let told = stall.culprit().is_none_or(|(_, hold)| match hold.by {
        Holder::Scripted => true,
        Holder::Assigned { .. } | Holder::Controlled { .. } => is_told(stall),
        _ => false,
    });
    let last = stall.stages.iter().map(|stage| stage.since).max()?;
    (last > Timestamp::MIN && !told && long_ago(last)).then(|| (String::new(), last))
}

/// Whether somebody outside of the pipeline says what the watermark is, as of a query.
fn is_told(stall: &StallReport) -> bool {
    stall.stages.iter().any(|stage| stage.holds.iter().any(|hold| hold.by == Holder::Scripted))
}

#[cfg(test)]
mod tests {
    use purlin_sdk::Hold;

    use super::*;

    fn stage(path: &str, since: Timestamp, by: Holder) -> StageReport {
        StageReport {
            path: path.into(),
            site: String::new(),
            input: Timestamp::MIN,
            output: Timestamp::MIN,
            since,
            idle: false,
            waited_for: true,
            idle_restrictions: 0,
            holds: vec![Hold { at: Timestamp::MIN, by }],
        }
    }

    fn assigned(silent: usize) -> Holder {
        Holder::Assigned { strategy: "monotonous".into(), partitions: 2, idle: 0, silent, warm_up: None }
    }

    #[test]
    fn a_strategy_without_data_is_stuck_though_its_source_moves() {
        let minute = Duration::from_minutes(1);
        let now = SystemClock.now();
        let source = || stage("Read", now, Holder::Bundles { running: 1 });
        let report = |stages| StallReport { now: Some(now), stages };
        let silent = report(vec![source(), stage("Time", Timestamp::MIN, assigned(1))]);
        assert_eq!(stuck_at(&silent, minute), Some(("Time".to_owned(), Timestamp::MIN)));
        let fed = report(vec![source(), stage("Time", Timestamp::MIN, assigned(0))]);
        assert_eq!(stuck_at(&fed, minute), None);
        let query =
            report(vec![stage("Rows", now, Holder::Scripted), stage("Time", Timestamp::MIN, assigned(1))]);
        assert_eq!(stuck_at(&query, minute), None);
        let old = now - Duration::from_minutes(2);
        let stalled = report(vec![stage("Read", old, Holder::Bundles { running: 1 })]);
        assert_eq!(stuck_at(&stalled, minute), Some((String::new(), old)));
    }
}
