//! Where a pipeline's code runs.

use std::{collections::HashMap, path::PathBuf};

use prost::Message;

use crate::{
    proto::pipeline::{
        self as beam, ApiServiceDescriptor, ArtifactFilePayload, ArtifactInformation,
        ArtifactStagingToRolePayload, ExternalPayload, ProcessPayload,
    },
    urns,
};

/// The id of the only environment of a pipeline.
pub(crate) const ENVIRONMENT: &str = "purlin";

/// The variable that tells a program that an engine started it as a worker.
pub(crate) const WORKER_VARIABLE: &str = "PURLIN_WORKER";

/// Where the code of a pipeline runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Environment {
    /// In the process that submits the pipeline, which stays until the job is over: for development, and for engines on
    /// the same machine.
    #[default]
    Loopback,
    /// In workers that a pool at this address starts: a program that was started with `--worker-pool`.
    External(String),
    /// In processes that the engine starts on its own machines: this program's file, or the command that is given. The
    /// file must be there on each of them, at the same path.
    Process(Option<String>),
}

/// A file that the engine's workers get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Artifact {
    pub(crate) path: PathBuf,
    /// Its name where the workers are.
    pub(crate) name: String,
}

/// The environment in Beam's words; `pool` is the address of the pool in this process, for loopback, and `program` this
/// program's file.
pub(crate) fn environment(
    of: &Environment,
    pool: &str,
    program: &str,
    artifacts: &[Artifact],
) -> beam::Environment {
    let external = |address: &str| {
        let endpoint = ApiServiceDescriptor { url: address.to_owned(), ..ApiServiceDescriptor::default() };
        ExternalPayload { endpoint: Some(endpoint), params: HashMap::new() }.encode_to_vec()
    };
    let (urn, payload) = match of {
        Environment::Loopback => (urns::environment::EXTERNAL, external(pool)),
        Environment::External(address) => (urns::environment::EXTERNAL, external(address)),
        Environment::Process(command) => {
            let payload = ProcessPayload {
                command: command.as_deref().unwrap_or(program).to_owned(),
                env: HashMap::from([(WORKER_VARIABLE.to_owned(), "1".to_owned())]),
                ..ProcessPayload::default()
            };
            (urns::environment::PROCESS, payload.encode_to_vec())
        }
    };
    beam::Environment {
        urn: urn.to_owned(),
        payload,
        capabilities: CAPABILITIES.iter().map(|urn| (*urn).to_owned()).collect(),
        dependencies: artifacts.iter().map(dependency).collect(),
        ..beam::Environment::default()
    }
}

fn dependency(of: &Artifact) -> ArtifactInformation {
    let file = ArtifactFilePayload { path: of.path.to_string_lossy().into_owned(), sha256: String::new() };
    let role = ArtifactStagingToRolePayload { staged_name: of.name.clone() };
    ArtifactInformation {
        type_urn: urns::artifact::FILE.to_owned(),
        type_payload: file.encode_to_vec(),
        role_urn: urns::artifact::STAGING_TO.to_owned(),
        role_payload: role.encode_to_vec(),
    }
}

/// What a worker of ours can do. A coder that is not here comes with a length in front.
const CAPABILITIES: &[&str] = &[
    "beam:coder:bytes:v1",
    "beam:coder:string_utf8:v1",
    "beam:coder:bool:v1",
    "beam:coder:varint:v1",
    "beam:coder:double:v1",
    "beam:coder:kv:v1",
    "beam:coder:iterable:v1",
    "beam:coder:nullable:v1",
    "beam:coder:timer:v1",
    "beam:coder:row:v1",
    "beam:coder:sharded_key:v1",
    "beam:coder:length_prefix:v1",
    "beam:coder:global_window:v1",
    "beam:coder:interval_window:v1",
    "beam:coder:custom_window:v1",
    "beam:coder:windowed_value:v1",
    "beam:coder:param_windowed_value:v1",
    urns::protocol::PROGRESS,
    urns::protocol::MULTI_CORE,
    urns::protocol::WORKER_STATUS,
    urns::protocol::SHORT_IDS,
    urns::transform::SDF_TRUNCATE,
    urns::protocol::SDK_BASE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_this_program_unless_a_command_is_given() {
        for (given, command) in [(None, "/bin/program"), (Some("/opt/run.sh".to_owned()), "/opt/run.sh")] {
            let said = environment(&Environment::Process(given), "", "/bin/program", &[]);
            assert_eq!(said.urn, urns::environment::PROCESS);
            let payload = ProcessPayload::decode(&said.payload[..]).unwrap();
            assert_eq!(payload.command, command);
            assert_eq!(payload.env[WORKER_VARIABLE], "1");
        }
    }

    #[test]
    fn loopback_and_external_name_a_pool() {
        for (of, address) in
            [(Environment::Loopback, "127.0.0.1:7"), (Environment::External("host:9".into()), "host:9")]
        {
            let said = environment(&of, "127.0.0.1:7", "", &[]);
            let payload = ExternalPayload::decode(&said.payload[..]).unwrap();
            assert_eq!(payload.endpoint.unwrap().url, address);
            assert!(said.capabilities.iter().any(|urn| urn == "beam:coder:interval_window:v1"));
        }
    }

    #[test]
    fn artifacts_are_files_under_a_name_of_theirs() {
        let artifact = Artifact { path: "/tmp/a/b.csv".into(), name: "b.csv".into() };
        let said = environment(&Environment::Loopback, "", "", &[artifact]);
        let dependency = &said.dependencies[0];
        let file = ArtifactFilePayload::decode(&dependency.type_payload[..]).unwrap();
        let role = ArtifactStagingToRolePayload::decode(&dependency.role_payload[..]).unwrap();
        assert_eq!((file.path.as_str(), role.staged_name.as_str()), ("/tmp/a/b.csv", "b.csv"));
    }
}
