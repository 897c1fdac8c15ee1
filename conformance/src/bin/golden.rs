//! Runs recorded cases from elsewhere: see `--help`.

use std::{
    env,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use purlin_conformance::golden::{Choice, Outcome, run_all};

const HELP: &str = "\
Runs recorded cases: Beam's trigger transcripts and standard coders, and scenarios taken down from runs of Beam and Spark.

Usage: golden [--runner=direct|threaded|all] [--only=TEXT] DIR...

  --runner=  the runners to use: direct (five seeds), threaded (1, 2 and 16 threads) or all, which is the default
  --only=    only cases whose file or name contains TEXT
  DIR        a directory with .json and .yaml files, at any depth

A line is printed for each case that fails, differs or is skipped, and at the end how many there were. The exit code is 1
if a case failed, or if a DIR cannot be read or holds no case.
";

struct Options {
    runner: Choice,
    only: Option<String>,
    dirs: Vec<PathBuf>,
}

fn options() -> Result<Option<Options>, String> {
    let mut options = Options { runner: Choice::All, only: None, dirs: Vec::new() };
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name.to_owned(), Some(value.to_owned())),
            _ => (arg.clone(), None),
        };
        let mut value = || {
            let value = value.clone().or_else(|| args.next());
            value.ok_or_else(|| format!("{name} needs a value"))
        };
        match name.as_str() {
            "--help" | "-h" => return Ok(None),
            "--runner" => options.runner = value()?.parse()?,
            "--only" => options.only = Some(value()?),
            flag if flag.starts_with('-') => return Err(format!("there is no option {flag}; see --help")),
            _ => options.dirs.push(arg.into()),
        }
    }
    match options.dirs.is_empty() {
        true => Err("a directory with cases is needed; see --help".to_owned()),
        false => Ok(Some(options)),
    }
}

fn main() -> ExitCode {
    let mut out = io::stdout();
    let options = match options() {
        Ok(Some(options)) => options,
        Ok(None) => {
            let _ = out.write_all(HELP.as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(e) => {
            eprintln!("golden: {e}");
            return ExitCode::FAILURE;
        }
    };
    let totals = run_all(&options.dirs, options.only.as_deref(), options.runner, |title, outcome| {
        let line = match outcome {
            Outcome::Passed => return,
            Outcome::Failed(why) => format!("FAILED {title}: {why}"),
            Outcome::Differs(why) => format!("differs {title}: {why}"),
            Outcome::Skipped(why) => format!("skipped {title}: {why}"),
        };
        // One line a case.
        let _ = writeln!(out, "{}", line.replace('\n', " "));
    });
    match totals {
        Ok(totals) => {
            let _ = writeln!(io::stdout(), "{totals}");
            if totals.failed > 0 || totals.all() == 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(e) => {
            eprintln!("golden: {e}");
            ExitCode::FAILURE
        }
    }
}
