//! One measurement, in a process of its own.

use purlin_bench_common::{measured, print};

use super::cli::One;
use super::input;
use crate::hand::w1;
use crate::{Failure, Input, Place, works};

/// Runs one system once and prints its sample as a line of JSON.
///
/// # Errors
/// If there is no such system, it fails, or its input or output does.
pub fn run(one: &One) -> Result<(), Failure> {
    let work = works::named(&one.work).ok_or_else(|| format!("no work is named {}", one.work))?;
    let system = work
        .systems
        .iter()
        .find(|system| system.name == one.system)
        .ok_or_else(|| format!("{} has no system named {}", work.name, one.system))?;
    let Place::Here(run) = system.place else {
        return Err(format!("{} is a program of its own", system.name).into());
    };
    let mut params = input::prepare(work, one.n, one.threads)?;
    if !params.input.as_os_str().is_empty() {
        w1::warm(&params.input)?;
    }
    if work.input == Input::Nexmark {
        params.preload();
    }
    print(&measured(|| run(&params))?)
}
