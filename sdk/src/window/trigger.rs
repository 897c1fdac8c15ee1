//! When a window's pane comes out.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Duration;

/// When a grouping emits what it has of a window: a *pane*.
///
/// A trigger says "at the earliest when this is true". It is looked at once per bundle and key, and when the watermark
/// or processing time reaches what it waits for. One that is not repeated ends with its firing, and then the window is
/// closed for that key: see [`may_finish`](Trigger::may_finish). The default fires when the watermark passes the window's
/// end, and then for each bundle of late data.
///
/// ```
/// use purlin_sdk::{Duration, window::Trigger};
///
/// // Every minute a first guess, a result when the window is complete, and one more for each piece of late data.
/// let trigger = Trigger::after_watermark()
///     .early(Trigger::after_processing_time().delay(Duration::from_minutes(1)))
///     .late(Trigger::after_count(1));
/// assert!(!trigger.may_finish());
/// ```
/// Source: Beam's triggers, <https://beam.apache.org/documentation/programming-guide/#triggers>.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Trigger(pub(crate) Node);

/// The kinds of trigger.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub(crate) enum Node {
    #[default]
    Default,
    AfterWatermark {
        early: Option<Box<Node>>,
        late: Option<Box<Node>>,
    },
    AfterCount(u64),
    AfterProcessingTime {
        delay: Duration,
        align_to: Option<Duration>,
    },
    AfterSynchronizedProcessingTime,
    Repeatedly(Box<Node>),
    AfterEach(Vec<Node>),
    AfterAll(Vec<Node>),
    AfterAny(Vec<Node>),
    OrFinally(Box<Node>, Box<Node>),
    Never,
    Always,
}

impl Trigger {
    /// Once, when the watermark passes the window's end; see [`early`](Trigger::early) and [`late`](Trigger::late) for
    /// more panes before and after.
    pub fn after_watermark() -> Trigger {
        Trigger(Node::AfterWatermark { early: None, late: None })
    }

    /// Of [`after_watermark`](Trigger::after_watermark): panes before the window's end, each time `trigger` fires. On any
    /// other trigger it has no meaning and is refused when the pipeline is built.
    #[must_use]
    pub fn early(self, trigger: Trigger) -> Trigger {
        match self.0 {
            Node::AfterWatermark { late, .. } => {
                made(Node::AfterWatermark { early: Some(Box::new(trigger.0)), late })
            }
            other => misplaced(other, trigger.0),
        }
    }

    /// Of [`after_watermark`](Trigger::after_watermark): panes after the window's end, each time `trigger` fires. On any
    /// other trigger it has no meaning and is refused when the pipeline is built.
    #[must_use]
    pub fn late(self, trigger: Trigger) -> Trigger {
        match self.0 {
            Node::AfterWatermark { early, .. } => {
                made(Node::AfterWatermark { early, late: Some(Box::new(trigger.0)) })
            }
            other => misplaced(other, trigger.0),
        }
    }

    /// Once, when the pane has `n` elements or more. What it has counted it keeps until it fires itself: as a part of
    /// [`after_any`](Trigger::after_any) or [`or_finally`](Trigger::or_finally), of which another part fires first, it goes on
    /// counting over the panes.
    pub fn after_count(n: u64) -> Trigger {
        Trigger(Node::AfterCount(n))
    }

    /// Once, in processing time: as soon as possible after the pane's first element, or with
    /// [`delay`](Trigger::delay) and [`align_to`](Trigger::align_to) later.
    pub fn after_processing_time() -> Trigger {
        Trigger(Node::AfterProcessingTime { delay: Duration::ZERO, align_to: None })
    }

    /// Of [`after_processing_time`](Trigger::after_processing_time): this long after the pane's first element. On any
    /// other trigger it has no meaning and is refused when the pipeline is built.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Trigger {
        match self.0 {
            Node::AfterProcessingTime { delay: d, align_to } => {
                Trigger(Node::AfterProcessingTime { delay: d + delay, align_to })
            }
            other => misplaced(other, Node::AfterProcessingTime { delay, align_to: None }),
        }
    }

    /// Of [`after_processing_time`](Trigger::after_processing_time): at the next multiple of `period` since the epoch,
    /// the delay added before. On any other trigger it has no meaning and is refused when the pipeline is built.
    #[must_use]
    pub fn align_to(self, period: Duration) -> Trigger {
        match self.0 {
            Node::AfterProcessingTime { delay, .. } => {
                Trigger(Node::AfterProcessingTime { delay, align_to: Some(period) })
            }
            other => {
                misplaced(other, Node::AfterProcessingTime { delay: Duration::ZERO, align_to: Some(period) })
            }
        }
    }

    /// Once, when all groupings upstream have fired what was due in processing time when the pane's first element came:
    /// what [`after_processing_time`](Trigger::after_processing_time) becomes behind a grouping.
    pub fn after_synchronized_processing_time() -> Trigger {
        Trigger(Node::AfterSynchronizedProcessingTime)
    }

    /// Each time `trigger` fires, for ever.
    pub fn repeatedly(trigger: Trigger) -> Trigger {
        made(Node::Repeatedly(Box::new(trigger.0)))
    }

    /// Each of them in turn.
    pub fn after_each(triggers: impl IntoIterator<Item = Trigger>) -> Trigger {
        made(Node::AfterEach(triggers.into_iter().map(|t| t.0).collect()))
    }

    /// When all of them would have fired.
    pub fn after_all(triggers: impl IntoIterator<Item = Trigger>) -> Trigger {
        made(Node::AfterAll(triggers.into_iter().map(|t| t.0).collect()))
    }

    /// When the first of them fires.
    pub fn after_any(triggers: impl IntoIterator<Item = Trigger>) -> Trigger {
        made(Node::AfterAny(triggers.into_iter().map(|t| t.0).collect()))
    }

    /// This one, until `last` fires: then that firing is the last, if `last` ends with it. One that goes on, such as a
    /// repeated one, fires beside this one without an end.
    #[must_use]
    pub fn or_finally(self, last: Trigger) -> Trigger {
        made(Node::OrFinally(Box::new(self.0), Box::new(last.0)))
    }

    /// Not before the window expires; what is there then comes out in its last pane.
    pub fn never() -> Trigger {
        Trigger(Node::Never)
    }

    /// For every bundle of data.
    pub fn always() -> Trigger {
        Trigger(Node::Always)
    }

    /// Whether it may end, which closes the window: data that come afterwards are dropped.
    pub fn may_finish(&self) -> bool {
        self.0.may_finish()
    }

    /// Whether it may fire before the window's end.
    pub fn may_fire_early(&self) -> bool {
        self.0.may_fire_early()
    }

    /// Whether it goes on firing in a window without an end, whatever it has fired already.
    pub(crate) fn goes_on_without_an_end(&self) -> bool {
        self.0.goes_on_without_an_end()
    }

    /// What a grouping behind one with this trigger uses: about one pane for each pane that comes.
    #[must_use]
    pub fn continuation(&self) -> Trigger {
        Trigger(self.0.continuation())
    }

    /// Whether it fires once, at the window's end, and has nothing to say of what comes before or after.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.0, Node::Default | Node::AfterWatermark { early: None, late: None })
    }

    /// What is wrong with it, in words for a build error.
    pub(crate) fn validate(&self) -> Result<(), String> {
        if self.0.parts() > MOST_PARTS {
            return Err(format!("the trigger has more than {MOST_PARTS} parts, which is the most"));
        }
        self.0.validate()
    }
}

/// How many parts a trigger may have: each has a bit that says whether it is done.
const MOST_PARTS: usize = 64;

/// An option on a trigger that has no such option: a node that `validate` refuses.
fn misplaced(on: Node, option: Node) -> Trigger {
    made(Node::AfterEach(vec![on, Node::AfterEach(Vec::new()), option]))
}

/// A trigger made of others. Instead of one with too many parts there is one that has as many too many and is not deep:
/// copying, printing and dropping a trigger take stack for each level.
fn made(node: Node) -> Trigger {
    if node.parts() > MOST_PARTS {
        return Trigger(Node::AfterAll(vec![Node::Default; MOST_PARTS]));
    }
    Trigger(node)
}

impl Node {
    /// How many parts it has, itself included.
    fn parts(&self) -> usize {
        let own = match self {
            // One more for whether the window's end has come.
            Node::AfterWatermark { .. } => 2,
            _ => 1,
        };
        own + self.children().into_iter().map(Node::parts).sum::<usize>()
    }

    pub(crate) fn children(&self) -> Vec<&Node> {
        match self {
            Node::AfterWatermark { early, late } => early.iter().chain(late).map(|child| &**child).collect(),
            Node::Repeatedly(child) => vec![child],
            Node::AfterEach(children) | Node::AfterAll(children) | Node::AfterAny(children) => {
                children.iter().collect()
            }
            Node::OrFinally(main, last) => vec![main, last],
            _ => Vec::new(),
        }
    }

    fn may_finish(&self) -> bool {
        match self {
            Node::Default | Node::Repeatedly(_) | Node::Never | Node::Always => false,
            Node::AfterWatermark { late, .. } => late.is_none(),
            Node::AfterCount(_)
            | Node::AfterProcessingTime { .. }
            | Node::AfterSynchronizedProcessingTime
            | Node::OrFinally(..) => true,
            Node::AfterEach(children) | Node::AfterAll(children) => children.iter().all(Node::may_finish),
            Node::AfterAny(children) => children.iter().any(Node::may_finish),
        }
    }

    fn may_fire_early(&self) -> bool {
        match self {
            Node::Default | Node::Never => false,
            Node::AfterWatermark { early, .. } => early.as_ref().is_some_and(|e| e.may_fire_early()),
            Node::AfterCount(_)
            | Node::AfterProcessingTime { .. }
            | Node::AfterSynchronizedProcessingTime
            | Node::Always => true,
            Node::Repeatedly(child) => child.may_fire_early(),
            Node::AfterEach(children) => children.first().is_some_and(Node::may_fire_early),
            Node::AfterAll(children) => children.iter().all(Node::may_fire_early),
            Node::AfterAny(children) => children.iter().any(Node::may_fire_early),
            Node::OrFinally(main, last) => main.may_fire_early() || last.may_fire_early(),
        }
    }

    fn goes_on_without_an_end(&self) -> bool {
        match self {
            // It waits at each in turn.
            Node::AfterEach(children) => children.iter().all(Node::goes_on_without_an_end),
            Node::AfterAll(children) => children.iter().all(Node::goes_on_without_an_end),
            Node::AfterAny(children) => children.iter().any(Node::goes_on_without_an_end),
            Node::Repeatedly(child) => child.goes_on_without_an_end(),
            Node::AfterWatermark { early, .. } => early.as_ref().is_some_and(|e| e.goes_on_without_an_end()),
            Node::OrFinally(main, last) => main.goes_on_without_an_end() || last.goes_on_without_an_end(),
            other => other.may_fire_early(),
        }
    }

    /// Whether the window's end means something to it.
    pub(crate) fn watches_watermark(&self) -> bool {
        matches!(self, Node::Default | Node::AfterWatermark { .. })
            || self.children().into_iter().any(Node::watches_watermark)
    }

    /// Whether it has a part that waits for the groupings upstream.
    pub(crate) fn is_synchronized(&self) -> bool {
        matches!(self, Node::AfterSynchronizedProcessingTime)
            || self.children().into_iter().any(Node::is_synchronized)
    }

    fn continuation(&self) -> Node {
        let each = |children: &[Node]| children.iter().map(Node::continuation).collect();
        match self {
            Node::AfterCount(_) => Node::AfterCount(1),
            Node::AfterProcessingTime { .. } => Node::AfterSynchronizedProcessingTime,
            Node::AfterWatermark { early, late } => Node::AfterWatermark {
                early: early.as_ref().map(|t| Box::new(t.continuation())),
                late: late.as_ref().map(|t| Box::new(t.continuation())),
            },
            Node::Repeatedly(child) => Node::Repeatedly(Box::new(child.continuation())),
            // One pane may come for each of them, in any order downstream.
            Node::AfterEach(children) => Node::Repeatedly(Box::new(Node::AfterAny(each(children)))),
            Node::AfterAll(children) => Node::AfterAll(each(children)),
            Node::AfterAny(children) => Node::AfterAny(each(children)),
            Node::OrFinally(main, last) => {
                Node::OrFinally(Box::new(main.continuation()), Box::new(last.continuation()))
            }
            Node::Default | Node::AfterSynchronizedProcessingTime | Node::Never | Node::Always => {
                self.clone()
            }
        }
    }

    fn validate(&self) -> Result<(), String> {
        match self {
            Node::AfterCount(0) => {
                return Err("after_count(0) would fire for nothing; the least is after_count(1)".into());
            }
            Node::AfterProcessingTime { delay, .. } if *delay < Duration::ZERO => {
                return Err(format!("its delay of {delay} is negative"));
            }
            Node::AfterProcessingTime { align_to: Some(period), .. } if *period <= Duration::ZERO => {
                return Err(format!("it aligns to {period}, which is not a period"));
            }
            Node::AfterEach(children) if children.iter().any(|c| *c == Node::AfterEach(Vec::new())) => {
                return Err(
                    "`early` and `late` are options of `Trigger::after_watermark()`, `delay` and `align_to` of \
                     `Trigger::after_processing_time()`; one of them was called on another trigger"
                        .into(),
                );
            }
            Node::AfterEach(children) | Node::AfterAll(children) | Node::AfterAny(children)
                if children.is_empty() =>
            {
                return Err("after_each, after_all and after_any need at least one trigger".into());
            }
            _ => {}
        }
        self.children().into_iter().try_for_each(Node::validate)
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, name: &str, children: &[Node]| {
            write!(f, "{name}(")?;
            for (i, child) in children.iter().enumerate() {
                write!(f, "{}{child}", if i > 0 { ", " } else { "" })?;
            }
            f.write_str(")")
        };
        match self {
            Node::Default => f.write_str("default"),
            Node::AfterWatermark { early, late } => {
                f.write_str("after_watermark")?;
                early.iter().try_for_each(|t| write!(f, ".early({t})"))?;
                late.iter().try_for_each(|t| write!(f, ".late({t})"))
            }
            Node::AfterCount(n) => write!(f, "after_count({n})"),
            Node::AfterProcessingTime { delay, align_to } => {
                write!(f, "after_processing_time({delay}")?;
                align_to.iter().try_for_each(|p| write!(f, " aligned to {p}"))?;
                f.write_str(")")
            }
            Node::AfterSynchronizedProcessingTime => f.write_str("after_synchronized_processing_time"),
            Node::Repeatedly(child) => write!(f, "repeatedly({child})"),
            Node::AfterEach(children) => list(f, "after_each", children),
            Node::AfterAll(children) => list(f, "after_all", children),
            Node::AfterAny(children) => list(f, "after_any", children),
            Node::OrFinally(main, last) => write!(f, "{main}.or_finally({last})"),
            Node::Never => f.write_str("never"),
            Node::Always => f.write_str("always"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watermark() -> Trigger {
        Trigger::after_watermark()
    }

    #[test]
    fn what_may_finish() {
        let count = || Trigger::after_count(1);
        for (trigger, finishes) in [
            (Trigger::default(), false),
            (watermark(), true),
            (watermark().early(count()), true),
            (watermark().late(count()), false),
            (count(), true),
            (Trigger::repeatedly(count()), false),
            (Trigger::after_each([count(), Trigger::repeatedly(count())]), false),
            (Trigger::after_any([count(), Trigger::never()]), true),
            (Trigger::after_all([count(), Trigger::never()]), false),
            (Trigger::always().or_finally(count()), true),
            (Trigger::never(), false),
        ] {
            assert_eq!(trigger.may_finish(), finishes, "{trigger}");
        }
    }

    #[test]
    fn what_waits_for_an_end_that_never_comes() {
        let count = || Trigger::after_count(1);
        for (trigger, goes_on) in [
            (Trigger::repeatedly(Trigger::after_each([count(), Trigger::never()])), false),
            (Trigger::after_each([count(), watermark()]), false),
            (Trigger::after_each([count(), Trigger::repeatedly(count())]), true),
            (Trigger::repeatedly(Trigger::after_any([Trigger::never(), count()])), true),
            (watermark().early(Trigger::after_each([count(), Trigger::never()])), false),
            (watermark().early(count()), true),
            (Trigger::default(), false),
        ] {
            assert_eq!(trigger.goes_on_without_an_end(), goes_on, "{trigger}");
        }
    }

    #[test]
    fn continuations() {
        let d = Trigger::after_processing_time().delay(Duration::from_secs(3));
        let t = watermark().early(d).late(Trigger::after_count(5));
        assert_eq!(
            t.continuation().to_string(),
            "after_watermark.early(after_synchronized_processing_time).late(after_count(1))"
        );
        assert_eq!(t.continuation().continuation(), t.continuation());
    }

    #[test]
    fn options_where_they_have_no_meaning_are_found() {
        for trigger in [
            Trigger::never().early(Trigger::always()),
            Trigger::after_count(1).late(Trigger::always()),
            Trigger::always().delay(Duration::ZERO),
            Trigger::default().align_to(Duration::from_secs(1)),
        ] {
            assert!(trigger.validate().unwrap_err().contains("options of"), "{trigger}");
        }
        assert!(Trigger::after_count(0).validate().is_err());
        assert!(Trigger::after_all([]).validate().is_err());
        assert!(Trigger::after_processing_time().align_to(Duration::ZERO).validate().is_err());
        assert!(Trigger::repeatedly(watermark().early(Trigger::after_count(1))).validate().is_ok());
        assert!(Trigger::after_all(vec![Trigger::always(); 63]).validate().is_ok());
        for parts in [64, 1000] {
            let error = Trigger::after_all(vec![Trigger::always(); parts]).validate().unwrap_err();
            assert!(error.contains("64 parts"), "{error}");
        }
        // As deep as it is it needs no stack.
        let nests: [fn(Trigger) -> Trigger; 5] = [
            Trigger::repeatedly,
            |t| Trigger::always().or_finally(t),
            |t| Trigger::after_any([t]),
            |t| watermark().early(t),
            |t| t.early(Trigger::never()),
        ];
        for nest in nests {
            let deep = (0..100_000).fold(Trigger::always(), |t, _| nest(t));
            assert!(deep.clone().validate().is_err());
        }
    }
}
