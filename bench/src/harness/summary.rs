//! From runs to rows: medians, paired ratios, rows that count for nothing.

use serde::Serialize;

use super::rounds::Measured;
use crate::{Against, Place, Sample, System, Work};

/// One row of the table: a system on a number of threads, over all rounds, held against one thing.
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
    /// What the row is held against; none for the reference itself.
    pub vs: Option<String>,
    /// CPU time (or what `vs` says) over that of what it is held against: the median of the rounds' own ratios.
    pub ratio: Option<f64>,
    /// What the ratio should be at most.
    pub target: Option<f64>,
    /// The latency that half of the results keep, of works about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// The latency that 99 of 100 results keep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// CPU nanoseconds an event; of the table only.
    #[serde(skip)]
    pub ns_per_event: Option<f64>,
    /// Whether this is the system's first row.
    #[serde(skip)]
    pub first: bool,
    /// Why the row counts for nothing; of the table only, where in JSON `ratio` is null and the checksum differs.
    #[serde(skip)]
    pub void: Option<String>,
}

/// The runs of a work, and what they are checked against.
struct Runs<'a> {
    work: &'static str,
    measured: &'a [Measured],
    /// Results depend neither on the system nor on the threads, so one outcome of the reference stands for all.
    expected: Option<&'a Sample>,
}

/// The rows of a work: by number of threads, then in the systems' order, then a row for each comparison.
pub fn rows(work: &Work, systems: &[&System], threads: &[usize], measured: &[Measured]) -> Vec<Row> {
    let Some(reference) = systems.first() else { return Vec::new() };
    let expected =
        measured.iter().filter(|run| run.system == reference.name).find_map(|run| run.sample.as_ref().ok());
    let runs = Runs { work: work.name, measured, expected };
    let mut rows = Vec::new();
    for &threads in threads {
        for system in systems.iter().filter(|system| system.runs_on(threads)) {
            let own = runs.of(system.name, threads);
            let row = runs.row(system, threads, &own);
            let mut comparisons: Vec<(Against, Option<f64>)> =
                system.comparisons().iter().map(|held| (held.against, held.target(threads))).collect();
            for other in others(system, systems) {
                if !comparisons.iter().any(|(against, _)| *against == Against::System(other)) {
                    comparisons.push((Against::System(other), None));
                }
            }
            let mut held = Vec::new();
            for (against, target) in comparisons {
                if let Some((vs, ratio)) = runs.compare(against, systems, threads, &own) {
                    let ratio = ratio.filter(|_| row.void.is_none());
                    held.push(Row { vs: Some(vs), ratio, target, first: held.is_empty(), ..row.clone() });
                }
            }
            if held.is_empty() {
                held.push(row);
            }
            rows.extend(held);
        }
    }
    rows
}

/// What a system is compared with unasked: everything with the reference, Purlin with all that is not Purlin.
fn others(system: &System, systems: &[&System]) -> Vec<&'static str> {
    let of = |(at, other): (usize, &&System)| {
        let compared = at == 0 || (system.is_purlin() && matches!(other.place, Place::Peer));
        (compared && other.name != system.name).then_some(other.name)
    };
    systems.iter().enumerate().filter_map(of).collect()
}

impl<'a> Runs<'a> {
    /// A system's runs on some threads.
    fn of(&self, system: &str, threads: usize) -> Vec<&'a Measured> {
        self.measured.iter().filter(|run| run.system == system && run.threads == threads).collect()
    }

    fn row(&self, system: &System, threads: usize, runs: &[&Measured]) -> Row {
        let samples: Vec<&Sample> = runs.iter().filter_map(|run| run.sample.as_ref().ok()).collect();
        let over =
            |value: fn(&Sample) -> Option<f64>| median(samples.iter().filter_map(|sample| value(sample)));
        let (cpu_s, wall_s) = (over(|sample| Some(sample.cpu_s)), over(|sample| Some(sample.wall_s)));
        let events = samples.first().map(|sample| sample.events as f64);
        // If runs differ, the row shows the one that is wrong.
        let wrong = samples
            .iter()
            .find(|sample| Some(&sample.checksum) != self.expected.map(|right| &right.checksum));
        Row {
            work: self.work,
            system: system.name,
            threads,
            cpu_s,
            wall_s,
            events_per_s: quotient(events, wall_s),
            peak_mb: over(|sample| sample.peak_mb),
            checksum: wrong.or(samples.first()).map(|sample| sample.checksum.clone()),
            vs: None,
            ratio: None,
            target: None,
            p50_ms: over(|sample| sample.latency.map(|latency| latency.p50_ms)),
            p99_ms: over(|sample| sample.latency.map(|latency| latency.p99_ms)),
            ns_per_event: quotient(cpu_s.map(|cpu| cpu * 1e9), events),
            first: true,
            void: self.void(system, runs),
        }
    }

    /// Why a system's runs count for nothing, if they do.
    fn void(&self, system: &System, runs: &[&Measured]) -> Option<String> {
        if let Some(why) = runs.iter().find_map(|run| run.sample.as_ref().err()) {
            return Some(format!("{} failed: {why}", system.name));
        }
        let Some(expected) = self.expected else { return Some(String::from("the reference has no result")) };
        let right =
            |sample: &&Sample| (sample.events, &sample.checksum) == (expected.events, &expected.checksum);
        let wrong = runs.iter().filter_map(|run| run.sample.as_ref().ok()).find(|sample| !right(sample))?;
        Some(format!(
            "checksum {} over {} events, the reference has {} over {}",
            wrong.checksum, wrong.events, expected.checksum, expected.events
        ))
    }

    /// What runs are held against and their ratio to it; none if that did not run. There is no ratio to what is void.
    fn compare(
        &self,
        against: Against,
        systems: &[&System],
        threads: usize,
        own: &[&Measured],
    ) -> Option<(String, Option<f64>)> {
        let cpu = |sample: &Sample| Some(sample.cpu_s);
        let wall = |sample: &Sample| Some(sample.wall_s);
        match against {
            Against::System(name) => {
                let other = systems.iter().find(|system| system.name == name)?;
                let (of, vs) = if other.runs_on(threads) {
                    (threads, String::from(name))
                } else {
                    (1, format!("{name}, 1 thread"))
                };
                let beside = self.of(name, of);
                let sound = !beside.is_empty() && self.void(other, &beside).is_none();
                Some((vs, sound.then(|| paired(own, &beside, cpu)).flatten()))
            }
            Against::OneThread | Against::OneThreadWall => {
                let beside = self.of(own.first()?.system, 1);
                if threads == 1 || beside.is_empty() {
                    return None;
                }
                Some(match against {
                    Against::OneThread => (String::from("1 thread"), paired(own, &beside, cpu)),
                    _ => (String::from("1 thread, wall"), paired(own, &beside, wall)),
                })
            }
            Against::Nanoseconds(bound) => {
                let each = |sample: &Sample| Some(sample.cpu_s * 1e9 / sample.events as f64);
                Some((format!("{bound} ns"), bounded(own, each, bound)))
            }
            Against::P99(bound) => {
                let p99 = |sample: &Sample| sample.latency.map(|latency| latency.p99_ms);
                Some((format!("{bound} ms p99"), bounded(own, p99, bound)))
            }
            Against::Memory(bound) => {
                Some((format!("{bound} MB"), bounded(own, |sample| sample.peak_mb, bound)))
            }
        }
    }
}

/// The median of the ratios within each round.
fn paired(runs: &[&Measured], beside: &[&Measured], value: fn(&Sample) -> Option<f64>) -> Option<f64> {
    let of = |run: &Measured| run.sample.as_ref().ok().and_then(value);
    median(runs.iter().filter_map(|run| {
        let other = beside.iter().find(|other| other.round == run.round)?;
        quotient(of(run), of(other))
    }))
}

/// The median over a bound.
fn bounded(runs: &[&Measured], value: impl Fn(&Sample) -> Option<f64>, bound: f64) -> Option<f64> {
    quotient(median(runs.iter().filter_map(|run| value(run.sample.as_ref().ok()?))), Some(bound))
}

/// The rows as a JSON array, a row a line.
///
/// # Errors
/// None that a [`Row`] can cause.
pub fn json(rows: &[Row]) -> serde_json::Result<String> {
    let lines: Vec<String> = rows.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
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
    use crate::{Input, hand, vs, within};

    const WORK: Work = Work {
        name: "W",
        title: "a work",
        input: Input::Events { keys: 1 },
        n: 1,
        quick: 1,
        systems: &[
            System::new("hand", hand::w2::constant_times),
            System::new("other", hand::w2::constant_times).held(&[
                vs("hand", &[(1, 1.5)]),
                within(Against::OneThread, &[(2, 1.1)]),
                within(Against::OneThreadWall, &[(2, 0.6)]),
            ]),
        ],
    };

    fn of(threads: &[usize], runs: &[Measured]) -> Vec<Row> {
        let systems: Vec<&System> = WORK.systems.iter().collect();
        rows(&WORK, &systems, threads, runs)
    }

    fn run(system: &'static str, threads: usize, round: u32, cpu_s: f64, checksum: &str) -> Measured {
        let checksum = String::from(checksum);
        let sample =
            Sample { checksum, events: 1_000, cpu_s, wall_s: 2.0, peak_mb: Some(1.0), latency: None };
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
        let rows = of(&[1], &runs);
        assert_eq!((&rows[0].vs, rows[0].ratio, rows[0].cpu_s), (&None, None, Some(1.0)));
        assert_eq!(
            (rows[1].vs.as_deref(), rows[1].ratio, rows[1].target),
            (Some("hand"), Some(2.0), Some(1.5))
        );
        assert_eq!((rows[1].events_per_s, rows[1].ns_per_event), (Some(500.0), Some(6e6)));
        assert!(rows.iter().all(|row| row.void.is_none()));
    }

    #[test]
    fn each_comparison_has_a_row() {
        let mut runs = Vec::new();
        for (threads, cpu_s) in [(1, 2.0), (2, 3.0)] {
            runs.push(run("hand", threads, 0, 1.0, "a"));
            runs.push(run("other", threads, 0, cpu_s, "a"));
        }
        let rows = of(&[1, 2], &runs);
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.system, row.threads, row.vs.as_deref(), row.ratio, row.target, row.first))
            .collect();
        assert_eq!(
            told,
            [
                ("hand", 1, None, None, None, true),
                ("other", 1, Some("hand"), Some(2.0), Some(1.5), true),
                ("hand", 2, None, None, None, true),
                ("other", 2, Some("hand"), Some(3.0), None, true),
                ("other", 2, Some("1 thread"), Some(1.5), Some(1.1), false),
                ("other", 2, Some("1 thread, wall"), Some(1.0), Some(0.6), false),
            ]
        );
    }

    #[test]
    fn a_wrong_checksum_voids_the_row_alone() {
        let runs = [
            run("hand", 1, 0, 1.0, "a"),
            run("other", 1, 0, 2.0, "a"),
            run("hand", 1, 1, 1.0, "a"),
            run("other", 1, 1, 2.0, "b"),
        ];
        let rows = of(&[1], &runs);
        assert!(rows[0].void.is_none());
        assert!(rows[1].void.is_some() && rows[1].ratio.is_none());
        assert_eq!(rows[1].checksum.as_deref(), Some("b"));
    }

    #[test]
    fn a_reference_that_differs_by_threads_is_void_and_gives_no_ratio() {
        let runs = [run("hand", 1, 0, 1.0, "a"), run("hand", 2, 0, 1.0, "b"), run("other", 2, 0, 1.0, "a")];
        let rows = of(&[2], &runs);
        assert!(rows[0].void.is_some());
        assert!(rows[1].void.is_none() && rows[1].ratio.is_none());
    }

    #[test]
    fn a_run_that_failed_voids_the_row() {
        let mut failed = run("other", 1, 1, 1.0, "a");
        failed.sample = Err(String::from("signal 9"));
        let runs = [run("hand", 1, 0, 1.0, "a"), run("other", 1, 0, 1.0, "a"), failed];
        let rows = of(&[1], &runs);
        assert!(rows[1].void.as_ref().is_some_and(|why| why.contains("signal 9")));
    }

    #[test]
    fn json_has_a_row_a_line_and_the_names_that_readers_know() {
        let rows = of(&[1], &[run("hand", 1, 0, 1.0, "a"), run("other", 1, 0, 1.0, "a")]);
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
