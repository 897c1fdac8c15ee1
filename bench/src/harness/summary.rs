//! From runs to rows: medians, ratios to the reference, rows that count for nothing.

use serde::Serialize;

use super::child::Sample;
use super::rounds::Measured;
use crate::{System, Work};

/// One row of the table: a system on a number of threads, over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The work's name.
    pub work: &'static str,
    /// The system's name.
    pub system: &'static str,
    /// On how many threads.
    pub threads: usize,
    /// CPU seconds, the median.
    pub cpu_s: Option<f64>,
    /// Seconds on the wall, the median.
    pub wall_s: Option<f64>,
    /// Events (words) in a second on the wall, from the median.
    pub events_per_s: Option<f64>,
    /// The most memory, in MB, the median.
    pub peak_mb: Option<f64>,
    /// The results' checksum in hexadecimal.
    pub checksum: Option<String>,
    /// The reference's name; none for the reference itself.
    pub vs: Option<&'static str>,
    /// CPU time over the reference's: the median of the rounds' own ratios.
    pub ratio: Option<f64>,
    /// What the ratio should be at most.
    pub target: Option<f64>,
    /// CPU nanoseconds an event; of the table only.
    #[serde(skip)]
    pub ns_per_event: Option<f64>,
    /// Why the row counts for nothing; of the table only, where in JSON `ratio` is null and the checksum differs.
    #[serde(skip)]
    pub void: Option<String>,
}

/// The rows of a work: by number of threads, then in the systems' order.
pub fn rows(work: &Work, threads: &[usize], measured: &[Measured]) -> Vec<Row> {
    let Some(reference) = work.systems.first() else { return Vec::new() };
    // Results depend neither on the system nor on the threads, so one outcome of the reference stands for all.
    let expected = measured
        .iter()
        .find(|run| run.system == reference.name && run.sample.is_ok())
        .and_then(|run| run.sample.as_ref().ok());
    let mut rows = Vec::new();
    for &threads in threads {
        let of = |system: &System| -> Vec<&Measured> {
            measured.iter().filter(|run| run.system == system.name && run.threads == threads).collect()
        };
        let reference_runs = of(reference);
        let reference_void = void(reference, &reference_runs, expected).is_some();
        for system in work.systems.iter().filter(|system| system.runs_on(threads)) {
            let runs = of(system);
            let mut row = row(work.name, system, threads, &runs, expected);
            if system.name != reference.name {
                row.vs = Some(reference.name);
                if row.void.is_none() && !reference_void {
                    row.ratio = ratio(&runs, &reference_runs);
                }
            }
            rows.push(row);
        }
    }
    rows
}

/// The rows as a JSON array, a row a line.
///
/// # Errors
/// None that a [`Row`] can cause.
pub fn json(rows: &[Row]) -> serde_json::Result<String> {
    let lines: Vec<String> = rows.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}

fn row(
    work: &'static str,
    system: &System,
    threads: usize,
    runs: &[&Measured],
    expected: Option<&Sample>,
) -> Row {
    let samples: Vec<&Sample> = runs.iter().filter_map(|run| run.sample.as_ref().ok()).collect();
    let over = |value: fn(&Sample) -> Option<f64>| median(samples.iter().filter_map(|sample| value(sample)));
    let (cpu_s, wall_s) = (over(|sample| Some(sample.cpu_s)), over(|sample| Some(sample.wall_s)));
    let events = samples.first().map(|sample| sample.events as f64);
    // If runs differ, the row shows the one that is wrong.
    let wrong = samples.iter().find(|sample| Some(&sample.checksum) != expected.map(|right| &right.checksum));
    Row {
        work,
        system: system.name,
        threads,
        cpu_s,
        wall_s,
        events_per_s: quotient(events, wall_s),
        peak_mb: over(|sample| sample.peak_mb),
        checksum: wrong.or(samples.first()).map(|sample| sample.checksum.clone()),
        vs: None,
        ratio: None,
        target: system.target(threads),
        ns_per_event: quotient(cpu_s.map(|cpu| cpu * 1e9), events),
        void: void(system, runs, expected),
    }
}

/// Why a system's runs count for nothing, if they do.
fn void(system: &System, runs: &[&Measured], expected: Option<&Sample>) -> Option<String> {
    if let Some(why) = runs.iter().find_map(|run| run.sample.as_ref().err()) {
        return Some(format!("{} failed: {why}", system.name));
    }
    let Some(expected) = expected else { return Some(String::from("the reference has no result")) };
    let mut samples = runs.iter().filter_map(|run| run.sample.as_ref().ok());
    let wrong =
        samples.find(|sample| (&sample.checksum, sample.events) != (&expected.checksum, expected.events))?;
    Some(format!(
        "checksum {} over {} events, the reference has {} over {}",
        wrong.checksum, wrong.events, expected.checksum, expected.events
    ))
}

/// The median of the ratios of CPU times within each round.
fn ratio(runs: &[&Measured], reference: &[&Measured]) -> Option<f64> {
    median(runs.iter().filter_map(|run| {
        let beside = reference.iter().find(|other| other.round == run.round)?;
        quotient(Some(run.sample.as_ref().ok()?.cpu_s), Some(beside.sample.as_ref().ok()?.cpu_s))
    }))
}

fn quotient(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    Some(above? / below.filter(|below| *below > 0.0)?)
}

/// The middle value, or the mean of the middle two.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some((values[values.len() / 2 - 1] + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Input, hand};

    const WORK: Work = Work {
        name: "W",
        title: "a work",
        input: Input::Events { keys: 1 },
        n: 1,
        quick: 1,
        systems: &[
            System::new("hand", hand::w2::constant_times),
            System::new("other", hand::w2::constant_times).targets(&[(1, 1.5)]),
        ],
    };

    fn run(system: &'static str, threads: usize, round: u32, cpu_s: f64, checksum: &str) -> Measured {
        let checksum = String::from(checksum);
        let sample = Sample { checksum, events: 1_000, cpu_s, wall_s: 2.0, peak_mb: Some(1.0) };
        Measured { system, threads, round, sample: Ok(sample) }
    }

    #[test]
    fn the_ratio_is_the_median_of_paired_ratios() {
        // The ratio of medians would be 6 / 2 = 3; the pairs are 2, 2 and 6.
        let runs = [
            run("hand", 1, 0, 1.0, "a"),
            run("other", 1, 0, 2.0, "a"),
            run("hand", 1, 1, 4.0, "a"),
            run("other", 1, 1, 8.0, "a"),
            run("hand", 1, 2, 1.0, "a"),
            run("other", 1, 2, 6.0, "a"),
        ];
        let rows = rows(&WORK, &[1], &runs);
        assert_eq!((rows[0].vs, rows[0].ratio, rows[0].cpu_s), (None, None, Some(1.0)));
        assert_eq!((rows[1].vs, rows[1].ratio, rows[1].target), (Some("hand"), Some(2.0), Some(1.5)));
        assert_eq!((rows[1].events_per_s, rows[1].ns_per_event), (Some(500.0), Some(6e6)));
        assert!(rows.iter().all(|row| row.void.is_none()));
    }

    #[test]
    fn a_wrong_checksum_voids_the_row_alone() {
        let runs = [
            run("hand", 1, 0, 1.0, "a"),
            run("other", 1, 0, 2.0, "a"),
            run("hand", 1, 1, 1.0, "a"),
            run("other", 1, 1, 2.0, "b"),
        ];
        let rows = rows(&WORK, &[1], &runs);
        assert!(rows[0].void.is_none());
        assert!(rows[1].void.is_some() && rows[1].ratio.is_none());
        assert_eq!(rows[1].checksum.as_deref(), Some("b"));
    }

    #[test]
    fn a_reference_that_differs_by_threads_is_void_and_gives_no_ratio() {
        let runs = [run("hand", 1, 0, 1.0, "a"), run("hand", 2, 0, 1.0, "b"), run("other", 2, 0, 1.0, "a")];
        let rows = rows(&WORK, &[2], &runs);
        assert!(rows[0].void.is_some());
        assert!(rows[1].void.is_none() && rows[1].ratio.is_none());
    }

    #[test]
    fn a_run_that_failed_voids_the_row() {
        let mut failed = run("other", 1, 1, 1.0, "a");
        failed.sample = Err(String::from("signal 9"));
        let runs = [run("hand", 1, 0, 1.0, "a"), run("other", 1, 0, 1.0, "a"), failed];
        let rows = rows(&WORK, &[1], &runs);
        assert!(rows[1].void.as_ref().is_some_and(|why| why.contains("signal 9")));
    }

    #[test]
    fn json_has_a_row_a_line_and_the_names_that_readers_know() {
        let rows = rows(&WORK, &[1], &[run("hand", 1, 0, 1.0, "a"), run("other", 1, 0, 1.0, "a")]);
        let json = json(&rows).unwrap();
        assert_eq!(json.lines().count(), 4);
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        let mut names: Vec<&str> = read[1].as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        let mut expected = [
            "work",
            "system",
            "threads",
            "cpu_s",
            "wall_s",
            "events_per_s",
            "peak_mb",
            "checksum",
            "vs",
            "ratio",
            "target",
        ];
        expected.sort_unstable();
        assert_eq!(names, expected);
    }
}
