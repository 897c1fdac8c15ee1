//! What went wrong with an engine, in words.

use std::error::Error;

use purlin_sdk::PipelineError;
use tonic::{Code, Status};

/// An error and what caused it.
pub(super) fn causes(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_told = cause.to_string();
        if !told.contains(&cause_told) {
            told = format!("{told}: {cause_told}");
        }
        next = cause.source();
    }
    told
}

/// The job service at `address` did not do `what`.
pub(super) fn refused(address: &str, what: &str, status: &Status) -> PipelineError {
    PipelineError::runner(match status.code() {
        Code::Unimplemented => format!(
            "what answers at `{address}` cannot {what}: it is no job service of Beam's, or one of a version that this \
             program does not know ({}). Is this the port of the job service, and not that of its user interface?",
            status.message()
        ),
        Code::DeadlineExceeded | Code::Cancelled => {
            format!("the job service at `{address}` did not {what} in time: {}", told(status))
        }
        Code::Unavailable => {
            format!("the job service at `{address}` went away before it could {what}: {}", told(status))
        }
        Code::ResourceExhausted => format!(
            "the job service at `{address}` could not {what}: {}. When it is the size of the message, raise the engine's \
             limit, or read large data from a file instead of giving them to `create`",
            told(status)
        ),
        _ => format!("the job service at `{address}` refused to {what}: {}", told(status)),
    })
}

fn told(status: &Status) -> String {
    let told = match status.message() {
        "" => status.code().to_string(),
        message => message.to_owned(),
    };
    match status.source() {
        Some(cause) if !told.contains(&cause.to_string()) => format!("{told}: {}", causes(cause)),
        _ => told,
    }
}

/// The call was not answered in time.
pub(super) fn late(address: &str, what: &str, after: std::time::Duration) -> PipelineError {
    PipelineError::runner(format!(
        "what answers at `{address}` did not {what} within {} s: it is no job service of Beam's, or it hangs",
        after.as_secs()
    ))
}
