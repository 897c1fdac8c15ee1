//! Watermarks that something else decides on.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use crate::Timestamp;

/// When a [`WatermarkControl`] is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlPoint {
    /// A bundle was committed.
    Commit,
    /// Everything that there is has been worked off: nothing runs, and nothing can run before something comes or time
    /// passes.
    Quiescent,
}

/// Decides on the watermark of a transform that assigns one, in place of its generator.
///
/// What runs in steps, such as a query with triggers, closes windows at the end of a step and not in its midst: it keeps
/// the watermark where it is until then. It is called with the run's state locked, so it should only look at a number.
/// A watermark never goes back; a lower value than before changes nothing.
///
/// ```
/// use purlin_sdk::{Timestamp, watermark::{ControlPoint, WatermarkControl}};
/// /// Moves only when everything that there is has been worked off.
/// struct InSteps;
/// impl WatermarkControl for InSteps {
///     fn in_force(&self, proposed: Timestamp, point: ControlPoint) -> Timestamp {
///         if point == ControlPoint::Quiescent { proposed } else { Timestamp::MIN }
///     }
/// }
/// ```
pub trait WatermarkControl: Send + Sync {
    /// The watermark in force, where the generator has come to `proposed`; that is [`Timestamp::MAX`] when the input is
    /// over.
    fn in_force(&self, proposed: Timestamp, point: ControlPoint) -> Timestamp;
}

/// One watermark for several collections of a pipeline: the least, or the greatest, of what their strategies say.
///
/// Where collections with watermarks of their own meet, in a flatten or a join, the least one counts anyway. The greatest
/// makes all of them go on with the fastest: what is slow is late.
///
/// Source: Spark's [`spark.sql.streaming.multipleWatermarkPolicy`](https://spark.apache.org/docs/latest/structured-streaming-programming-guide.html#policy-for-handling-multiple-watermarks).
///
/// ```
/// use purlin_sdk::{Duration, Pipeline, Timestamp, watermark::{MultipleWatermarks, WatermarkStrategy}};
/// # let p = Pipeline::new();
/// let watermarks = MultipleWatermarks::max();
/// let strategy = || {
///     WatermarkStrategy::for_bounded_out_of_orderness(Duration::from_secs(10))
///         .with_timestamp_assigner(|at: &i64| Timestamp::from_secs(*at))
///         .with_control(watermarks.member())
/// };
/// let clicks = p.create("Clicks", [3]).assign_watermark("ClickTime", strategy());
/// let views = p.create("Views", [5]).assign_watermark("ViewTime", strategy());
/// # p.build().unwrap();
/// ```
#[derive(Clone)]
pub struct MultipleWatermarks {
    greatest: bool,
    /// What each of them has come to.
    proposed: Arc<Mutex<Vec<Timestamp>>>,
}

impl MultipleWatermarks {
    /// All of them go on with the slowest: Spark's policy unless it is told otherwise.
    pub fn min() -> MultipleWatermarks {
        MultipleWatermarks { greatest: false, proposed: Arc::default() }
    }

    /// All of them go on with the fastest.
    pub fn max() -> MultipleWatermarks {
        MultipleWatermarks { greatest: true, proposed: Arc::default() }
    }

    /// The control of one more of them. A pipeline that is run twice at once needs new ones for each run.
    pub fn member(&self) -> Arc<dyn WatermarkControl> {
        let mut proposed = self.proposed.lock().unwrap_or_else(PoisonError::into_inner);
        proposed.push(Timestamp::MIN);
        Arc::new(Member { all: self.clone(), number: proposed.len() - 1 })
    }
}

impl fmt::Debug for MultipleWatermarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.greatest { "the greatest watermark" } else { "the least watermark" })
    }
}

struct Member {
    all: MultipleWatermarks,
    number: usize,
}

impl WatermarkControl for Member {
    fn in_force(&self, proposed: Timestamp, _: ControlPoint) -> Timestamp {
        let mut all = self.all.proposed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mine) = all.get_mut(self.number) {
            *mine = proposed.max(*mine);
        }
        if proposed == Timestamp::MAX {
            return proposed;
        }
        // What is over does not count for the others.
        let open = all.iter().filter(|at| **at < Timestamp::MAX).copied();
        let common = if self.all.greatest { open.max() } else { open.min() };
        common.unwrap_or(proposed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    #[test]
    fn the_least_and_the_greatest() {
        for (all, then) in [(MultipleWatermarks::min(), at(3)), (MultipleWatermarks::max(), at(9))] {
            let (a, b) = (all.member(), all.member());
            a.in_force(at(9), ControlPoint::Commit);
            b.in_force(at(3), ControlPoint::Commit);
            assert_eq!(a.in_force(at(9), ControlPoint::Commit), then, "{all:?}");
            // One that is over counts no more.
            a.in_force(Timestamp::MAX, ControlPoint::Commit);
            assert_eq!(b.in_force(at(4), ControlPoint::Commit), at(4), "{all:?}");
        }
    }
}
