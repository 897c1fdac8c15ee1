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
    /// Whether nobody waits for it, since there is nothing to wait for.
    pub idle: bool,
    /// Whether anything waits for its output watermark. Nothing does where a transform behind it assigns another one.
    pub waited_for: bool,
    /// How many restrictions of a source nobody waits for, since they are idle.
    pub idle_restrictions: usize,
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
    /// Elements that must be in a checkpoint before they are processed.
    Checkpoint {
        /// How many.
        waiting: usize,
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
    /// Restrictions of a splittable DoFn that are not idle, which hold it at their estimators' watermarks.
    Restrictions {
        /// How many.
        pending: usize,
        /// When the first one that asked to be resumed later goes on.
        resumes: Option<Timestamp>,
        /// Whether they wait since they are ahead of what they are aligned with.
        aligned: bool,
        /// The path of what they then wait for: it is furthest behind.
        ahead_of: Option<String>,
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
    /// A transform that assigns the watermark, which goes by its elements.
    Assigned {
        /// The strategy.
        strategy: String,
        /// How many partitions there are.
        partitions: usize,
        /// How many of them nobody waits for, since they are idle.
        idle: usize,
        /// How many of the others have no watermark yet.
        silent: usize,
        /// How many elements the partition that holds it has seen and how many it needs first, where it needs more.
        warm_up: Option<(u64, u64)>,
    },
    /// Whatever decides on an assigned watermark in place of the strategy.
    Controlled {
        /// What the strategy has come to.
        proposed: Timestamp,
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
            Holder::Checkpoint { .. } => {
                "what reads them must only see what a checkpoint holds for good: it goes on when one is on disk".into()
            }
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
            Holder::Restrictions { aligned: true, ahead_of: Some(path), .. } => {
                format!("it is ahead of what it is aligned with, and goes on when `{path}` has caught up")
            }
            Holder::Restrictions { aligned: true, .. } => {
                "it is ahead of what it is aligned with, and goes on when that has caught up".into()
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
            Holder::Assigned { warm_up: Some((seen, needs)), .. } if *seen > 0 => format!(
                "it needs {needs} elements of a partition before it has a watermark to speak of, and one has seen {seen}"
            ),
            Holder::Assigned { partitions, idle, .. } if *partitions > 0 && partitions == idle => {
                "all of its partitions are idle: it goes on with the next element".into()
            }
            Holder::Assigned { partitions, idle, silent, .. } if partitions - idle == *silent => {
                "it has seen no data yet".into()
            }
            Holder::Assigned { silent: 1.., .. } => {
                "it goes on when each of these has a watermark; a partition that may be silent should be idle after a \
                 while: give the strategy an idleness"
                    .into()
            }
            Holder::Assigned { .. } => "it goes on with the elements that come".into(),
            Holder::Controlled { proposed } => {
                format!("it goes on when that says so: the strategy itself has come to {proposed}")
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
            Holder::Checkpoint { waiting } => write!(f, "{waiting} elements that wait for a checkpoint"),
            Holder::Bundles { running } => write!(f, "{running} bundles at work"),
            Holder::SideInputs { waiting, .. } => write!(f, "{waiting} elements that wait for side inputs"),
            Holder::Restrictions { pending, aligned: true, .. } => {
                write!(f, "{pending} restrictions of a source that waits since it is ahead of others")
            }
            Holder::Restrictions { pending, .. } => write!(f, "{pending} restrictions of a source"),
            Holder::Keys { key_groups } => write!(f, "timers or state in {key_groups} groups of keys"),
            Holder::Windows { open, .. } => write!(f, "{open} open windows"),
            Holder::Assigned { strategy, partitions: 0 | 1, .. } => {
                write!(f, "its watermark strategy ({strategy})")
            }
            Holder::Assigned { strategy, partitions, idle, silent, .. } => write!(
                f,
                "its watermark strategy ({strategy}), of whose {partitions} partitions {silent} have no watermark yet and \
                 {idle} are idle"
            ),
            Holder::Controlled { .. } => {
                f.write_str("what decides on the watermark in place of its strategy")
            }
            Holder::Scripted => f.write_str("a stream whose watermark is told"),
        }
    }
}

impl StallReport {
    /// What everything else waits for: the stage, and what holds it. Nothing when nothing is held.
    pub fn culprit(&self) -> Option<(&StageReport, &Hold)> {
        let held = self.stages.iter().filter(|stage| !stage.idle && stage.waited_for);
        let own = held.filter_map(|stage| {
            let hold = stage.holds.iter().find(|hold| !matches!(hold.by, Holder::Upstream { .. }))?;
            Some((stage, hold))
        });
        // Of what holds at one time the first in the pipeline: what follows may only wait for it.
        own.min_by_key(|(_, hold)| hold.at)
    }
}

/// When a watermark moved last, if it ever did.
struct Since(Timestamp);

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > Timestamp::MIN {
            write!(f, "{}", self.0)
        } else {
            f.write_str("the beginning of the run")
        }
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
            Since(stage.since),
            hold.by.release(hold.at)
        )?;
        for stage in &self.stages {
            let idle = if stage.idle { ", idle" } else { "" };
            write!(
                f,
                "\n  `{}`: input {}, output {} since {}{idle}",
                stage.path,
                stage.input,
                stage.output,
                Since(stage.since)
            )?;
            if stage.idle_restrictions > 0 {
                write!(f, "\n    {} idle restrictions, for which nobody waits", stage.idle_restrictions)?;
            }
            for hold in &stage.holds {
                write!(f, "\n    held at {} by {}", hold.at, hold.by)?;
            }
        }
        Ok(())
    }
}
