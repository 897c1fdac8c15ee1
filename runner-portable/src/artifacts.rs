//! Files that were given to a pipeline's workers, where they are.

use std::{
    collections::HashMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use prost::Message;
use purlin_sdk::PipelineError;

use crate::{
    launcher::{MAX_MESSAGE, connect},
    proto::{
        job_management::{
            GetArtifactRequest, ResolveArtifactsRequest,
            artifact_retrieval_service_client::ArtifactRetrievalServiceClient,
        },
        pipeline::{ArtifactInformation, ArtifactStagingToRolePayload},
    },
    urns,
};

static FILES: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);

fn files() -> MutexGuard<'static, Option<HashMap<String, PathBuf>>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the file is that was given to the workers under this name, see
/// [`PortableRunner::artifact`](crate::PortableRunner::artifact): the file itself in the process that gave it, and a
/// copy in one that an engine started. Nothing when none of this name was given.
pub fn artifact_path(name: &str) -> Option<PathBuf> {
    files().as_ref()?.get(name).cloned()
}

/// Notes where a file is.
pub(crate) fn register(name: &str, path: &Path) {
    files().get_or_insert_default().insert(name.to_owned(), path.to_owned());
}

/// Fetches what the engine keeps for its workers into `dir`.
///
/// # Errors
/// When the engine does not give it, or it cannot be written.
pub(crate) async fn fetch(
    address: &str,
    artifacts: Vec<ArtifactInformation>,
    dir: &Path,
) -> Result<(), PipelineError> {
    let failed = |what: &dyn std::fmt::Display| {
        PipelineError::runner(format!("the files for this worker cannot be had from `{address}`: {what}"))
    };
    if artifacts.is_empty() {
        return Ok(());
    }
    let channel = connect("the engine's artifact service", address).await?;
    let mut client = ArtifactRetrievalServiceClient::new(channel).max_decoding_message_size(MAX_MESSAGE);
    let request = ResolveArtifactsRequest { artifacts, preferred_urns: Vec::new() };
    let resolved = client.resolve_artifacts(request).await.map_err(|status| failed(&status.message()))?;
    for artifact in resolved.into_inner().replacements {
        let Some(name) = staged_name(&artifact) else { continue };
        let path = dir.join(&name);
        let request = GetArtifactRequest { artifact: Some(artifact) };
        let mut parts =
            client.get_artifact(request).await.map_err(|status| failed(&status.message()))?.into_inner();
        let mut file = fs::File::create(&path).map_err(|e| failed(&e))?;
        while let Some(part) = parts.message().await.map_err(|status| failed(&status.message()))? {
            file.write_all(&part.data).map_err(|e| failed(&e))?;
        }
        register(&name, &path);
    }
    Ok(())
}

/// The name of a file, without any folder that somebody may have put in front of it.
fn staged_name(of: &ArtifactInformation) -> Option<String> {
    if of.role_urn != urns::artifact::STAGING_TO {
        return None;
    }
    let role = ArtifactStagingToRolePayload::decode(&of.role_payload[..]).ok()?;
    Some(Path::new(&role.staged_name).file_name()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_names_and_no_folders() {
        let named = |name: &str| ArtifactInformation {
            role_urn: urns::artifact::STAGING_TO.to_owned(),
            role_payload: ArtifactStagingToRolePayload { staged_name: name.to_owned() }.encode_to_vec(),
            ..ArtifactInformation::default()
        };
        assert_eq!(staged_name(&named("rates.csv")).as_deref(), Some("rates.csv"));
        assert_eq!(staged_name(&named("../../etc/passwd")).as_deref(), Some("passwd"));
        assert_eq!(staged_name(&named("..")), None);
        assert_eq!(staged_name(&ArtifactInformation::default()), None);
        register("a name of this test", Path::new("/there"));
        assert_eq!(artifact_path("a name of this test"), Some(PathBuf::from("/there")));
        assert_eq!(artifact_path("another name of this test"), None);
    }
}
