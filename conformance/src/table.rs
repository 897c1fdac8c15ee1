//! The table of all cases, for the runners of this project and for any other.
//!
//! [`conformance_cases!`](crate::conformance_cases) lists every case once. [`table`] is made of that list, and so are
//! the tests of this project, one for each case. A runner from elsewhere is put to the same test like this:
//!
//! ```
//! use purlin_conformance::table::{Gap, check, table};
//! use purlin_runner_direct::DirectRunner;
//! use purlin_sdk::Runner;
//!
//! // What the runner cannot do yet, and why; an entry that begins to pass is an error, so that the list stays true.
//! const GAPS: &[Gap] = &[];
//!
//! let runners: Vec<Box<dyn Runner>> = vec![Box::new(DirectRunner::new().seed(1))];
//! // Those that need nothing but a runner: see `Needs` for the others.
//! for case in table().iter().filter(|case| case.needs.is_nothing() && case.topic == "basics") {
//!     if let Err(failure) = check(case, &runners, GAPS) {
//!         panic!("{failure}");
//!     }
//! }
//! ```

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use purlin_sdk::Runner;

use crate::{cases, runners};

/// A pipeline with what must come of it.
#[derive(Clone, Copy)]
pub struct Case {
    /// What it is about: the name of its module in [`cases`].
    pub topic: &'static str,
    /// What it asserts: the name of its function.
    pub name: &'static str,
    /// What it needs of a runner.
    pub needs: Needs,
    /// Runs it. It panics when what came out is wrong.
    pub run: fn(&dyn Runner),
}

impl Case {
    /// Topic and name, as in `triggers::never`.
    pub fn path(&self) -> String {
        format!("{}::{}", self.topic, self.name)
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{} {:?}", self.topic, self.name, self.needs)
    }
}

/// What a case needs of a runner that not every runner has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// How often a failed bundle is tried again; exactly so often.
    pub retries: u32,
    /// How many bundles run at once; at least so many.
    pub threads: usize,
}

impl Needs {
    /// Any runner will do.
    pub const NOTHING: Needs = Needs { retries: 0, threads: 1 };

    /// Whether any runner will do.
    pub fn is_nothing(&self) -> bool {
        *self == Needs::NOTHING
    }
}

/// A case that a runner does not pass, and why.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    /// The runner's name.
    pub runner: &'static str,
    /// The case's path, as in `triggers::never`.
    pub case: &'static str,
    /// Why it does not pass.
    pub reason: &'static str,
}

/// What the runners of this project do not pass.
pub const GAPS: &[Gap] = &[];

/// Why a case counts as failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It failed on a runner, with the text of its panic.
    Failed {
        /// The case's path.
        case: String,
        /// The runner, with its setup.
        on: String,
        /// What was wrong.
        why: String,
    },
    /// It passes in every setup of a runner for which a [`Gap`] is listed.
    Passes {
        /// The case's path.
        case: String,
        /// The runner's name.
        runner: String,
        /// Why it was thought not to pass.
        reason: &'static str,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Failed { case, on, why } => write!(f, "{case} failed on {on}: {why}"),
            Failure::Passes { case, runner, reason } => write!(
                f,
                "{case} passes on the runner `{runner}`, which was listed as not supporting it ({reason}): take it off \
                 the list"
            ),
        }
    }
}

/// Runs a case on each of `runners`, several setups of one runner among them.
///
/// # Errors
/// When it fails on one for which there is no gap; or when it passes in all setups of one for which there is.
pub fn check(case: &Case, runners: &[Box<dyn Runner>], gaps: &[Gap]) -> Result<(), Failure> {
    let path = case.path();
    let gap_of = |name: &str| gaps.iter().find(|gap| gap.runner == name && gap.case == path);
    // A listed case may pass in some setups by luck; it has begun to work when it passes in all.
    let mut listed: Vec<(&Gap, bool)> = Vec::new();
    for runner in runners {
        let failed = catch_unwind(AssertUnwindSafe(|| (case.run)(&**runner))).err();
        match (gap_of(runner.name()), failed) {
            (None, None) => {}
            (None, Some(payload)) => {
                let why = text_of(&*payload).to_owned();
                return Err(Failure::Failed { case: path, on: format!("{runner:?}"), why });
            }
            (Some(gap), failed) => match listed.iter_mut().find(|(of, _)| std::ptr::eq(*of, gap)) {
                Some((_, passes)) => *passes &= failed.is_none(),
                None => listed.push((gap, failed.is_none())),
            },
        }
    }
    match listed.into_iter().find(|(_, passes)| *passes) {
        Some((gap, _)) => {
            Err(Failure::Passes { case: path, runner: gap.runner.to_owned(), reason: gap.reason })
        }
        None => Ok(()),
    }
}

/// Entries of a list of gaps whose case is not in the table, by a slip of the pen or since it was renamed.
pub fn unknown<'g>(gaps: &'g [Gap], cases: &[Case]) -> Vec<&'g Gap> {
    gaps.iter().filter(|gap| cases.iter().all(|case| case.path() != gap.case)).collect()
}

/// Runs the case of this topic and name on all setups of the runners of this project that have what it needs.
///
/// # Panics
/// When it fails, or passes where it is listed in [`GAPS`].
pub fn check_here(topic: &str, name: &str) {
    let all = table();
    let Some(case) = all.iter().find(|case| case.topic == topic && case.name == name) else {
        panic!("{topic}::{name} is not in the table")
    };
    let setups = runners::setups(case.needs.retries).into_iter().filter(|s| s.threads >= case.needs.threads);
    let runners: Vec<_> = setups.map(|setup| setup.runner).collect();
    if let Err(failure) = check(case, &runners, GAPS) {
        panic!("{failure}");
    }
}

/// The text of a panic.
pub(crate) fn text_of(payload: &(dyn Any + Send)) -> &str {
    match (payload.downcast_ref::<&'static str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "a panic whose payload is no text",
    }
}

macro_rules! make_table {
    ($($topic:ident { $($case:ident $([$($need:ident: $value:literal),+])?),+ $(,)? })+) => {
        /// Every case, by topic.
        pub fn table() -> Vec<Case> {
            vec![$($(
                Case {
                    topic: stringify!($topic),
                    name: stringify!($case),
                    needs: Needs { $($($need: $value,)+)? ..Needs::NOTHING },
                    run: cases::$topic::$case,
                },
            )+)+]
        }
    };
}

crate::conformance_cases!(make_table);
