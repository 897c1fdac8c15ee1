//! The runner and its options.

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{Arc, mpsc},
    thread,
};

use purlin_sdk::{PipelineError, RunHandle, RunShared, Runner, graph::Graph};

use crate::{
    artifacts,
    launcher::{OptionValue, artifact},
    pipeline::{Artifact, Environment},
    run::{self, Launch},
};

/// Hands a pipeline to an engine that speaks Beam's portability protocol, such as Prism or Flink's job server, and follows
/// the job to its end.
///
/// ```no_run
/// use purlin_runner_portable::{Environment, PortableRunner};
/// use purlin_sdk::Pipeline;
///
/// let p = Pipeline::new();
/// p.create("Numbers", 0..1000).map("Double", |n| n * 2);
/// let runner = PortableRunner::to("localhost:8073").environment(Environment::Loopback).job_name("doubles");
/// p.run_on(&runner)?.wait()?;
/// # Ok::<(), purlin_sdk::PipelineError>(())
/// ```
/// What the engine says goes on as events of `tracing`, with the target `purlin::engine`. A pipeline is refused before it
/// is submitted when it has something in it that the protocol has no word for; other things an engine refuses itself.
///
/// Source: Beam's `PortableRunner`.
#[derive(Clone)]
pub struct PortableRunner {
    endpoint: String,
    environment: Environment,
    job_name: Option<String>,
    options: BTreeMap<String, OptionValue>,
    artifacts: Vec<PathBuf>,
    arguments: Option<Vec<String>>,
}

impl PortableRunner {
    /// To the job service at `endpoint`, which is `host:port`. The pipeline's code runs in this process unless
    /// [`environment`](Self::environment) says another place.
    pub fn to(endpoint: impl Into<String>) -> PortableRunner {
        PortableRunner {
            endpoint: endpoint.into(),
            environment: Environment::Loopback,
            job_name: None,
            options: BTreeMap::new(),
            artifacts: Vec::new(),
            arguments: None,
        }
    }

    /// Where the pipeline's code runs.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> PortableRunner {
        self.environment = environment;
        self
    }

    /// The job's name, as the engine shows it; the program's name unless it is said.
    #[must_use]
    pub fn job_name(mut self, name: impl Into<String>) -> PortableRunner {
        self.job_name = Some(name.into());
        self
    }

    /// An option of the engine's, such as `parallelism`. `true`, `false` and lists in brackets are taken as such, all else
    /// as text.
    #[must_use]
    pub fn option(mut self, name: impl Into<String>, value: &str) -> PortableRunner {
        self.options.insert(name.into(), OptionValue::parse(value));
        self
    }

    /// A file that the workers get, under its own name; a DoFn finds it by [`artifact_path`](crate::artifact_path).
    #[must_use]
    pub fn artifact(mut self, path: impl Into<PathBuf>) -> PortableRunner {
        self.artifacts.push(path.into());
        self
    }

    /// The command line, without the program's name, by which a process that the engine starts builds the same pipeline
    /// again; this process's own unless it is said.
    #[must_use]
    pub fn arguments<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> PortableRunner {
        self.arguments = Some(arguments.into_iter().map(Into::into).collect());
        self
    }

    fn launch(&self, graph: Graph) -> Result<Launch, PipelineError> {
        let program = std::env::current_exe()
            .map_err(|e| PipelineError::runner(format!("where this program is cannot be found out: {e}")))?;
        let name = program
            .file_name()
            .map_or_else(|| "purlin".to_owned(), |name| name.to_string_lossy().into_owned());
        let arguments = self.arguments.clone().unwrap_or_else(|| {
            std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect()
        });
        let artifacts: Vec<Artifact> =
            self.artifacts.iter().map(|path| artifact(path)).collect::<Result<_, _>>()?;
        artifacts.iter().for_each(|artifact| artifacts::register(&artifact.name, &artifact.path));
        Ok(Launch {
            graph,
            endpoint: self.endpoint.clone(),
            environment: self.environment.clone(),
            job_name: self.job_name.clone().unwrap_or(name),
            options: self.options.clone(),
            artifacts,
            arguments,
            program: program.to_string_lossy().into_owned(),
        })
    }
}

impl fmt::Debug for PortableRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "portable runner to {} with code in {:?}", self.endpoint, self.environment)
    }
}

impl Runner for PortableRunner {
    fn name(&self) -> &str {
        "portable"
    }

    /// Submits the pipeline, and returns when the engine has started it.
    fn run(&self, graph: Graph) -> Result<RunHandle, PipelineError> {
        let launch = self.launch(graph)?;
        let shared = RunShared::new();
        let (tell, told) = mpsc::channel();
        let mine = Arc::clone(&shared);
        // A thread of its own: whoever calls may be inside another runtime, and may not be able to wait there.
        thread::Builder::new()
            .name("purlin-portable".into())
            .spawn(move || run::follow(launch, &mine, &tell))
            .map_err(|e| {
                PipelineError::runner(format!("the thread that follows the job cannot be started: {e}"))
            })?;
        match told.recv() {
            Ok(Ok(())) => Ok(RunHandle::new(shared)),
            Ok(Err(error)) => Err(error),
            Err(mpsc::RecvError) => {
                Err(PipelineError::runner("the thread that submits the pipeline ended without a word"))
            }
        }
    }
}
