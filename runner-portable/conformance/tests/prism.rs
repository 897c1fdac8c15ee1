//! The conformance table on Prism, by loopback: what passes and what does not, against the list.

#[path = "../../tests/support/prism.rs"]
mod support;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, mpsc},
    thread,
    time::Duration,
};

use purlin_conformance::table::{Case, table};
use purlin_portable_conformance::prism;
use purlin_runner_portable::PortableRunner;
use support::Prism;

/// How long a case may take. Those that pass take a second or two.
const LIMIT: Duration = Duration::from_secs(30);

/// How many run at once, each on a Prism of its own.
const AT_ONCE: usize = 4;

/// What became of a case.
#[derive(Clone, Debug)]
enum Outcome {
    Passed,
    Failed(String),
    /// It was not over in time.
    TooSlow,
}

fn text_of(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// Runs `case` at `prism`. One that is not over in time is left behind.
fn run(case: &Case, prism: &Prism) -> Outcome {
    let (tell, told) = mpsc::channel();
    let (run, endpoint) = (case.run, prism.endpoint());
    thread::spawn(move || {
        let runner = PortableRunner::to(endpoint).option("purlin_stable_input", "assumed");
        let ran = catch_unwind(AssertUnwindSafe(|| run(&runner)));
        // Nobody waits any more for one that was too slow.
        let _ = tell.send(ran.map_err(|payload| text_of(&*payload)));
    });
    match told.recv_timeout(LIMIT) {
        Ok(Ok(())) => Outcome::Passed,
        Ok(Err(why)) => Outcome::Failed(why),
        Err(_) => Outcome::TooSlow,
    }
}

/// What is wrong with an outcome, by the list.
fn wrong(path: &str, outcome: &Outcome) -> Option<String> {
    let listed = prism().into_iter().find(|entry| entry.case == path);
    match (listed, outcome) {
        (None, Outcome::Passed) => None,
        (None, Outcome::Failed(why)) => Some(format!("{path} fails, and is not listed: {why}")),
        (None, Outcome::TooSlow) => {
            Some(format!("{path} was not over in {} s, and is not listed", LIMIT.as_secs()))
        }
        (Some(entry), Outcome::Passed) if !entry.at_times => {
            Some(format!("{path} passes, and was listed ({}): take it off the list", entry.reason))
        }
        (Some(_), _) => None,
    }
}

/// `PURLIN_CASES=triggers,panes::last` runs those alone.
#[test]
fn the_table() {
    let Some(first) = Prism::start() else { return };
    drop(first);
    let only = std::env::var("PURLIN_CASES").unwrap_or_default();
    let asked =
        |path: &str| only.is_empty() || only.split(',').any(|part| path.contains(part) && !part.is_empty());
    // Prism never tries a bundle again.
    let cases: Vec<Case> =
        table().into_iter().filter(|case| case.needs.retries == 0 && asked(&case.path())).collect();
    // What the cases make panic on purpose is in the outcomes.
    std::panic::set_hook(Box::new(|_| {}));
    let (left, outcomes) = (Mutex::new(cases.iter()), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let mut prism = None;
                loop {
                    let Some(case) = left.lock().unwrap().next() else { return };
                    let at = prism.get_or_insert_with(|| Prism::start().unwrap());
                    let outcome = run(case, at);
                    let line = format!("{outcome:?}").replace('\n', " ");
                    eprintln!("{}: {line}", case.path());
                    // What is left behind there ends with it.
                    if !matches!(outcome, Outcome::Passed) {
                        prism = None;
                    }
                    outcomes.lock().unwrap().insert(case.path(), outcome);
                }
            });
        }
    });
    let _ = std::panic::take_hook();
    let outcomes = outcomes.into_inner().unwrap();
    let mut topics: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (path, outcome) in &outcomes {
        let (passed, all) = topics.entry(path.split("::").next().unwrap_or_default()).or_default();
        *passed += usize::from(matches!(outcome, Outcome::Passed));
        *all += 1;
    }
    topics.iter().for_each(|(topic, (passed, all))| eprintln!("{topic}: {passed} of {all}"));
    let passed: usize = topics.values().map(|(passed, _)| passed).sum();
    eprintln!("{passed} of {} cases pass", outcomes.len());
    let wrong: Vec<_> = outcomes.iter().filter_map(|(path, outcome)| wrong(path, outcome)).collect();
    assert!(wrong.is_empty(), "{} cases are not as listed:\n{}", wrong.len(), wrong.join("\n"));
}

/// A case that was renamed would stay on the list for ever.
#[test]
fn what_is_listed_is_there() {
    let there: Vec<String> = table().iter().map(Case::path).collect();
    for entry in prism() {
        assert!(there.iter().any(|path| path == entry.case), "{} is not in the table", entry.case);
    }
}
