//! The examples on engines, with the same output as on the direct runner: `cargo test -p purlin-examples --features
//! portable --test engines`. Engines that are not installed are skipped, and that is printed.

#[path = "../../../runner-portable/tests/support/prism.rs"]
mod prism;
#[allow(dead_code)] // What is not on an engine uses more of it.
#[path = "../examples/program.rs"]
mod program;

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use prism::Prism;
use program::{Ran, run};

/// What an example prints on the direct runner.
fn on_direct(program: &str, args: &[&str]) -> Vec<String> {
    let ran = run(program, &[args, &["--runner=direct"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.sorted().into_iter().map(str::to_owned).collect()
}

/// Runs an example on Prism.
fn on_prism(prism: &Prism, program: &str, args: &[&str], environment: &str) -> Ran {
    let endpoint = format!("--job-endpoint={}", prism.endpoint());
    let place = format!("--environment={environment}");
    let ran = run(program, &[args, &["--runner=portable", &endpoint, &place]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

/// An example that prints its result, by loopback and by processes that Prism starts.
fn prints_the_same(program: &str, args: &[&str]) {
    let Some(prism) = Prism::start() else { return };
    let expected = on_direct(program, args);
    assert!(!expected.is_empty());
    let ran = on_prism(&prism, program, args, "loopback");
    assert_eq!(ran.sorted(), expected);
    let ran = on_prism(&prism, program, args, "process");
    assert_eq!(ran.stdout, "");
    // What a worker has printed is with Prism when the worker is gone, which may be a moment after the job's end.
    let until = Instant::now() + Duration::from_secs(20);
    while prism.printed() != expected && Instant::now() < until {
        std::thread::yield_now();
    }
    assert_eq!(prism.printed(), expected);
}

#[test]
fn windowed_wordcount() {
    prints_the_same(env!("CARGO_BIN_EXE_windowed_wordcount"), &["--window=1m"]);
}

#[test]
fn side_input() {
    prints_the_same(env!("CARGO_BIN_EXE_side_input"), &[]);
}

#[test]
fn state_and_timers() {
    prints_the_same(env!("CARGO_BIN_EXE_state_and_timers"), &["--window=1m"]);
}

#[test]
fn sdf_source() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    prints_the_same(env!("CARGO_BIN_EXE_sdf_source"), &[&format!("--file={file}"), "--length=16"]);
}

/// Prism merges sessions that only touch, and Beam does not: the gap is chosen so that none do.
#[test]
fn session_windows() {
    prints_the_same(env!("CARGO_BIN_EXE_session_windows"), &["--gap=8m"]);
}

/// The lines of the files that a word count wrote, in order.
fn counts(prefix: &std::path::Path) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(prefix.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().starts_with(&*prefix.to_string_lossy()) {
            lines.extend(std::fs::read_to_string(path).unwrap().lines().map(str::to_owned));
        }
    }
    lines.sort();
    lines
}

#[test]
fn wordcount() {
    let Some(prism) = Prism::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.txt");
    let book = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/data/kjv.txt")).unwrap();
    std::fs::write(&input, book.lines().take(2_000).collect::<Vec<_>>().join("\n")).unwrap();
    let input = format!("--input={}", input.display());
    let program = env!("CARGO_BIN_EXE_wordcount");
    let [direct, loopback, process] = ["direct", "loopback", "process"].map(|place| {
        let output = dir.path().join(place);
        let to = format!("--output={}", output.display());
        match place {
            "direct" => drop(on_direct(program, &[&input, &to])),
            _ => {
                // Prism never runs a bundle twice, but does not know the word for that.
                let stable = "--engine-option=purlin_stable_input=assumed";
                drop(on_prism(&prism, program, &[&input, &to, stable], place));
            }
        }
        counts(&output)
    });
    assert!(direct.len() > 1_000, "{} words", direct.len());
    assert!(loopback == direct && process == direct);
}

/// Submits an example whose workers are those of another program, which must fail soon; gives what is said.
fn refused(command: &std::path::Path) -> Option<String> {
    let prism = Prism::start()?;
    let endpoint = format!("--job-endpoint={}", prism.endpoint());
    let place = format!("--environment=process:{}", command.display());
    let begun = Instant::now();
    let ran = run(env!("CARGO_BIN_EXE_side_input"), &["--runner=portable", &endpoint, &place]);
    assert!(begun.elapsed() < Duration::from_secs(10), "{ran:?}");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    Some(ran.stderr)
}

/// A byte more at the end of a program's file changes nothing that it does: it is another build all the same.
#[test]
fn a_worker_of_another_build() {
    let dir = tempfile::tempdir().unwrap();
    let other = dir.path().join("other");
    std::fs::copy(env!("CARGO_BIN_EXE_side_input"), &other).unwrap();
    std::fs::OpenOptions::new().append(true).open(&other).unwrap().write_all(b"x").unwrap();
    let Some(told) = refused(&other) else { return };
    assert!(
        told.contains("does not have the pipeline that was submitted") && told.contains("of program"),
        "{told}"
    );
}

#[test]
fn a_worker_of_another_program() {
    let Some(told) = refused(std::path::Path::new(env!("CARGO_BIN_EXE_windowed_wordcount"))) else { return };
    assert!(told.contains("does not have the pipeline that was submitted"), "{told}");
}

#[test]
fn a_pool_in_another_process() {
    let Some(prism) = Prism::start() else { return };
    let program = env!("CARGO_BIN_EXE_state_and_timers");
    let expected = on_direct(program, &[]);
    let mut pool = Command::new(program)
        .args(["--runner=portable", "--worker-pool=127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = String::new();
    BufReader::new(pool.stderr.take().unwrap()).read_line(&mut told).unwrap();
    let address = told.trim().rsplit(' ').next().unwrap().to_owned();
    let ran = on_prism(&prism, program, &[], &format!("external:{address}"));
    assert_eq!(ran.stdout, "");
    pool.kill().unwrap();
    let mut printed = String::new();
    pool.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    pool.wait().unwrap();
    let mut printed: Vec<&str> = printed.lines().collect();
    printed.sort_unstable();
    assert_eq!(printed, expected);
}

#[test]
fn what_prism_does_not_know_is_told_with_the_way_out() {
    let Some(prism) = Prism::start() else { return };
    let endpoint = format!("--job-endpoint={}", prism.endpoint());
    let args = ["--input=none", "--output=none", "--runner=portable", &endpoint];
    let ran = run(env!("CARGO_BIN_EXE_wordcount"), &args);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("purlin_stable_input=assumed"), "{ran:?}");
}
