//! Why a run does not go on.

use std::fmt;

use serde::Serialize;

use crate::Timestamp;

/// What holds the watermarks of a run's stages: why there is no output yet.
///
/// Printed, it names first what everything else waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StallReport {
    /// Processing time when it was made.
    pub now: Option<Timestamp>,
    /// Stages that are not done, in the order of the pipeline.
    pub stages: Vec<StageReport>,
}

/// A stage that is not done: transforms that run together, named after the first one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageReport {
    /// The path of its first transform.
    pub path: String,
    /// The source line that applied it.
    pub site: String,
    /// Its input watermark.
    pub input: Timestamp,
    /// Its output watermark.
    pub output: Timestamp,
    /// Since when, in processing time, the output watermark is where it is.
    pub since: Timestamp,
    /// Whether nobody waits for it.
    pub idle: bool,
    /// What holds the output watermark there, what holds it most first.
    pub holds: Vec<Hold>,
}

/// Something that holds a watermark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hold {
    /// Where it holds it.
    pub at: Timestamp,
    /// What it is.
    pub by: Holder,
}

/// What can hold a watermark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// The output watermark of another stage.
    Upstream {
        /// The path of its first transform.
        path: String,
    },
    /// Elements that can be processed.
    Elements {
        /// How many.
        pending: usize,
    },
    /// Bundles at work.
    Bundles {
        /// How many.
        running: usize,
    },
    /// Elements that wait for side inputs.
    SideInputs {
        /// How many elements.
        waiting: usize,
        /// The side inputs of the transform, and the input watermarks of those.
        views: Vec<(String, Timestamp)>,
    },
    /// Restrictions of a splittable DoFn, which hold it at their estimators' watermarks.
    Restrictions {
        /// How many.
        pending: usize,
        /// When the first one that asked to be resumed later goes on.
        resumes: Option<Timestamp>,
        /// Whether a source that is ahead of others waits for them.
        aligned: bool,
    },
    /// Timers, and what keys have gathered.
    Keys {
        /// How many groups of keys hold it there.
        key_groups: usize,
    },
    /// Windows that are open.
    Windows {
        /// How many.
        open: usize,
        /// The last timestamp of the one that ends first.
        first_end: Timestamp,
    },
    /// A stream that is told what its watermark is.
    Scripted,
}

impl Holder {
    /// What would release it.
    pub fn release(&self, at: Timestamp) -> String {
        match self {
            Holder::Upstream { path } => format!("it goes on with `{path}`"),
            Holder::Elements { .. } => "it goes on when they are processed".into(),
            Holder::Bundles { .. } => "it goes on when they are done: look at what the DoFns wait for".into(),
            Holder::SideInputs { views, .. } => {
                let views: Vec<_> =
                    views.iter().map(|(path, at)| format!("`{path}`, whose input is at {at}")).collect();
                format!(
                    "it goes on when there is a value: a view of a window has one when its input's watermark has passed \
                     the window, or its trigger has fired ({})",
                    views.join("; ")
                )
            }
            Holder::Restrictions { aligned: true, .. } => {
                "it is ahead of the sources that it is aligned with, and goes on when they have caught up".into()
            }
            Holder::Restrictions { .. } if at <= Timestamp::MIN => {
                "its estimator has no watermark yet: it has seen no data, or (if it adapts) not enough. A source that \
                 may be silent should say so: an idleness in its watermark strategy lets the others go on"
                    .into()
            }
            Holder::Restrictions { resumes: Some(resumes), .. } => format!(
                "its source has no more data for now and looks again at {resumes}; a source that may be silent should \
                 say so: an idleness in its watermark strategy lets the others go on"
            ),
            Holder::Restrictions { .. } => "it goes on with what the source reads".into(),
            Holder::Keys { .. } => {
                "it goes on when the timer that holds it fires, or the trigger of what is gathered".into()
            }
            Holder::Windows { first_end, .. } => {
                format!("the first one closes when the input watermark passes {first_end}")
            }
            Holder::Scripted => "it goes on when it is told to".into(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Upstream { path } => write!(f, "`{path}`, which it reads"),
            Holder::Elements { pending } => write!(f, "{pending} elements that are pending"),
            Holder::Bundles { running } => write!(f, "{running} bundles at work"),
            Holder::SideInputs { waiting, .. } => write!(f, "{waiting} elements that wait for side inputs"),
            Holder::Restrictions { pending, aligned: true, .. } => {
                write!(f, "{pending} restrictions of a source that waits since it is ahead of others")
            }
            Holder::Restrictions { pending, .. } => write!(f, "{pending} restrictions of a source"),
            Holder::Keys { key_groups } => write!(f, "timers or state in {key_groups} groups of keys"),
            Holder::Windows { open, .. } => write!(f, "{open} open windows"),
            Holder::Scripted => f.write_str("a stream whose watermark is told"),
        }
    }
}

impl StallReport {
    /// What everything else waits for: the stage, and what holds it. Nothing when nothing is held.
    pub fn culprit(&self) -> Option<(&StageReport, &Hold)> {
        let held = self.stages.iter().filter(|stage| !stage.idle);
        let own = held.filter_map(|stage| {
            let hold = stage.holds.iter().find(|hold| !matches!(hold.by, Holder::Upstream { .. }))?;
            Some((stage, hold))
        });
        // Of what holds at one time the first in the pipeline: what follows may only wait for it.
        own.min_by_key(|(_, hold)| hold.at)
    }
}

impl fmt::Display for StallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((stage, hold)) = self.culprit() else {
            return f.write_str("nothing holds a watermark");
        };
        write!(
            f,
            "the watermark is held at {} by {} in `{}` ({}) since {}: {}",
            hold.at,
            hold.by,
            stage.path,
            stage.site,
            stage.since,
            hold.by.release(hold.at)
        )?;
        for stage in &self.stages {
            let idle = if stage.idle { ", idle" } else { "" };
            write!(
                f,
                "\n  `{}`: input {}, output {} since {}{idle}",
                stage.path, stage.input, stage.output, stage.since
            )?;
            for hold in &stage.holds {
                write!(f, "\n    held at {} by {}", hold.at, hold.by)?;
            }
        }
        Ok(())
    }
}
