//! Pipelines on Prism by loopback, with the same output as on the direct runner.

#[path = "support/cases.rs"]
mod cases;
#[path = "support/compare.rs"]
mod compare;
#[path = "support/prism.rs"]
mod support;

use std::time::{Duration as StdDuration, Instant};

use cases::{Build, CASES, Sum, word_count};
use compare::gathered;
use purlin_runner_direct::DirectRunner;
use purlin_runner_portable::PortableRunner;
use purlin_sdk::{
    Combine, DoFnError, Duration, Emitter, PCollection, ParDo, Pipeline, ProcessContext, Result, RunState,
    Timestamp, WindowInto,
    testing::TestStream,
    window::{FixedWindows, Trigger},
};
use purlin_transforms::GenerateSequence;
use support::Prism;

/// Runs a pipeline on Prism, which must make what the direct runner makes.
fn compared(prism: &Prism, name: &str, build: Build) -> std::result::Result<(), String> {
    let (expected, _) = gathered(build, &DirectRunner::new()).unwrap();
    assert!(!expected.is_empty(), "{name}");
    match gathered(build, &PortableRunner::to(prism.endpoint())) {
        Ok((made, outcome)) if made == expected && outcome.state == RunState::Done => Ok(()),
        Ok((made, _)) => Err(format!("{name}: {made:?} instead of {expected:?}")),
        Err(e) => Err(format!("{name}: {e}")),
    }
}

#[test]
fn every_case() {
    let Some(prism) = Prism::start() else { return };
    let wrong: Vec<String> =
        CASES.iter().filter_map(|(name, build)| compared(&prism, name, *build).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_was_counted() {
    let Some(prism) = Prism::start() else { return };
    let (_, outcome) = gathered(word_count, &PortableRunner::to(prism.endpoint())).unwrap();
    let counted = outcome.metrics.committed;
    assert_eq!((counted.elements_out("Split"), counted.elements_in("Gather")), (8, 6));
}

#[test]
fn a_script_and_a_trigger() {
    let Some(prism) = Prism::start() else { return };
    let build: Build = |p| {
        let at = Timestamp::from_secs;
        let windows = WindowInto::of(FixedWindows::of(Duration::from_secs(10)))
            .trigger(Trigger::after_watermark().early(Trigger::after_count(2)))
            .discarding();
        p.apply(
            "Clicks",
            TestStream::new()
                .elements([(("a".to_owned(), 1_i64), at(1)), (("a".to_owned(), 2), at(2))])
                .elements([(("a".to_owned(), 4), at(3))])
                .advance_watermark_to(at(20))
                .elements([(("a".to_owned(), 8), at(23))]),
        )
        .window_into("Windows", windows)
        .apply("Sum", Combine::per_key(Sum))
        .map_cx("Show", |(key, sum), cx| Ok(format!("{} {key}: {sum}", cx.window())))
    };
    assert_eq!(compared(&prism, "script", build), Ok(()));
}

#[test]
fn an_error_of_a_dofn_comes_back_with_its_place() {
    let Some(prism) = Prism::start() else { return };
    let p = Pipeline::new();
    parsed(&p.create("Numbers", [1_i64, 2]));
    let begun = Instant::now();
    let told = p.run_on(&PortableRunner::to(prism.endpoint())).unwrap().wait().unwrap_err().to_string();
    assert!(told.contains("`Parse`") && told.contains("prism.rs") && told.contains("too large"), "{told}");
    assert!(begun.elapsed() < StdDuration::from_secs(10), "{told}");
}

/// Fails for numbers above one.
fn parsed(numbers: &PCollection<i64>) {
    let fail = |n: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| -> Result {
        if n > 1 {
            return Err(DoFnError::msg("too large"));
        }
        out.emit(n);
        Ok(())
    };
    numbers.par_do_with("Parse", ParDo::from_fn(fail));
}

#[test]
fn the_engine_dies_under_way() {
    let Some(mut prism) = Prism::start() else { return };
    let (begin, began) = std::sync::mpsc::channel::<i64>();
    let p = Pipeline::new();
    p.apply("Ticks", GenerateSequence::from(0)).map("Tell", move |n: i64| begin.send(n).is_ok());
    let handle = p.run_on(&PortableRunner::to(prism.endpoint())).unwrap();
    began.recv().unwrap();
    prism.kill();
    let begun = Instant::now();
    let told = handle.wait().unwrap_err().to_string();
    assert!(begun.elapsed() < StdDuration::from_secs(10), "{told}");
    assert!(told.contains("may have died") || told.contains("went away"), "{told}");
}

#[test]
fn a_job_without_an_end_is_cancelled() {
    let Some(prism) = Prism::start() else { return };
    let (begin, began) = std::sync::mpsc::channel::<i64>();
    let p = Pipeline::new();
    p.apply("Ticks", GenerateSequence::from(0)).map("Tell", move |n: i64| begin.send(n).is_ok());
    let handle = p.run_on(&PortableRunner::to(prism.endpoint())).unwrap();
    began.recv().unwrap();
    handle.cancel();
    assert_eq!(handle.wait().unwrap().state, RunState::Cancelled);
}
