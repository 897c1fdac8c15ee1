//! `TestPipeline`, and the derives by way of the facade.

use std::panic::{AssertUnwindSafe, catch_unwind};

use purlin::{
    Emitter, Outputs, ParDo, Tag,
    testing::{TestPipeline, assert_that},
};
use serde::{Deserialize, Serialize};

fn panic_text(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("a panic");
    payload.downcast_ref::<String>().cloned().expect("a panic with a text")
}

#[test]
fn a_pipeline_that_fails_panics_with_its_error() {
    let text = panic_text(|| {
        let p = TestPipeline::new();
        assert_that("Sum", &p.create("Numbers", [1, 2])).is(3);
        p.run();
    });
    assert!(text.contains("expected exactly [3], got [") && text.contains(file!()), "{text}");
    let text = panic_text(|| {
        let p = TestPipeline::new();
        p.create("Numbers", [1]);
        p.create("Numbers", [1]);
        p.run();
    });
    assert!(text.contains("the name `Numbers` is taken"), "{text}");
}

#[test]
fn a_pipeline_that_never_ran_panics() {
    let text = panic_text(|| {
        let p = TestPipeline::new();
        assert_that("Sum", &p.create("Numbers", [1])).is(2);
    });
    assert!(text.contains("has not run") && text.contains(file!()), "{text}");
    // Not while the test is failing for another reason already.
    let text = panic_text(|| {
        let _p = TestPipeline::new();
        std::panic::panic_any("another reason".to_owned());
    });
    assert_eq!(text, "another reason");
}

#[test]
fn options_are_there() {
    let p = TestPipeline::with_options(3_i64);
    let scaled = p.create("Numbers", [1, 2]).map_cx("Scale", |n: i64, cx| Ok(n * cx.options::<i64>()?));
    assert_that("Scaled", &scaled).contains_in_any_order([3, 6]);
    assert_eq!(p.run().state, purlin::RunState::Done);
}

#[derive(Clone, Debug, Serialize, Deserialize, Outputs)]
enum Parsed {
    /// What is a number.
    Number(i64),
    BadLine(String),
    /// Its field is a keyword.
    Type((String, u8)),
}

#[test]
fn every_variant_comes_out_of_its_own_collection() {
    for seed in 0..4 {
        let p = TestPipeline::new();
        let lines = ["1", "two", "i64", "4"].map(str::to_owned);
        let parsed = p
            .create("Lines", lines)
            .map("Parse", |line: String| match (line.parse(), line.as_str()) {
                (Ok(n), _) => Parsed::Number(n),
                (_, "i64") => Parsed::Type((line, 64)),
                _ => Parsed::BadLine(line),
            })
            .split_outputs("Split");
        assert_that("Numbers", &parsed.number).contains_in_any_order([1, 4]);
        assert_that("BadLines", &parsed.bad_line).is("two".to_owned());
        assert_that("Types", &parsed.r#type).is(("i64".to_owned(), 64));
        p.run_with_seed(seed);
    }
}

#[test]
fn tagged_outputs_can_be_asserted_on() {
    const SMALL: Tag<i64> = Tag::new("small");
    let p = TestPipeline::new();
    let parts = p.create("Numbers", [1_i64, 5]).par_do_with(
        "Split",
        ParDo::from_fn(|n, _, out: &mut Emitter<'_, i64>| {
            match n {
                ..3 => out.emit_to(SMALL, n),
                _ => out.emit(n),
            }
            Ok(())
        })
        .tag(SMALL),
    );
    assert_that("Small", &parts.tagged(SMALL)).is(1);
    assert_that("Large", &parts.main()).is(5);
    p.run();
}
