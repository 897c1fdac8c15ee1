//! What an engine says of a job.

use std::collections::VecDeque;

use crate::{
    failures::plain,
    proto::job_management::{
        JobMessage, job_message::MessageImportance as Importance, job_state::Enum as State,
    },
};

/// How many errors are kept.
const MOST: usize = 8;

/// The engine's messages go on as events; its last errors are kept, to say why the job failed.
#[derive(Debug, Default)]
pub(super) struct Messages {
    errors: VecDeque<String>,
}

impl Messages {
    pub(super) fn message(&mut self, job: &str, message: &JobMessage) {
        let said = message.message_text.trim_end();
        let text = plain(said);
        match message.importance() {
            Importance::JobMessageError => {
                tracing::error!(target: "purlin::engine", job, "{text}");
                if !said.is_empty() && !self.errors.iter().any(|told| told == said) {
                    self.errors.truncate(MOST - 1);
                    self.errors.push_front(said.to_owned());
                }
            }
            Importance::JobMessageWarning => tracing::warn!(target: "purlin::engine", job, "{text}"),
            Importance::JobMessageBasic => tracing::info!(target: "purlin::engine", job, "{text}"),
            Importance::Unspecified | Importance::JobMessageDebug | Importance::JobMessageDetailed => {
                tracing::debug!(target: "purlin::engine", job, "{text}");
            }
        }
    }

    pub(super) fn state(job: &str, state: State) {
        tracing::info!(target: "purlin::engine", job, "the job is {}", state.as_str_name());
    }

    /// Why the job failed, as the engine has it, with the marks that workers put in.
    pub(super) fn why(&self) -> String {
        match self.errors.len() {
            0 => "the engine does not say why: look into its log".to_owned(),
            _ => self.errors.iter().rev().map(String::as_str).collect::<Vec<_>>().join("\n  "),
        }
    }
}
