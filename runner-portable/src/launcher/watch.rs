//! Following a job to its end.

use std::time::Duration;

use purlin_sdk::{PipelineError, RunOutcome, RunResult, RunState, metrics::MetricsSnapshot};
use tokio::{sync::mpsc, time};

use super::{job::Job, messages::Messages, metrics};
use crate::{
    failures::{Failures, plain},
    proto::job_management::{JobMessagesResponse, job_messages_response::Response, job_state::Enum as State},
};

/// How often the engine is asked whether it is still there.
const HEARTBEAT: Duration = Duration::from_secs(3);

/// How long after the end messages may still come.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long an engine may take to cancel a job.
const CANCEL: Duration = Duration::from_secs(10);

/// What is asked of a job that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// To stop it.
    Cancel,
    /// To bring its sources to their end.
    Drain,
}

/// Follows `job` until it is over.
pub(crate) async fn watch(
    job: &Job,
    requests: &mut mpsc::UnboundedReceiver<Request>,
    failures: &Failures,
) -> RunResult {
    let mut watch = Watch { job, failures, messages: Messages::default(), cancelled: false };
    let end = watch.until_the_end(requests).await?;
    watch.result(end).await
}

struct Watch<'a> {
    job: &'a Job,
    failures: &'a Failures,
    messages: Messages,
    cancelled: bool,
}

impl Watch<'_> {
    /// The state in which the job ended.
    async fn until_the_end(
        &mut self,
        requests: &mut mpsc::UnboundedReceiver<Request>,
    ) -> Result<State, PipelineError> {
        let mut stream = self.job.messages().await?;
        let mut heartbeat = time::interval_at(time::Instant::now() + HEARTBEAT, HEARTBEAT);
        // Without a limit until the job is to be cancelled.
        let mut patience: Option<time::Instant> = None;
        loop {
            let late = async move {
                match patience {
                    Some(until) => time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                told = stream.message() => match told {
                    Ok(Some(told)) => {
                        if let Some(end) = self.told(told) {
                            self.last_words(&mut stream).await;
                            return Ok(end);
                        }
                    }
                    // The stream is over, or broken: the job may be over, or the engine gone.
                    Ok(None) => return self.how_it_ended(None).await,
                    Err(status) => return self.how_it_ended(Some(status)).await,
                },
                Some(request) = requests.recv() => {
                    if self.request(request).await? {
                        patience = Some(time::Instant::now() + CANCEL);
                    }
                },
                _ = heartbeat.tick() => {
                    let state = self.job.state().await.map_err(gone)?;
                    if is_over(state) {
                        self.last_words(&mut stream).await;
                        return Ok(state);
                    }
                },
                () = late => {
                    tracing::warn!("the engine was asked to cancel the job and has not said within {} s that it did", CANCEL.as_secs());
                    return Ok(State::Cancelled);
                },
            }
        }
    }

    /// Does what is asked of the job; whether it is to end soon.
    async fn request(&mut self, request: Request) -> Result<bool, PipelineError> {
        match request {
            Request::Cancel => {
                self.cancelled = true;
                self.job.cancel().await.map(|()| true)
            }
            // Not every engine can; the job goes on then.
            Request::Drain => {
                if let Err(e) = self.job.drain().await {
                    tracing::warn!("the engine does not drain: {e}. The job goes on; it can be cancelled");
                }
                Ok(false)
            }
        }
    }

    /// Takes a message in; the state, when it is the last one.
    fn told(&mut self, told: JobMessagesResponse) -> Option<State> {
        match told.response? {
            Response::MessageResponse(message) => {
                self.messages.message(&self.job.id, &message);
                None
            }
            Response::StateResponse(event) => {
                Messages::state(&self.job.id, event.state());
                Some(event.state()).filter(|state| is_over(*state))
            }
        }
    }

    /// Reads what comes after the end: some engines say only then what went wrong.
    async fn last_words(&mut self, stream: &mut tonic::Streaming<JobMessagesResponse>) {
        let until = time::Instant::now() + LAST_WORDS;
        while let Ok(Ok(Some(told))) = time::timeout_at(until, stream.message()).await {
            self.told(told);
        }
    }

    /// The state of a job of which nothing more is told.
    async fn how_it_ended(&mut self, broken: Option<tonic::Status>) -> Result<State, PipelineError> {
        if let Some(status) = broken {
            tracing::warn!("the engine's messages broke off: {}", status.message());
        }
        let until = time::Instant::now() + LAST_WORDS;
        loop {
            let state = self.job.state().await.map_err(gone)?;
            if is_over(state) {
                return Ok(state);
            }
            if time::Instant::now() > until {
                return Err(PipelineError::runner(format!(
                    "the job service at `{}` tells nothing more of the job {}, which is {}: it was restarted, or is \
                     overloaded. The job may go on; look for it there",
                    self.job.endpoint,
                    self.job.id,
                    state.as_str_name()
                )));
            }
            time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn result(&self, end: State) -> RunResult {
        let state = match end {
            State::Done | State::Updated => RunState::Done,
            State::Drained => RunState::Drained,
            State::Cancelled => RunState::Cancelled,
            // Some engines say that a job failed which they were asked to cancel.
            _ if self.cancelled => RunState::Cancelled,
            _ => {
                let (job, why) = (&self.job.id, self.messages.why());
                return Err(match self.failures.find(&why) {
                    Some(error) => error.with_note(format!("so the job {job} failed at the engine")),
                    None => {
                        PipelineError::runner(format!("the job {job} failed at the engine: {}", plain(&why)))
                    }
                });
            }
        };
        let metrics = match self.job.metrics().await {
            Ok(results) => metrics::snapshot(&results),
            // The job is done all the same.
            Err(e) => {
                tracing::warn!("what was counted is not known: {e}");
                MetricsSnapshot::default()
            }
        };
        Ok(RunOutcome { state, metrics })
    }
}

fn gone(e: PipelineError) -> PipelineError {
    e.with_note("the job was under way; the engine may have died, or may have been stopped")
}

fn is_over(state: State) -> bool {
    matches!(state, State::Done | State::Failed | State::Cancelled | State::Updated | State::Drained)
}
