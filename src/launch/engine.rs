//! Options for an engine's job service.

use std::{path::PathBuf, str::FromStr};

/// The options of the portable runner. They are there in every build, so that one without the runner says what is
/// missing.
#[derive(clap::Args, Clone, Debug)]
#[group(skip)]
#[command(next_help_heading = "Run options")]
pub(super) struct EngineOptions {
    /// The job service of the engine, such as localhost:8073 (portable)
    #[arg(id = "purlin.job_endpoint", long = "job-endpoint", value_name = "HOST:PORT", hide = HIDE)]
    pub(super) job_endpoint: Option<String>,

    /// Where the pipeline's code runs: `loopback` (in this process), `process` (this program, started by the engine),
    /// `process:COMMAND`, or `external:HOST:PORT` (a program that was started with --worker-pool) (portable)
    #[arg(id = "purlin.environment", long = "environment", value_name = "PLACE", hide = HIDE)]
    pub(super) environment: Option<Place>,

    /// The job's name; the program's name by default (portable)
    #[arg(id = "purlin.job_name", long = "job-name", value_name = "NAME", hide = HIDE)]
    pub(super) job_name: Option<String>,

    /// An option of the engine's; may be given several times (portable)
    #[arg(id = "purlin.engine_option", long = "engine-option", value_name = "KEY=VALUE", hide = HIDE, value_parser = key_value)]
    pub(super) engine_options: Vec<(String, String)>,

    /// A file that the workers get; may be given several times (portable)
    #[arg(id = "purlin.artifact", long = "artifact", value_name = "FILE", hide = HIDE)]
    pub(super) artifacts: Vec<PathBuf>,

    /// Runs nothing, and starts workers of this pipeline for whoever asks at this address, until it is interrupted
    #[arg(id = "purlin.worker_pool", long = "worker-pool", value_name = "HOST:PORT", hide = HIDE)]
    pub(super) worker_pool: Option<String>,
}

const HIDE: bool = cfg!(not(feature = "portable"));

impl EngineOptions {
    /// The first one that was given and says something of a job.
    pub(super) fn given(&self) -> Option<&'static str> {
        [
            (self.job_endpoint.is_some(), "--job-endpoint"),
            (self.environment.is_some(), "--environment"),
            (self.job_name.is_some(), "--job-name"),
            (!self.engine_options.is_empty(), "--engine-option"),
            (!self.artifacts.is_empty(), "--artifact"),
        ]
        .into_iter()
        .find_map(|(given, name)| given.then_some(name))
    }
}

/// Where the pipeline's code runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Loopback,
    External(String),
    Process(Option<String>),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind, Some(rest).filter(|rest| !rest.is_empty())),
            None => (text, None),
        };
        match (kind, rest) {
            ("loopback", None) => Ok(Place::Loopback),
            ("process", command) => Ok(Place::Process(command.map(str::to_owned))),
            ("external", Some(address)) => Ok(Place::External(address.to_owned())),
            ("external", None) => {
                Err("the address of a worker pool is missing: external:HOST:PORT".to_owned())
            }
            _ => Err(
                "there is no such place; there are: loopback, process, process:COMMAND, external:HOST:PORT"
                    .to_owned(),
            ),
        }
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("it is written KEY=VALUE, such as parallelism=2".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        assert_eq!("loopback".parse(), Ok(Place::Loopback));
        assert_eq!("process".parse(), Ok(Place::Process(None)));
        assert_eq!("process:/opt/run me".parse(), Ok(Place::Process(Some("/opt/run me".to_owned()))));
        assert_eq!("external:host:50000".parse(), Ok(Place::External("host:50000".to_owned())));
        for (wrong, told) in [("external", "HOST:PORT"), ("docker", "loopback"), ("loopback:x", "loopback")] {
            assert!(wrong.parse::<Place>().unwrap_err().contains(told), "{wrong}");
        }
        assert!(key_value("=x").is_err() && key_value("x").is_err());
        assert_eq!(key_value("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
    }
}
