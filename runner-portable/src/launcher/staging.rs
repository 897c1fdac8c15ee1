//! Files for the workers.
//!
//! The engine asks for them, one after another, over a stream that this side opens: first which files there are in
//! place of those that the pipeline names, then the contents of each.

use std::{
    io::{self, Read},
    path::Path,
    time::Duration,
};

use prost::Message;
use purlin_sdk::PipelineError;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::{
    channel::{MAX_MESSAGE, connect},
    errors::{late, refused},
};
use crate::{
    pipeline::Artifact,
    proto::{
        job_management::{
            ArtifactRequestWrapper, ArtifactResponseWrapper, GetArtifactResponse, ResolveArtifactsResponse,
            artifact_request_wrapper::Request, artifact_response_wrapper::Response,
            artifact_staging_service_client::ArtifactStagingServiceClient,
        },
        pipeline::{ArtifactFilePayload, ArtifactInformation},
    },
    urns,
};

/// How much of a file goes in one message.
const CHUNK: usize = 1 << 20;

/// How long the engine may say nothing.
const PATIENCE: Duration = Duration::from_secs(60);

/// The files that may be asked for: others are not given away, whatever the engine asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files(pub(crate) Vec<Artifact>);

impl Files {
    fn path(&self, of: &ArtifactInformation) -> Result<&Path, PipelineError> {
        let what = |e: &str| {
            PipelineError::runner(format!("the engine asked for a file that it was not offered: {e}"))
        };
        if of.type_urn != urns::artifact::FILE {
            return Err(what(&of.type_urn));
        }
        let asked = ArtifactFilePayload::decode(&of.type_payload[..]).map_err(|e| what(&e.to_string()))?;
        let found = self.0.iter().find(|artifact| artifact.path.to_string_lossy() == asked.path);
        found.map(|artifact| artifact.path.as_path()).ok_or_else(|| what(&asked.path))
    }
}

/// The file at `path` as one that workers get, under its own name.
///
/// # Errors
/// When it cannot be read, or has no name.
pub(crate) fn artifact(path: &Path) -> Result<Artifact, PipelineError> {
    let failed = |e: &dyn std::fmt::Display| {
        PipelineError::runner(format!("the artifact `{}` cannot be read: {e}", path.display()))
    };
    let path = path.canonicalize().map_err(|e| failed(&e))?;
    let name =
        path.file_name().and_then(|name| name.to_str()).ok_or_else(|| failed(&"its name is no text"))?;
    let name = name.to_owned();
    std::fs::File::open(&path).map_err(|e| failed(&e))?;
    Ok(Artifact { path, name })
}

/// Gives the engine what it asks for, until it asks no more.
///
/// # Errors
/// When the engine cannot be reached or asks for something else, and when a file cannot be read.
pub(super) async fn stage(address: &str, token: String, files: Files) -> Result<(), PipelineError> {
    let what = "take the files";
    let channel = connect("the service that takes files", address).await?;
    let mut client = ArtifactStagingServiceClient::new(channel)
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    let (answers, to_engine) = mpsc::channel(4);
    let first = ArtifactResponseWrapper { staging_token: token, ..ArtifactResponseWrapper::default() };
    send(&answers, address, first).await?;
    let opened = client.reverse_artifact_retrieval_service(ReceiverStream::new(to_engine));
    let mut asked = match tokio::time::timeout(PATIENCE, opened).await {
        Ok(Ok(stream)) => stream.into_inner(),
        Ok(Err(status)) => return Err(refused(address, what, &status)),
        Err(_) => return Err(late(address, what, PATIENCE)),
    };
    loop {
        match tokio::time::timeout(PATIENCE, asked.message()).await {
            Ok(Ok(Some(request))) => answer(request, &files, address, &answers).await?,
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(status)) => return Err(refused(address, what, &status)),
            Err(_) => return Err(late(address, what, PATIENCE)),
        }
    }
}

type Answers = mpsc::Sender<ArtifactResponseWrapper>;

async fn send(
    answers: &Answers,
    address: &str,
    answer: ArtifactResponseWrapper,
) -> Result<(), PipelineError> {
    answers.send(answer).await.map_err(|_| {
        PipelineError::runner(format!(
            "the service that takes files at `{address}` went away while it took them"
        ))
    })
}

async fn answer(
    asked: ArtifactRequestWrapper,
    files: &Files,
    address: &str,
    answers: &Answers,
) -> Result<(), PipelineError> {
    match asked.request {
        Some(Request::ResolveArtifact(of)) => {
            // They are what they are: a file is offered as it will be fetched.
            let response =
                Response::ResolveArtifactResponse(ResolveArtifactsResponse { replacements: of.artifacts });
            let answer =
                ArtifactResponseWrapper { response: Some(response), ..ArtifactResponseWrapper::default() };
            send(answers, address, answer).await
        }
        Some(Request::GetArtifact(of)) => {
            let path = files.path(&of.artifact.unwrap_or_default())?.to_owned();
            send_file(&path, address, answers).await
        }
        None => Err(PipelineError::runner(format!(
            "the service that takes files at `{address}` asked for something that this program does not know: it is of \
             another version"
        ))),
    }
}

async fn send_file(path: &Path, address: &str, answers: &Answers) -> Result<(), PipelineError> {
    let failed = |e: io::Error| {
        PipelineError::runner(format!("the artifact `{}` cannot be read: {e}", path.display()))
    };
    let mut file = std::fs::File::open(path).map_err(failed)?;
    loop {
        let mut data = vec![0; CHUNK];
        let n = file.read(&mut data).map_err(failed)?;
        data.truncate(n);
        let response = Some(Response::GetArtifactResponse(GetArtifactResponse { data }));
        let answer =
            ArtifactResponseWrapper { is_last: n == 0, response, ..ArtifactResponseWrapper::default() };
        send(answers, address, answer).await?;
        if n == 0 {
            return Ok(());
        }
    }
}
