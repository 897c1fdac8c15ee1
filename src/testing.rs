//! Testing pipelines and DoFns: everything of the SDK's, and [`TestPipeline`], which runs itself.

use std::{fmt, ops::Deref, panic::Location, thread};

pub use purlin_sdk::testing::*;

use purlin_runner_direct::DirectRunner;
use purlin_sdk::{Pipeline, RunOutcome};

/// A pipeline for a test: it runs on the direct runner, which checks what users must obey, and panics when something is
/// wrong. One that is dropped without having run panics too, so that no test passes because it did nothing.
///
/// ```
/// use purlin::testing::{TestPipeline, assert_that};
///
/// let p = TestPipeline::new();
/// let doubled = p.create("Numbers", [1, 2, 3]).map("Double", |n| n * 2);
/// assert_that("Doubled", &doubled).contains_in_any_order([2, 4, 6]);
/// p.run();
/// ```
/// The draws of the direct runner are the same in every run, so that a test that fails fails again; other ones are tried
/// by [`run_with_seed`](Self::run_with_seed). For another runner there is [`run_and_check`]. Source: Beam's
/// `TestPipeline`.
pub struct TestPipeline {
    pipeline: Pipeline,
    made_at: &'static Location<'static>,
    ran: bool,
}

impl TestPipeline {
    /// An empty pipeline without options.
    #[allow(clippy::new_without_default)] // A default that must be run, or panics, would surprise.
    #[track_caller]
    pub fn new() -> TestPipeline {
        TestPipeline::of(Pipeline::new())
    }

    /// An empty pipeline with options.
    #[track_caller]
    pub fn with_options<O: Send + Sync + 'static>(options: O) -> TestPipeline {
        TestPipeline::of(Pipeline::with_options(options))
    }

    #[track_caller]
    fn of(pipeline: Pipeline) -> TestPipeline {
        TestPipeline { pipeline, made_at: Location::caller(), ran: false }
    }

    /// Runs the pipeline to its end and checks its assertions.
    ///
    /// # Panics
    /// With the error, when the pipeline cannot be built or fails, or when an assertion did not run.
    #[track_caller]
    pub fn run(self) -> RunOutcome {
        self.run_with_seed(0)
    }

    /// Like [`run`](Self::run), with other draws of the direct runner.
    ///
    /// # Panics
    /// Like [`run`](Self::run).
    #[track_caller]
    pub fn run_with_seed(mut self, seed: u64) -> RunOutcome {
        self.ran = true;
        match run_and_check(&self.pipeline, &DirectRunner::new().seed(seed)) {
            Ok(outcome) => outcome,
            Err(e) => panic!("{e}"),
        }
    }
}

impl Deref for TestPipeline {
    type Target = Pipeline;
    fn deref(&self) -> &Pipeline {
        &self.pipeline
    }
}

impl Drop for TestPipeline {
    fn drop(&mut self) {
        assert!(
            self.ran || thread::panicking(),
            "the test pipeline that was made at {} has not run, so it tests nothing: call `.run()`",
            self.made_at
        );
    }
}

impl fmt::Debug for TestPipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "test pipeline made at {}", self.made_at)
    }
}
