//! What a trigger is made of.

use super::{Trigger, TriggerNode as Node};
use crate::Duration;

/// What a trigger is, and the triggers that it is made of: for whoever must say it in another language, such as a runner
/// that gives the pipeline to an engine.
///
/// ```
/// use purlin_sdk::window::{Trigger, TriggerKind};
/// let trigger = Trigger::repeatedly(Trigger::after_count(3));
/// assert_eq!(trigger.kind(), TriggerKind::Repeatedly(Trigger::after_count(3)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// [`Trigger::default`].
    Default,
    /// [`Trigger::after_watermark`].
    AfterWatermark {
        /// [`Trigger::early`].
        early: Option<Trigger>,
        /// [`Trigger::late`].
        late: Option<Trigger>,
    },
    /// [`Trigger::after_count`].
    AfterCount(u64),
    /// [`Trigger::after_processing_time`].
    AfterProcessingTime {
        /// [`Trigger::delay`].
        delay: Duration,
        /// [`Trigger::align_to`].
        align_to: Option<Duration>,
    },
    /// [`Trigger::after_synchronized_processing_time`].
    AfterSynchronizedProcessingTime,
    /// [`Trigger::repeatedly`].
    Repeatedly(Trigger),
    /// [`Trigger::after_each`].
    AfterEach(Vec<Trigger>),
    /// [`Trigger::after_all`].
    AfterAll(Vec<Trigger>),
    /// [`Trigger::after_any`].
    AfterAny(Vec<Trigger>),
    /// [`Trigger::or_finally`]: the trigger, and the one that ends it.
    OrFinally(Trigger, Trigger),
    /// [`Trigger::never`].
    Never,
    /// [`Trigger::always`].
    Always,
}

impl Trigger {
    /// What it is made of.
    pub fn kind(&self) -> TriggerKind {
        let one = |node: &Node| Trigger(node.clone());
        let all = |nodes: &[Node]| nodes.iter().map(one).collect();
        match &self.0 {
            Node::Default => TriggerKind::Default,
            Node::AfterWatermark { early, late } => TriggerKind::AfterWatermark {
                early: early.as_deref().map(one),
                late: late.as_deref().map(one),
            },
            Node::AfterCount(n) => TriggerKind::AfterCount(*n),
            Node::AfterProcessingTime { delay, align_to } => {
                TriggerKind::AfterProcessingTime { delay: *delay, align_to: *align_to }
            }
            Node::AfterSynchronizedProcessingTime => TriggerKind::AfterSynchronizedProcessingTime,
            Node::Repeatedly(of) => TriggerKind::Repeatedly(one(of)),
            Node::AfterEach(of) => TriggerKind::AfterEach(all(of)),
            Node::AfterAll(of) => TriggerKind::AfterAll(all(of)),
            Node::AfterAny(of) => TriggerKind::AfterAny(all(of)),
            Node::OrFinally(main, last) => TriggerKind::OrFinally(one(main), one(last)),
            Node::Never => TriggerKind::Never,
            Node::Always => TriggerKind::Always,
        }
    }
}
