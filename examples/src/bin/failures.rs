//! What happens when a pipeline fails: an error names the transform, its source line, the phase and the cause, the
//! program's exit code is 1, and elements that cannot be processed need not be the end.
//!
//! ```text
//! cargo run -p purlin-examples --bin failures -- --fail=error
//! cargo run -p purlin-examples --bin failures -- --fail=panic
//! cargo run -p purlin-examples --bin failures -- --fail=build
//! cargo run -p purlin-examples --bin failures -- --fail=aside
//! cargo run -p purlin-examples --bin failures -- --fail=wait   # and then Ctrl-C, twice
//! ```

use purlin::prelude::*;

/// Adds up numbers, one of which is none
#[derive(clap::Args, Clone)]
struct Options {
    /// What is done about the one that is none
    #[arg(long, value_enum, default_value_t = Fail::Aside)]
    fail: Fail,
}

#[derive(clap::ValueEnum, Clone, Copy)]
enum Fail {
    /// It fails the pipeline
    Error,
    /// It panics, which fails the pipeline too
    Panic,
    /// It panics, and not with a text
    Odd,
    /// The pipeline is wrong: it does not even start
    Build,
    /// The function that builds the pipeline panics
    BuildPanic,
    /// It comes out on an output of its own, with its error
    Aside,
    /// It fails the first time only, and is tried again where `--retries` says so
    Once,
    /// It fails whenever it is tried
    Always,
    /// Nothing fails, but every number waits for a line of input: interrupt it once to cancel, twice to end it at once
    Wait,
}

fn build(p: &Pipeline, options: &Options) {
    let lines = p.create("Lines", ["1", "20", "three hundred"].map(str::to_owned));
    let numbers = match options.fail {
        Fail::Error => lines.map_cx("Parse", |line, _| Ok(line.parse::<i64>()?)),
        Fail::Panic => lines.map("Parse", |line| line.parse::<i64>().expect("a number")),
        Fail::Odd => lines.map("Parse", |line| match line.parse::<i64>() {
            Ok(n) => n,
            Err(e) => std::panic::panic_any(e),
        }),
        Fail::BuildPanic => panic!("no pipeline today"),
        Fail::Build => {
            // Two transforms of one name: the error shows both lines.
            lines.map("Parse", |_| 0_i64);
            lines.map("Parse", |_| 1_i64)
        }
        Fail::Aside => {
            let (numbers, bad) = lines.try_map("Parse", |line: &String| Ok(line.parse::<i64>()?));
            bad.map("PrintBad", |bad| println!("bad: {} ({})", bad.element, bad.error));
            numbers
        }
        Fail::Always => lines.map_cx("Parse", |line, _| {
            line.parse::<i64>().map_err(|_| DoFnError::msg("the service is busy").retryable())
        }),
        Fail::Once => lines.map_cx("Parse", |line, cx| flaky(&line, cx.options()?)),
        Fail::Wait => lines.map_cx("Parse", |line, _| patient(&line)),
    };
    numbers.apply("Sum", Sum::globally()).map("Print", |sum| println!("sum: {sum}"));
}

/// A service that is busy when it is first asked.
fn flaky(line: &str, _: &Options) -> Result<i64> {
    use std::sync::atomic::{AtomicBool, Ordering};
    static ASKED: AtomicBool = AtomicBool::new(false);
    if ASKED.swap(true, Ordering::Relaxed) {
        Ok(line.parse().unwrap_or(300))
    } else {
        Err(DoFnError::msg("the service is busy").retryable())
    }
}

/// Waits in a call that a runner can neither see nor stop.
fn patient(line: &str) -> Result<i64> {
    println!("waiting for input");
    std::io::stdin().read_line(&mut String::new())?;
    Ok(line.parse().unwrap_or(300))
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}
