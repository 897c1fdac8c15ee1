//! Pipelines that are wrong, and code that fails: what the error says.

use std::{error::Error, fmt};

use purlin_sdk::{
    BundleContext, BundleEmitter, CombineFn, DoFn, Emitter, ErrorKind, PCollection, PTransform, ParDo, Phase,
    Pipeline, PipelineError, ProcessContext, Result, Runner, SetupContext, Tag, Timestamp,
    sdf::{
        Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, SdfContext, SplittableDoFn,
        WatermarkStateOf,
    },
    testing::TestStream,
    window::{AssignContext, FixedWindows, Sessions, Window, WindowFn},
};

use super::support::{Sum, assert_says, at, build_errors, run_to_failure, secs};

/// A name given twice in one scope shows the name, both lines and what to do; the same name in two scopes is fine.
pub fn b148_a_name_given_twice(_: &dyn Runner) {
    struct Named;
    impl PTransform<PCollection<i64>> for Named {
        type Out = PCollection<i64>;
        fn expand(self, input: PCollection<i64>) -> PCollection<i64> {
            input.map("Inner", |x| x)
        }
    }
    let mut lines = Vec::new();
    let text = build_errors(|p| {
        let pc = p.create("Values", [1_i64]);
        lines.push(line!() + 1);
        pc.map("Step", |x| x);
        lines.push(line!() + 1);
        pc.map("Step", |x| x);
        pc.apply("Twice", Named);
        lines.push(line!() + 1);
        pc.apply("Twice", Named);
        p.create("Values", [2_i64]);
    });
    for line in lines {
        assert!(text.contains(&format!("errors.rs:{line}:")), "line {line} is not shown in: {text}");
    }
    assert_says(&text, &["for 3 reasons", "`Step`", "`Twice`", "`Values`", "something else"]);
    let p = Pipeline::new();
    let pc = p.create("Values", [1_i64]);
    pc.apply("One", Named);
    pc.apply("Two", Named).map("Inner", |x| x);
    assert!(p.build().is_ok(), "a name counts in its own scope only");
    assert_says(&build_errors(|p| drop(p.create("", [1_i64]))), &["not empty"]);
}

/// Two transforms could have one path if a name could look like one.
pub fn a_name_with_a_slash_in_it(_: &dyn Runner) {
    let text = build_errors(|p| {
        let pc = p.create("Values", [1_i64]);
        pc.composite("a", |pc| pc.map("b", |x| x));
        pc.map("a/b", |x| x);
        pc.fused("Run", |s| s.map("c/d", |x| x));
    });
    assert_says(
        &text,
        &["for 2 reasons", "`a/b` (built at ", "the name `a/b` contains `/`", "composite(\"a\""],
    );
    assert_says(&text, &["`Run` (built at ", "the name `c/d` contains `/`"]);
}

const DECLARED: Tag<i64> = Tag::new("declared");
const STRAY: Tag<i64> = Tag::new("stray");

/// Output to a tag that nobody declared is an error that names tag and transform, not a loss.
pub fn b149_an_undeclared_tag(r: &dyn Runner) {
    let emit = |x: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| -> Result {
        out.emit_to(STRAY, x);
        Ok(())
    };
    let error = run_to_failure(r, |p| {
        p.create("Values", [1_i64]).par_do_with("Emit", ParDo::from_fn(emit).tag(DECLARED));
    });
    assert_eq!(error.kind(), ErrorKind::Contract);
    assert_says(&error.to_string(), &["`Emit`", "`stray`", ".tag(STRAY)"]);
    let text = build_errors(|p| {
        let parts = p.create("Values", [1_i64]).par_do_with("Emit", ParDo::from_fn(emit).tag(DECLARED));
        let _ = parts.tagged(STRAY);
    });
    assert_says(&text, &["`Emit`", "`stray`", ".tag(STRAY)"]);
    // A declared one with another type.
    const OTHER: Tag<String> = Tag::new("declared");
    let error = run_to_failure(r, |p| {
        let emit = |_: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| -> Result {
            out.emit_to(OTHER, String::new());
            Ok(())
        };
        p.create("Values", [1_i64]).par_do_with("Emit", ParDo::from_fn(emit).tag(DECLARED));
    });
    assert_says(&error.to_string(), &["`Emit`", "`declared`", "another element type"]);
    // At the end of a bundle.
    #[derive(Clone)]
    struct AtTheEnd;
    impl DoFn for AtTheEnd {
        type Input = i64;
        type Output = i64;
        fn process(&mut self, _: i64, _: &ProcessContext<'_>, _: &mut Emitter<'_, i64>) -> Result {
            Ok(())
        }
        fn finish_bundle(&mut self, _: &BundleContext<'_>, out: &mut BundleEmitter<'_, i64>) -> Result {
            out.emit_to_in(STRAY, 1, Timestamp::EPOCH, Window::Global);
            Ok(())
        }
    }
    let error = run_to_failure(r, |p| {
        p.create("Values", [1_i64]).par_do("Emit", AtTheEnd);
    });
    assert_eq!(error.phase(), Some(Phase::FinishBundle));
    assert_says(&error.to_string(), &["`Emit`", "`stray`"]);
}

/// The error that the failing steps give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seven;

impl fmt::Display for Seven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("seven is not liked")
    }
}

impl Error for Seven {}

/// Whether user code returns an error or panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Returns,
    Panics,
}

impl How {
    fn fail(self) -> Result {
        match self {
            How::Returns => Err(Seven.into()),
            How::Panics => panic!("{Seven}"),
        }
    }
}

/// Fails in one method.
#[derive(Clone)]
struct Fails(Phase, How);

impl Fails {
    fn at(&self, phase: Phase) -> Result {
        if self.0 == phase { self.1.fail() } else { Ok(()) }
    }
}

impl DoFn for Fails {
    type Input = i64;
    type Output = i64;
    fn setup(&mut self, _: &SetupContext<'_>) -> Result {
        self.at(Phase::Setup)
    }
    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.at(Phase::StartBundle)
    }
    fn process(&mut self, x: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        if x == 7 {
            self.at(Phase::Process)?;
        }
        out.emit(x);
        Ok(())
    }
    fn finish_bundle(&mut self, _: &BundleContext<'_>, _: &mut BundleEmitter<'_, i64>) -> Result {
        self.at(Phase::FinishBundle)
    }
    fn teardown(&mut self, _: &SetupContext<'_>) -> Result {
        self.at(Phase::Teardown)
    }
}

/// The error names the transform's full path, the phase, the line and the cause, each once, and nobody else.
#[track_caller]
fn check(error: &PipelineError, path: &str, phase: Phase, how: How) {
    let text = error.to_string();
    assert_eq!(error.step().map(|s| s.path()), Some(path), "{text}");
    assert_eq!(error.phase(), Some(phase), "{text}");
    assert!(error.step().is_some_and(|s| s.site().file().ends_with("errors.rs")), "{text}");
    for part in [path, "seven is not liked", &phase.to_string()] {
        assert_eq!(text.matches(part).count(), 1, "`{part}` once in: {text}");
    }
    match how {
        How::Returns => {
            assert_eq!(error.kind(), ErrorKind::User);
            assert_eq!(error.cause().downcast_ref::<Seven>(), Some(&Seven), "the cause as it was: {text}");
        }
        How::Panics => {
            assert_eq!(error.kind(), ErrorKind::Panic);
            assert_says(&text, &["panicked"]);
        }
    }
}

/// A step that fails deep inside composites, in each of a DoFn's methods.
pub fn b150_errors_name_the_transform(r: &dyn Runner) {
    for phase in [Phase::Setup, Phase::StartBundle, Phase::Process, Phase::FinishBundle, Phase::Teardown] {
        for how in [How::Returns, How::Panics] {
            let error = run_to_failure(r, |p| {
                p.create("Values", 0..20_i64).map("Before", |x| x).composite("Outer", |pc| {
                    pc.composite("Inner", |pc| {
                        pc.map("Step 1", |x| x).par_do("Step 2", Fails(phase, how)).map("Step 3", |x| x)
                    })
                });
            });
            check(&error, "Outer/Inner/Step 2", phase, how);
        }
    }
}

/// Closures that panic: alone, between others, and the third of a fused run.
pub fn b150_closures_that_panic(r: &dyn Runner) {
    fn unlucky(x: i64) -> i64 {
        assert!(x != 7, "{Seven}");
        x
    }
    let before = |p: &Pipeline| p.create("Values", 0..20_i64).map("Before", |x| x);
    let map = run_to_failure(r, |p| {
        before(p).map("Bad", unlucky).map("After", |x| x);
    });
    check(&map, "Bad", Phase::Process, How::Panics);
    let filter = run_to_failure(r, |p| {
        before(p).filter("Bad", |x| unlucky(*x) > 0).map("After", |x| x);
    });
    check(&filter, "Bad", Phase::Process, How::Panics);
    let flat_map = run_to_failure(r, |p| {
        before(p).flat_map("Bad", |x| [unlucky(x)]).map("After", |x| x);
    });
    check(&flat_map, "Bad", Phase::Process, How::Panics);
    let fused = run_to_failure(r, |p| {
        before(p).fused("Run", |s| {
            s.map("One", |x| x).filter("Two", |_| true).map("Three", unlucky).flat_map("Four", |x| [x])
        });
    });
    check(&fused, "Run/Three", Phase::Process, How::Panics);
    let fused = run_to_failure(r, |p| {
        before(p).fused("Run", |s| {
            s.flat_map("One", |x| [x, x]).filter("Two", |x| unlucky(*x) > 0).map("Three", |x| x)
        });
    });
    check(&fused, "Run/Two", Phase::Process, How::Panics);
    let times = run_to_failure(r, |p| {
        before(p).with_timestamps("Bad", |x| at(unlucky(*x)));
    });
    check(&times, "Bad", Phase::Process, How::Panics);
    let partition = run_to_failure(r, |p| {
        before(p).apply("Bad", purlin_sdk::Partition::of(20, |x: &i64| unlucky(*x) as usize));
    });
    check(&partition, "Bad/Choose", Phase::Process, How::Panics);
}

/// Panics in one of its methods.
#[derive(Clone)]
struct BadCombine(Phase);

impl BadCombine {
    fn at(&self, phase: Phase) {
        assert!(self.0 != phase, "{Seven}");
    }
}

impl CombineFn for BadCombine {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;
    fn create(&self) -> i64 {
        0
    }
    fn add_input(&self, acc: &mut i64, x: i64) {
        self.at(Phase::AddInput);
        *acc += x;
    }
    fn merge(&self, acc: &mut i64, other: i64) {
        self.at(Phase::MergeAccumulators);
        *acc += other;
    }
    fn extract(&self, acc: i64) -> i64 {
        self.at(Phase::ExtractOutput);
        acc
    }
}

/// A CombineFn that panics, in ordinary windows and in sessions.
pub fn b150_combine_fns_that_panic(r: &dyn Runner) {
    for phase in [Phase::AddInput, Phase::ExtractOutput] {
        let error = run_to_failure(r, |p| {
            p.create("Values", [(0_i64, 1_i64), (0, 2)]).combine_per_key("Bad", BadCombine(phase));
        });
        check(&error, "Bad", phase, How::Panics);
        // The default of an empty collection is extracted too.
        if phase == Phase::ExtractOutput {
            let error = run_to_failure(r, |p| {
                p.create("None", Vec::<i64>::new()).combine_globally("Bad", BadCombine(phase));
            });
            check(&error, "Bad/Combine", phase, How::Panics);
        }
    }
    for phase in [Phase::AddInput, Phase::MergeAccumulators, Phase::ExtractOutput] {
        let error = run_to_failure(r, |p| {
            let values = [((0_i64, 1_i64), at(0)), ((0, 2), at(20)), ((0, 3), at(10))];
            p.create_timestamped("Values", values)
                .window_into("Sessions", Sessions::with_gap(secs(15)))
                .combine_per_key("Bad", BadCombine(phase));
        });
        check(&error, "Bad", phase, How::Panics);
    }
}

/// Reading a side input that is wrong fails in the transform that reads it, and names both.
pub fn b150_a_side_input_that_cannot_be_read(r: &dyn Runner) {
    let error = run_to_failure(r, |p| {
        let view = p.create("Side", [1_i64, 2]).view_as_singleton("View");
        let read = view.clone();
        let f = move |x: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| -> Result {
            out.emit(x + cx.side(&read)?);
            Ok(())
        };
        p.create("Values", [1_i64])
            .composite("Outer", |pc| pc.par_do_with("Read", ParDo::from_fn(f).side(&view)).main());
    });
    assert_eq!(error.step().map(|s| s.path()), Some("Outer/Read"));
    assert_eq!(error.phase(), Some(Phase::Process));
    assert_says(&error.to_string(), &["`View`", "2 elements"]);
}

/// A source that fails in one of its methods.
#[derive(Clone)]
struct BadSource(Phase, How);

impl BadSource {
    fn at(&self, phase: Phase) -> Result {
        if self.0 == phase { self.1.fail() } else { Ok(()) }
    }
}

impl SplittableDoFn for BadSource {
    type Input = i64;
    type Output = i64;
    type Tracker = OffsetRangeTracker;
    type Estimator = Manual;

    fn setup(&mut self, _: &SetupContext<'_>) -> Result {
        self.at(Phase::Setup)
    }
    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.at(Phase::StartBundle)
    }
    fn finish_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.at(Phase::FinishBundle)
    }
    fn teardown(&mut self, _: &SetupContext<'_>) -> Result {
        self.at(Phase::Teardown)
    }
    fn initial_restriction(&self, _: &i64, _: &SdfContext<'_>) -> Result<OffsetRange> {
        self.at(Phase::InitialRestriction)?;
        Ok(OffsetRange::new(0, 10))
    }
    fn split(&self, _: &i64, r: OffsetRange, desired: usize, _: &SdfContext<'_>) -> Result<Vec<OffsetRange>> {
        self.at(Phase::Split)?;
        Ok(r.split(desired))
    }
    fn new_tracker(&self, _: &i64, r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(r))
    }
    fn initial_watermark_state(
        &self,
        _: &i64,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<WatermarkStateOf<Self>> {
        Ok(Timestamp::MIN)
    }
    fn new_watermark_estimator(
        &self,
        state: WatermarkStateOf<Self>,
        _: &i64,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        self.at(Phase::Watermark)?;
        Ok(Manual::new(state))
    }
    fn process(
        &mut self,
        _: &i64,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        let mut i = claims.restriction().start;
        while claims.try_claim(i) {
            if i == 7 {
                self.at(Phase::Process)?;
            }
            out.emit(i);
            i += 1;
        }
        Ok(Continuation::Stop)
    }
}

/// A splittable DoFn that fails, in each of its methods.
pub fn b150_sources_that_fail(r: &dyn Runner) {
    let phases = [
        Phase::Setup,
        Phase::StartBundle,
        Phase::InitialRestriction,
        Phase::Split,
        Phase::Watermark,
        Phase::Process,
        Phase::FinishBundle,
        Phase::Teardown,
    ];
    for phase in phases {
        for how in [How::Returns, How::Panics] {
            let error = run_to_failure(r, |p| {
                p.create("Values", [1_i64])
                    .composite("Read", |pc| pc.par_do_splittable("Source", BadSource(phase, how)))
                    .map("After", |x| x);
            });
            check(&error, "Read/Source", phase, how);
        }
    }
}

/// A window function that fails.
#[derive(Debug)]
struct BadWindows(How);

impl WindowFn for BadWindows {
    fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
        if cx.timestamp() == at(7) {
            self.0.fail()?;
        }
        out.push(Window::Global);
        Ok(())
    }
}

/// A window function that fails on an element.
pub fn b150_window_fns_that_fail(r: &dyn Runner) {
    for how in [How::Returns, How::Panics] {
        let error = run_to_failure(r, |p| {
            p.create_timestamped("Values", (0..20_i64).map(|t| (t, at(t))))
                .window_into("Bad", BadWindows(how))
                .map("After", |x| x);
        });
        check(&error, "Bad", Phase::Window, how);
    }
}

/// A grouping that could never give anything is refused, with the reason and the ways out.
pub fn b156_a_grouping_that_never_fires(_: &dyn Runner) {
    let endless = |p: &Pipeline| p.apply("Stream", TestStream::new().element((1_i64, 2_i64)));
    let group = build_errors(|p| drop(endless(p).group_by_key("TheGroup")));
    let combine = build_errors(|p| drop(endless(p).combine_per_key("TheGroup", Sum)));
    let global = build_errors(|p| drop(endless(p).map("V", |kv| kv.1).combine_globally("TheGroup", Sum)));
    for text in [group, combine, global] {
        assert_says(&text, &["`TheGroup", "unbounded", "global window", "never"]);
        assert_says(&text, &["window_into", "trigger", "bounded input"]);
    }
    let p = Pipeline::new();
    endless(&p).window_into("Windows", FixedWindows::of(secs(1))).group_by_key("Group");
    assert!(p.build().is_ok(), "the first way out works");
}

/// All that is wrong is told at once, in the order in which it was built.
pub fn all_build_errors_at_once(_: &dyn Runner) {
    let text = build_errors(|p| {
        let pc = p.create("Values", [1_i64]);
        pc.window_into("Zero", FixedWindows::of(secs(0)));
        pc.map("Same", |x| x);
        pc.map("Same", |x| x);
        let other = Pipeline::new().create("Other", [1_i64]);
        p.flatten("Foreign", [pc, other]);
    });
    assert_says(&text, &["for 3 reasons", "`Zero`", "`Same`", "`Foreign`", "another pipeline"]);
}
