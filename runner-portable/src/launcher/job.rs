//! A job at an engine.

use std::{collections::BTreeMap, future::Future, time::Duration};

use purlin_sdk::PipelineError;
use tonic::{Response, Status, transport::Channel};

use super::{
    channel::{MAX_MESSAGE, connect},
    errors::{late, refused},
    options::{OptionValue, options},
    staging::{self, Files},
};
use crate::proto::{
    job_management::{
        CancelJobRequest, DescribePipelineOptionsRequest, DrainJobRequest, GetJobMetricsRequest,
        GetJobStateRequest, JobMessagesRequest, JobMessagesResponse, MetricResults, PrepareJobRequest,
        RunJobRequest, job_service_client::JobServiceClient, job_state,
    },
    pipeline::Pipeline,
};

/// How long a job service may take to say anything at all.
const FIRST: Duration = Duration::from_secs(4);
/// How long it may take for a simple question.
const QUICK: Duration = Duration::from_secs(5);
/// How long it may take to look at a pipeline, or to start a job.
const SLOW: Duration = Duration::from_secs(120);

/// What is submitted.
pub(crate) struct Submission {
    pub(crate) endpoint: String,
    pub(crate) name: String,
    pub(crate) pipeline: Pipeline,
    pub(crate) options: BTreeMap<String, OptionValue>,
    pub(crate) files: Files,
}

/// A job that an engine has taken.
#[derive(Clone)]
pub(crate) struct Job {
    client: JobServiceClient<Channel>,
    pub(super) endpoint: String,
    pub(super) id: String,
}

impl Job {
    /// Submits a pipeline and starts it.
    ///
    /// # Errors
    /// When the job service cannot be reached or refuses the pipeline.
    pub(crate) async fn submit(of: Submission) -> Result<Job, PipelineError> {
        let Submission { endpoint, name, pipeline, options: given, files } = of;
        let channel = connect("the job service", &endpoint).await?;
        let mut client = JobServiceClient::new(channel)
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE);
        // What never answers is found out here. Not every service has an answer to this.
        let asked =
            tokio::time::timeout(FIRST, client.describe_pipeline_options(DescribePipelineOptionsRequest {}));
        match asked.await {
            Err(_) => return Err(late(&endpoint, "answer", FIRST)),
            Ok(Err(status)) if status.code() != tonic::Code::Unimplemented => {
                return Err(refused(&endpoint, "say which options it has", &status));
            }
            Ok(_) => {}
        }
        let request = PrepareJobRequest {
            pipeline: Some(pipeline),
            pipeline_options: Some(options(&given)),
            job_name: name,
        };
        let prepared = call(&endpoint, "prepare the pipeline", SLOW, client.prepare(request)).await?;
        let staging_token = prepared.staging_session_token;
        if let Some(staging) = prepared.artifact_staging_endpoint.filter(|e| !e.url.is_empty()) {
            staging::stage(&staging.url, staging_token.clone(), files).await?;
        }
        let request =
            RunJobRequest { preparation_id: prepared.preparation_id, retrieval_token: staging_token };
        let started = call(&endpoint, "start the job", SLOW, client.run(request)).await?;
        tracing::info!("the job service at {endpoint} has started the job {}", started.job_id);
        Ok(Job { client, endpoint, id: started.job_id })
    }

    /// States and messages, from the beginning.
    pub(super) async fn messages(&self) -> Result<tonic::Streaming<JobMessagesResponse>, PipelineError> {
        let request = JobMessagesRequest { job_id: self.id.clone() };
        let mut client = self.client.clone();
        call(&self.endpoint, "tell what the job does", QUICK, client.get_message_stream(request)).await
    }

    /// Where it is.
    pub(super) async fn state(&self) -> Result<job_state::Enum, PipelineError> {
        let request = GetJobStateRequest { job_id: self.id.clone() };
        let mut client = self.client.clone();
        let event = call(&self.endpoint, "say where the job is", QUICK, client.get_state(request)).await?;
        Ok(event.state())
    }

    pub(crate) async fn cancel(&self) -> Result<(), PipelineError> {
        let request = CancelJobRequest { job_id: self.id.clone() };
        let mut client = self.client.clone();
        call(&self.endpoint, "cancel the job", QUICK, client.cancel(request)).await.map(drop)
    }

    pub(super) async fn drain(&self) -> Result<(), PipelineError> {
        let request = DrainJobRequest { job_id: self.id.clone() };
        let mut client = self.client.clone();
        call(&self.endpoint, "drain the job", QUICK, client.drain(request)).await.map(drop)
    }

    pub(crate) async fn metrics(&self) -> Result<MetricResults, PipelineError> {
        let request = GetJobMetricsRequest { job_id: self.id.clone() };
        let mut client = self.client.clone();
        let answer =
            call(&self.endpoint, "say what was counted", QUICK, client.get_job_metrics(request)).await?;
        Ok(answer.metrics.unwrap_or_default())
    }
}

/// The answer to a call, which must come in time.
async fn call<T>(
    endpoint: &str,
    what: &str,
    patience: Duration,
    answer: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, PipelineError> {
    match tokio::time::timeout(patience, answer).await {
        Ok(Ok(answer)) => Ok(answer.into_inner()),
        Ok(Err(status)) => Err(refused(endpoint, what, &status)),
        Err(_) => Err(late(endpoint, what, patience)),
    }
}
