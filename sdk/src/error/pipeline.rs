//! The error that a run ends in.

use std::{error::Error, fmt, panic::Location, sync::Arc};

use super::{BuildErrors, DoFnError, dofn::write_chain};

/// What was going on in a transform when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// `setup` of an instance.
    Setup,
    /// `start_bundle`.
    StartBundle,
    /// `process`, or a closure on an element.
    Process,
    /// `finish_bundle`.
    FinishBundle,
    /// `teardown` of an instance.
    Teardown,
    /// `initial_restriction` of a splittable DoFn.
    InitialRestriction,
    /// `split`, initial or while it runs.
    Split,
    /// `truncate` on drain.
    Truncate,
    /// A watermark estimator or its state.
    Watermark,
    /// `add_input` of a CombineFn.
    AddInput,
    /// `merge` of a CombineFn.
    MergeAccumulators,
    /// `extract` of a CombineFn.
    ExtractOutput,
    /// Assigning or merging windows.
    Window,
    /// Building a side input from its collection.
    SideInput,
    /// Encoding or decoding an element.
    Coder,
    /// A timer callback.
    Timer,
    /// `on_window_expiration`.
    WindowExpiration,
    /// A callback that runs after a bundle was committed.
    Finalize,
    /// Reading the source of a streaming query.
    Source,
    /// Giving the result of an epoch to the sink of a streaming query.
    Sink,
    /// Writing state for a checkpoint, or reading it back.
    Checkpoint,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Setup => "setup",
            Phase::StartBundle => "start_bundle",
            Phase::Process => "process",
            Phase::FinishBundle => "finish_bundle",
            Phase::Teardown => "teardown",
            Phase::InitialRestriction => "initial_restriction",
            Phase::Split => "split",
            Phase::Truncate => "truncate",
            Phase::Watermark => "watermark estimator",
            Phase::AddInput => "add_input",
            Phase::MergeAccumulators => "merge",
            Phase::ExtractOutput => "extract",
            Phase::Window => "window",
            Phase::SideInput => "side input",
            Phase::Coder => "coder",
            Phase::Timer => "timer",
            Phase::WindowExpiration => "on_window_expiration",
            Phase::Finalize => "finalize",
            Phase::Source => "source",
            Phase::Sink => "sink",
            Phase::Checkpoint => "checkpoint",
        })
    }
}

/// A transform in the pipeline: its full path and the source line that applied it.
#[derive(Clone, PartialEq, Eq)]
pub struct Step {
    path: Arc<str>,
    site: &'static Location<'static>,
}

impl Step {
    /// The transform at `path`, applied at `site`.
    pub fn new(path: impl Into<Arc<str>>, site: &'static Location<'static>) -> Step {
        Step { path: path.into(), site }
    }

    /// The transform's full path, such as `Count/Pair`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where in the user's source it was applied.
    pub fn site(&self) -> &'static Location<'static> {
        self.site
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` (built at {})", self.path, self.site)
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Which of the ways to fail it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The pipeline was refused before it ran.
    Build,
    /// User code returned an error.
    User,
    /// User code panicked.
    Panic,
    /// User code broke a rule of the model: a claim left undone, a timestamp out of bounds, an undeclared tag, ...
    Contract,
    /// The runner itself could not go on.
    Runner,
    /// The bundle was stopped because the run was cancelled.
    Cancelled,
}

/// What is said of a panic that carried something else than text.
const NO_TEXT: &str = "a panic whose payload is no text";

/// Why a run failed: transform, phase, cause and what to do about it. Cheap to clone.
#[derive(Clone)]
pub struct PipelineError(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    step: Option<Step>,
    phase: Option<Phase>,
    cause: Arc<dyn Error + Send + Sync>,
    retryable: bool,
    notes: Vec<String>,
}

impl PipelineError {
    /// User code in `step` failed with `cause`.
    pub fn user(step: Step, phase: Phase, cause: DoFnError) -> PipelineError {
        let retryable = cause.is_retryable();
        Self::make(ErrorKind::User, Some(step), Some(phase), cause.into_cause(), retryable)
    }

    /// User code in `step` panicked; `payload` is what the panic carried.
    pub fn panic(
        step: Option<Step>,
        phase: Option<Phase>,
        payload: &(dyn std::any::Any + Send),
    ) -> PipelineError {
        let text = payload
            .downcast_ref::<&'static str>()
            .map(|s| (*s).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| NO_TEXT.to_owned());
        Self::make(ErrorKind::Panic, step, phase, format!("panicked: {text}").into(), false)
    }

    /// User code in `step` broke a rule of the model.
    pub fn contract(step: Step, phase: Phase, what: impl Into<String>) -> PipelineError {
        Self::make(ErrorKind::Contract, Some(step), Some(phase), what.into().into(), false)
    }

    /// The runner could not go on.
    pub fn runner(what: impl Into<String>) -> PipelineError {
        Self::make(ErrorKind::Runner, None, None, what.into().into(), false)
    }

    /// The bundle was stopped because the run was cancelled.
    pub fn cancelled() -> PipelineError {
        Self::make(ErrorKind::Cancelled, None, None, "cancelled".into(), false)
    }

    /// The same error with one more line, such as the seed that repeats it.
    #[must_use]
    pub fn with_note(self, note: impl Into<String>) -> PipelineError {
        let Inner { kind, step, phase, cause, retryable, notes } = &*self.0;
        let notes = notes.iter().cloned().chain([note.into()]).collect();
        let (step, cause) = (step.clone(), Arc::clone(cause));
        PipelineError(Arc::new(Inner {
            kind: *kind,
            step,
            phase: *phase,
            cause,
            retryable: *retryable,
            notes,
        }))
    }

    /// The same error with a line on how often its bundle was tried, when it is one that is tried again. For runners,
    /// whose run was started with `retries`.
    #[must_use]
    pub fn after_retries(self, retries: u32) -> PipelineError {
        let outside = matches!(self.phase(), Some(Phase::Teardown | Phase::Finalize));
        match retries {
            _ if !self.is_retryable() || outside => self,
            0 => self.with_note(
                "the error is marked as retryable and retries are off: with --retries=N its bundle is tried again",
            ),
            n => self.with_note(format!("it was tried {} times: --retries={n} is used up", u64::from(n) + 1)),
        }
    }

    fn make(
        kind: ErrorKind,
        step: Option<Step>,
        phase: Option<Phase>,
        cause: Box<dyn Error + Send + Sync>,
        retryable: bool,
    ) -> PipelineError {
        PipelineError(Arc::new(Inner {
            kind,
            step,
            phase,
            cause: cause.into(),
            retryable,
            notes: Vec::new(),
        }))
    }

    /// Which of the ways to fail it was.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The transform that failed, where it was one.
    pub fn step(&self) -> Option<&Step> {
        self.0.step.as_ref()
    }

    /// What it was doing.
    pub fn phase(&self) -> Option<Phase> {
        self.0.phase
    }

    /// The cause as the user's code gave it.
    pub fn cause(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0.cause
    }

    /// Whether the same bundle may succeed when tried again.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }
}

impl From<BuildErrors> for PipelineError {
    fn from(errors: BuildErrors) -> PipelineError {
        Self::make(ErrorKind::Build, None, None, Box::new(errors), false)
    }
}

impl fmt::Display for PipelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.step, self.0.phase) {
            (Some(step), Some(phase)) => write!(f, "{step} failed in {phase}: ")?,
            (Some(step), None) => write!(f, "{step} failed: ")?,
            _ => {}
        }
        write_chain(f, &*self.0.cause)?;
        self.0.notes.iter().try_for_each(|note| write!(f, "\n  {note}"))
    }
}

impl fmt::Debug for PipelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for PipelineError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn busy() -> PipelineError {
        let cause = DoFnError::from("x".parse::<i32>().unwrap_err()).retryable();
        PipelineError::user(Step::new("Ask", Location::caller()), Phase::Process, cause)
    }

    #[test]
    fn notes_add_up_and_the_cause_stays_what_it_is() {
        let error = busy();
        let kept = error.clone();
        let noted = error.with_note("one").with_note("two");
        assert!(noted.to_string().ends_with("invalid digit found in string\n  one\n  two"), "{noted}");
        for error in [kept, noted] {
            assert!(error.cause().is::<std::num::ParseIntError>() && error.is_retryable());
        }
    }

    #[test]
    fn how_often_it_was_tried_is_told_of_what_is_tried_again() {
        assert!(busy().after_retries(2).to_string().contains("it was tried 3 times: --retries=2"));
        assert!(busy().after_retries(0).to_string().contains("with --retries=N"));
        let error = PipelineError::runner("no");
        assert_eq!(error.clone().after_retries(2).to_string(), error.to_string());
    }
}
