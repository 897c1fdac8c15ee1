//! Every case of the table, on every runner of this project, and the table itself.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use purlin_conformance::table::{Case, Failure, GAPS, Gap, Needs, check, table, unknown};
use purlin_runner_direct::DirectRunner;
use purlin_sdk::{PipelineError, RunHandle, Runner, graph::Graph};

macro_rules! tests {
    ($($topic:ident { $($case:ident $([$($need:tt)*])?),+ $(,)? })+) => {
        $(mod $topic { $(
            #[test]
            fn $case() {
                purlin_conformance::table::check_here(stringify!($topic), stringify!($case));
            }
        )+ })+
    };
}

purlin_conformance::conformance_cases!(tests);

/// Runs everything, under another name.
#[derive(Debug)]
struct Other(DirectRunner);

impl Runner for Other {
    fn name(&self) -> &str {
        "other"
    }
    fn run(&self, graph: Graph) -> Result<RunHandle, PipelineError> {
        self.0.run(graph)
    }
}

/// Refuses everything.
#[derive(Debug)]
struct Broken;

impl Runner for Broken {
    fn name(&self) -> &str {
        "broken"
    }
    fn run(&self, _: Graph) -> Result<RunHandle, PipelineError> {
        Err(PipelineError::runner("it is broken"))
    }
}

fn adds_up(r: &dyn Runner) {
    let p = purlin_sdk::Pipeline::new();
    p.create("Numbers", 1..=3_i64);
    if let Err(e) = p.run_on(r).and_then(|handle| handle.wait()) {
        panic!("it failed: {e}");
    }
}

const CASE: Case = Case { topic: "sums", name: "adds_up", needs: Needs::NOTHING, run: adds_up };

const fn gap(runner: &'static str) -> Gap {
    Gap { runner, case: "sums::adds_up", reason: "it cannot add" }
}

fn other() -> Box<dyn Runner> {
    Box::new(Other(DirectRunner::new().seed(1)))
}

#[test]
fn a_failure_says_case_and_runner() {
    let failure = check(&CASE, &[other(), Box::new(Broken)], &[]).expect_err("it cannot pass");
    let text = failure.to_string();
    for part in ["sums::adds_up", "Broken", "it is broken"] {
        assert!(text.contains(part), "`{part}` is not said in: {text}");
    }
}

#[test]
fn a_gap_is_for_one_runner_and_one_case() {
    let both = || -> [Box<dyn Runner>; 2] { [other(), Box::new(Broken)] };
    assert_eq!(check(&CASE, &both(), &[gap("broken")]), Ok(()));
    let elsewhere = Gap { case: "sums::subtracts", ..gap("broken") };
    assert!(check(&CASE, &both(), &[elsewhere]).is_err());
    assert!(check(&CASE, &both(), &[gap("other")]).is_err());
}

#[test]
fn a_gap_that_is_none_any_more_is_a_failure() {
    let failure = check(&CASE, &[other(), other()], &[gap("other")]).expect_err("it passes");
    let reason = "it cannot add";
    assert_eq!(
        failure,
        Failure::Passes { case: "sums::adds_up".to_owned(), runner: "other".to_owned(), reason }
    );
    assert!(failure.to_string().contains("take it off the list"), "{failure}");
}

/// Passes on its first call only.
fn passes_once(_: &dyn Runner) {
    use std::sync::atomic::{AtomicBool, Ordering};
    static CALLED: AtomicBool = AtomicBool::new(false);
    assert!(!CALLED.swap(true, Ordering::SeqCst), "only once");
}

#[test]
fn a_gap_stays_while_the_case_fails_in_some_setup() {
    assert_eq!(check(&Case { run: passes_once, ..CASE }, &[other(), other()], &[gap("other")]), Ok(()));
}

#[test]
fn gaps_are_of_cases_that_there_are() {
    let slip = Gap { runner: "direct", case: "triggers::newer", reason: "" };
    let right = Gap { case: "triggers::never", ..slip };
    assert_eq!(
        unknown(&[slip, right], &table()).iter().map(|g| g.case).collect::<Vec<_>>(),
        ["triggers::newer"]
    );
    assert!(unknown(GAPS, &table()).is_empty(), "{:?}", unknown(GAPS, &table()));
    let ours = ["direct", "threaded"];
    assert!(GAPS.iter().all(|gap| ours.contains(&gap.runner) && !gap.reason.is_empty()));
}

#[test]
fn no_case_is_listed_twice() {
    let mut seen = HashSet::new();
    for case in table() {
        assert!(seen.insert(case.path()), "{} is listed twice", case.path());
    }
}

/// Functions that look like cases and are not listed would never run.
#[test]
fn every_case_is_listed() {
    // They need more than a runner, and have tests of their own in `reports`.
    let elsewhere = [
        "coders::a_key_that_comes_back_as_another",
        "coders::an_element_that_does_not_come_back",
        "coders::b163_an_element_that_does_not_encode",
        "coders::the_law_of_keys",
        "deep::b152_a_chain_of_flattens",
        "deep::b152_a_flatten_of_many",
        "deep::b152_a_wide_fan_out",
        "deep::b152_deeply_nested_composites",
        "deep::b152_many_maps_in_a_row",
        "failure::a_tiny_run",
        "handle::a_run_that_waits",
        "pending_timers::b073_pending_timers_without_an_end_are_an_error",
        "timers::b073_a_timer_that_sets_itself_for_ever_is_an_error",
        "watermarks::b174_nothing_on_time_is_late",
    ];
    let listed: HashSet<String> = table().iter().map(Case::path).collect();
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("the sources are there");
        entries.map(|entry| entry.expect("it can be listed").path()).collect()
    };
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/cases"));
    let (folders, mut files): (Vec<_>, Vec<_>) = list(folder).into_iter().partition(|path| path.is_dir());
    // What is in the folder of a topic is of that topic.
    files.extend(folders.iter().flat_map(|folder| list(folder)));
    let mut found = 0;
    for path in files {
        let of = path.parent().filter(|parent| *parent != folder).unwrap_or(&path);
        let topic = of.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_owned();
        let text = std::fs::read_to_string(&path).expect("it can be read");
        for line in text.lines().filter(|line| line.contains("&dyn Runner")) {
            let Some((name, rest)) = line.strip_prefix("pub fn ").and_then(|l| l.split_once('(')) else {
                continue;
            };
            if !rest.ends_with(": &dyn Runner) {") || topic == "support" {
                continue;
            }
            found += 1;
            let path = format!("{topic}::{name}");
            assert!(listed.contains(&path) || elsewhere.contains(&&*path), "{path} is not in the table");
        }
    }
    assert!(found >= listed.len(), "{found} found, {} listed", listed.len());
}

/// The map from Beam's tests names cases that there are.
#[test]
fn the_coverage_is_of_cases_that_there_are() {
    let map =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/COVERAGE.md")).expect("it is there");
    let listed: HashSet<String> = table().iter().map(Case::path).collect();
    let mut named = 0;
    // What is in backquotes is at the odd places.
    for text in map.split('`').skip(1).step_by(2).filter(|text| text.contains("::")) {
        assert!(listed.contains(text), "COVERAGE.md names `{text}`, which is not in the table");
        named += 1;
    }
    assert!(named > 100, "only {named} cases are named");
}
