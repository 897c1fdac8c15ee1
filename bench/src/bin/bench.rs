//! The benchmark: see the library for what it does.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use purlin_bench::harness::{self, cli::Args};

/// Every system's: a comparison in which one of them had a better allocator would compare allocators.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    match harness::run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            // Nothing is left to tell if stderr is gone too.
            let _ = writeln!(io::stderr(), "bench: {why}");
            ExitCode::from(2)
        }
    }
}
