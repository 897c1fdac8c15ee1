//! Errors on their way through an engine and back.
//!
//! All that an engine hands on of a worker's error is its text. So the text has a mark at its begin and at its end, by
//! which the launcher finds it in what the engine says, and with it kind, transform and phase. Where the worker is in
//! the launcher's own process it finds the error itself.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use purlin_sdk::{DoFnError, ErrorKind, Phase, PipelineError, Step, graph::Graph};

/// How many errors of workers in this process are kept: the job fails by one of the first.
const KEPT: usize = 64;

const BEGIN: &str = "[purlin:";
const END: &str = "[/purlin:";

/// The phases that an error can name.
const PHASES: [Phase; 21] = [
    Phase::Setup,
    Phase::StartBundle,
    Phase::Process,
    Phase::FinishBundle,
    Phase::Teardown,
    Phase::InitialRestriction,
    Phase::Split,
    Phase::Truncate,
    Phase::Watermark,
    Phase::AddInput,
    Phase::MergeAccumulators,
    Phase::ExtractOutput,
    Phase::Window,
    Phase::SideInput,
    Phase::Coder,
    Phase::Timer,
    Phase::WindowExpiration,
    Phase::Finalize,
    Phase::Source,
    Phase::Sink,
    Phase::Checkpoint,
];

/// The errors of a pipeline's workers.
#[derive(Debug)]
pub(crate) struct Failures {
    /// The transforms that can fail, by path.
    steps: HashMap<String, Step>,
    /// Tells errors of this process from others'.
    process: u128,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    next: u64,
    kept: VecDeque<(String, PipelineError)>,
}

impl Failures {
    /// Of the workers of `graph`.
    pub(crate) fn of(graph: &Graph) -> Failures {
        let steps = graph.nodes.iter().map(|node| (node.step.path().to_owned(), node.step.clone())).collect();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        Failures {
            steps,
            process: now ^ u128::from(std::process::id()).rotate_right(32),
            told: Mutex::default(),
        }
    }

    /// What an engine is told of `error`.
    pub(crate) fn text(&self, error: &PipelineError) -> String {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let id = format!("{:x}.{}", self.process, told.next);
        told.next += 1;
        if told.kept.len() < KEPT {
            told.kept.push_back((id.clone(), error.clone()));
        }
        let kind = match error.kind() {
            ErrorKind::User if error.is_retryable() => "retryable",
            ErrorKind::User => "user",
            ErrorKind::Panic => "panic",
            ErrorKind::Contract => "contract",
            ErrorKind::Cancelled => "cancelled",
            _ => "runner",
        };
        format!("{BEGIN}{kind}:{id}] {error} {END}{id}]")
    }

    /// The worker's error in what an engine says; the first that is not about a bundle that was stopped for another.
    pub(crate) fn find(&self, said: &str) -> Option<PipelineError> {
        let mut rest = said;
        let mut stopped = None;
        while let Some((kind, id, text, after)) = marked(rest) {
            let error = self.kept(id).unwrap_or_else(|| self.made(kind, text));
            if error.kind() != ErrorKind::Cancelled {
                return Some(error);
            }
            stopped.get_or_insert(error);
            rest = after;
        }
        stopped
    }

    fn kept(&self, id: &str) -> Option<PipelineError> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.kept.iter().find(|(kept, _)| kept == id).map(|(_, error)| error.clone())
    }

    /// The error that has this text.
    fn made(&self, kind: &str, text: &str) -> PipelineError {
        let Some((step, phase, cause)) = self.parts(text) else {
            return if kind == "cancelled" {
                PipelineError::cancelled()
            } else {
                PipelineError::runner(text)
            };
        };
        match (kind, phase) {
            ("user", Some(phase)) => PipelineError::user(step, phase, DoFnError::msg(cause)),
            ("retryable", Some(phase)) => PipelineError::user(step, phase, DoFnError::msg(cause).retryable()),
            ("contract", Some(phase)) => PipelineError::contract(step, phase, cause),
            ("panic", phase) => {
                let said = cause.strip_prefix("panicked: ").unwrap_or(cause).to_owned();
                PipelineError::panic(Some(step), phase, &said)
            }
            _ => PipelineError::runner(text),
        }
    }

    /// Transform, phase and cause in the text of an error, as it is written.
    fn parts<'t>(&self, text: &'t str) -> Option<(Step, Option<Phase>, &'t str)> {
        let path = text.strip_prefix('`')?.split_once("` (built at ")?.0;
        let step = self.steps.get(path)?;
        let rest = text.strip_prefix(&step.to_string())?;
        let phase = PHASES
            .iter()
            .find_map(|phase| Some((Some(*phase), rest.strip_prefix(&format!(" failed in {phase}: "))?)));
        let (phase, cause) = phase.or_else(|| Some((None, rest.strip_prefix(" failed: ")?)))?;
        Some((step.clone(), phase, cause))
    }
}

/// The first error in what an engine says: its kind, id and text, and what comes after it.
fn marked(said: &str) -> Option<(&str, &str, &str, &str)> {
    let (_, behind) = said.split_once(BEGIN)?;
    let (mark, behind) = behind.split_once("] ")?;
    let (kind, id) = mark.split_once(':')?;
    let (text, after) = behind.split_once(&format!(" {END}{id}]"))?;
    Some((kind, id, text, after))
}

/// What an engine says, without marks.
pub(crate) fn plain(said: &str) -> String {
    let mut out = String::with_capacity(said.len());
    let mut rest = said;
    while let Some((_, _, text, after)) = marked(rest) {
        let before = rest.split_once(BEGIN).map_or("", |(before, _)| before);
        out.push_str(before);
        out.push_str(text);
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use purlin_sdk::Pipeline;

    use super::*;

    fn graph() -> Graph {
        let p = Pipeline::new();
        p.create("Numbers", [1_i64]).map("Half", |n| n / 2);
        p.build().unwrap()
    }

    fn half(graph: &Graph) -> Step {
        graph.nodes.iter().find(|node| node.step.path() == "Half").unwrap().step.clone()
    }

    #[test]
    fn in_the_same_process_it_is_the_error_itself() {
        let graph = graph();
        let failures = Failures::of(&graph);
        let cause = DoFnError::from("x".parse::<i32>().unwrap_err());
        let error = PipelineError::user(half(&graph), Phase::Process, cause);
        let stopped = failures.text(&PipelineError::cancelled());
        let said = format!("one: {stopped}\nbundle 7 failed: {} at the engine", failures.text(&error));
        let found = failures.find(&said).unwrap();
        assert!(found.cause().is::<std::num::ParseIntError>());
        assert_eq!(plain(&said), format!("one: cancelled\nbundle 7 failed: {error} at the engine"));
        assert_eq!(failures.find(&stopped).unwrap().kind(), ErrorKind::Cancelled);
        assert!(failures.find("the bundle failed").is_none());
    }

    #[test]
    fn from_another_process_it_is_made_anew() {
        let graph = graph();
        let (there, here) = (Failures::of(&graph), Failures::of(&graph));
        let step = half(&graph);
        let broken = "it broke: badly".to_owned();
        let errors = [
            PipelineError::user(step.clone(), Phase::Timer, DoFnError::msg("no")),
            PipelineError::user(step.clone(), Phase::Process, DoFnError::msg("busy").retryable()),
            PipelineError::contract(step.clone(), Phase::Split, "a claim").with_note("more"),
            PipelineError::panic(Some(step.clone()), None, &broken),
            PipelineError::panic(Some(step), Some(Phase::Process), &broken),
            PipelineError::runner("no state"),
            PipelineError::panic(Some(Step::new("Lost", Location::caller())), None, &broken),
        ];
        for error in &errors {
            let back = here.find(&format!("it failed: {}", there.text(error))).unwrap();
            assert_eq!(back.to_string(), error.to_string());
            if error.step().is_none_or(|step| step.path() != "Lost") {
                let told = |e: &PipelineError| (e.kind(), e.phase(), e.step().cloned(), e.is_retryable());
                assert_eq!(told(&back), told(error));
            }
        }
    }
}
