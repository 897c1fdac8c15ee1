//! The command line that every pipeline has, and how failures are told.

use crate::program::{Ran, run, run_on_both};

const FAILURES: &str = env!("CARGO_BIN_EXE_failures");

fn failures(args: &[&str]) -> Ran {
    run(FAILURES, args)
}

/// One error on stderr and nothing else, with all of `parts` in it.
#[track_caller]
fn assert_one_error(ran: &Ran, code: i32, parts: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    assert_eq!(ran.stderr.matches("error:").count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    for part in parts {
        assert!(ran.stderr.contains(part), "`{part}` is not in: {}", ran.stderr);
    }
}

#[test]
fn help_shows_the_pipeline_s_options_and_the_run_s() {
    let ran = failures(&["--help"]);
    assert_eq!(ran.code, Some(0));
    let at =
        |text: &str| ran.stdout.find(text).unwrap_or_else(|| panic!("`{text}` is not in: {}", ran.stdout));
    assert_eq!(at("Adds up numbers, one of which is none"), 0);
    assert!(at("Pipeline options:") < at("--fail"));
    assert!(at("--fail") < at("Run options:"));
    for option in [
        "--runner <",
        "--parallelism <",
        "--seed <",
        "--retries <",
        "--memory-budget <",
        "--checkpoint-dir <",
        "--checkpoint-every <",
        "--restore",
        "--explain",
    ] {
        assert!(at("Run options:") < at(option));
    }
}

#[test]
fn an_error_says_where_and_why() {
    for runner in ["--runner=direct", "--runner=threaded"] {
        let ran = failures(&["--fail=error", runner]);
        let parts = ["`Parse`", "failures.rs:", "process", "invalid digit found in string"];
        assert_one_error(&ran, 1, &parts);
        assert_eq!(ran.stdout, "");
    }
    assert_one_error(&failures(&["--fail=error", "--runner=direct", "--seed=3"]), 1, &["--seed=3"]);
}

#[test]
fn a_panic_is_told_once_and_with_its_place() {
    for runner in ["--runner=direct", "--runner=threaded"] {
        let ran = failures(&["--fail=panic", runner]);
        assert_one_error(
            &ran,
            1,
            &["`Parse`", "process", "panicked: a number", "the panic was at examples/src/bin/failures.rs:"],
        );
        assert!(!ran.stderr.contains("thread '"), "{}", ran.stderr);
    }
}

#[test]
fn a_panic_without_a_text_has_a_place_too() {
    for runner in ["--runner=direct", "--runner=threaded"] {
        let ran = failures(&["--fail=odd", runner]);
        assert_one_error(&ran, 1, &["`Parse`", "no text", "the panic was at examples/src/bin/failures.rs:"]);
        assert!(!ran.stderr.contains("thread '"), "{}", ran.stderr);
    }
}

#[test]
fn a_panic_while_the_pipeline_is_built_is_an_error_too() {
    let ran = failures(&["--fail=build-panic"]);
    assert_one_error(
        &ran,
        1,
        &[
            "could not be built",
            "panicked: no pipeline today",
            "the panic was at examples/src/bin/failures.rs:",
        ],
    );
    assert!(!ran.stderr.contains("thread '"), "{}", ran.stderr);
}

#[test]
fn retries_that_are_used_up_are_told() {
    for runner in ["--runner=direct", "--runner=threaded"] {
        let ran = failures(&["--fail=always", runner, "--retries=2"]);
        assert_one_error(&ran, 1, &["the service is busy", "it was tried 3 times: --retries=2 is used up"]);
        let ran = failures(&["--fail=always", runner]);
        assert_one_error(&ran, 1, &["the service is busy", "marked as retryable and retries are off"]);
    }
    let ran = failures(&["--fail=always", "--runner=direct", "--retries=1", "--seed=4"]);
    assert_one_error(&ran, 1, &["--retries=1 is used up", "--seed=4"]);
}

#[test]
fn numbers_that_are_none_say_what_is_wanted() {
    let cases = [
        ("--parallelism=0", "whole number from 1"),
        ("--parallelism=-1", "whole number from 1"),
        ("--parallelism=all", "whole number from 1"),
        ("--seed=abc", "it is no seed: write a whole number"),
        ("--seed=-1", "it is no seed"),
        ("--retries=-1", "from 0 (never)"),
        ("--checkpoint-every=-1s", "it is no length of time above zero"),
        ("--checkpoint-every=soon", "with its unit, such as 500ms, 30s"),
    ];
    for (option, wanted) in cases {
        let (name, value) = option.split_once('=').unwrap();
        assert_one_error(&failures(&[option]), 2, &[wanted, name, &format!("'{value}'")]);
        assert_one_error(&failures(&[name, value]), 2, &[wanted, name, &format!("'{value}'")]);
    }
}

#[test]
fn a_wrong_pipeline_does_not_start() {
    assert_one_error(
        &failures(&["--fail=build"]),
        1,
        &["cannot be built", "the name `Parse` is taken", "failures.rs:"],
    );
}

#[test]
fn retryable_errors_are_retried_where_asked_for() {
    for runner in ["--runner=direct", "--runner=threaded"] {
        assert_one_error(&failures(&["--fail=once", runner]), 1, &["the service is busy"]);
        let ran = failures(&["--fail=once", runner, "--retries=1"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "sum: 321\n"), "{ran:?}");
    }
}

#[test]
fn bad_elements_can_be_put_aside() {
    let lines = run_on_both(FAILURES, &["--fail=aside"]);
    assert_eq!(lines, ["bad: three hundred (invalid digit found in string)", "sum: 21"]);
}

#[test]
fn an_unknown_runner_says_which_there_are() {
    assert_one_error(&failures(&["--runner=flink"]), 2, &["'flink'", "direct, threaded"]);
    let engines = ["built without", "the feature `portable`", "--runner=threaded"];
    assert_one_error(&failures(&["--runner=portable"]), 2, &engines);
}

#[test]
fn an_unknown_option_says_which_there_are() {
    assert_one_error(&failures(&["--input=x"]), 2, &["'--input'", "--fail, --runner, --parallelism"]);
}

#[test]
fn options_that_the_runner_has_no_use_for_are_refused() {
    assert_one_error(
        &failures(&["--seed=1"]),
        2,
        &["--seed does not go with --runner=threaded", "--runner=direct"],
    );
    for option in ["--parallelism=2", "--memory-budget=1GB"] {
        assert_one_error(
            &failures(&["--runner=direct", option]),
            2,
            &["does not go with --runner=direct", "one"],
        );
    }
    for option in ["--restore", "--checkpoint-every=2s"] {
        let name = option.split('=').next().unwrap();
        assert_one_error(&failures(&[option]), 2, &[name, "add --checkpoint-dir=DIR"]);
    }
    assert_one_error(&failures(&["--parallelism=0"]), 2, &["--parallelism"]);
    assert_one_error(&failures(&["--memory-budget=lots"]), 2, &["256MB"]);
}

#[test]
fn explain_shows_the_graph_and_runs_nothing() {
    let ran = failures(&["--explain", "--fail=panic"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ["\"path\": \"Parse\"", "\"collections\"", "\"watermarks\""]
            .iter()
            .all(|part| ran.stdout.contains(part)),
        "{}",
        ran.stdout
    );
}
