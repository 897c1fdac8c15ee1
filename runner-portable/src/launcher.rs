//! The launcher: what hands a pipeline to an engine's job service and follows the job.
//!
//! Source: `beam_job_api.proto`, and what Beam's own launchers do where it is silent.

mod channel;
mod errors;
#[cfg(test)]
mod fake;
mod job;
mod messages;
mod metrics;
mod options;
mod staging;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use self::{
    channel::{MAX_MESSAGE, connect},
    job::{Job, Submission},
    metrics::snapshot,
    options::{ARGUMENTS, FINGERPRINT, OptionValue, text_option},
    staging::{Files, artifact},
    watch::{Request, watch},
};
