//! Windowing strategies by number.

use std::collections::HashMap;

use purlin_sdk::window::{
    AccumulationMode, ClosingBehavior, OnTimeBehavior, TimestampCombiner, WindowingStrategy,
};

use super::{ENVIRONMENT, Refused, coders::Coders, triggers::trigger, windows};
use crate::proto::pipeline::{
    self as beam, accumulation_mode, closing_behavior, merge_status, on_time_behavior, output_time,
};

/// The windowing strategies of a pipeline, each once.
#[derive(Default)]
pub(super) struct Strategies {
    all: Vec<beam::WindowingStrategy>,
}

impl Strategies {
    /// The id of a strategy.
    pub(super) fn id(&mut self, of: &WindowingStrategy, coders: &mut Coders) -> Result<String, Refused> {
        let said = strategy(of, coders)?;
        let place = self.all.iter().position(|other| *other == said).unwrap_or_else(|| {
            self.all.push(said);
            self.all.len() - 1
        });
        Ok(format!("windowing-{place}"))
    }

    pub(super) fn all(self) -> HashMap<String, beam::WindowingStrategy> {
        self.all.into_iter().enumerate().map(|(i, of)| (format!("windowing-{i}"), of)).collect()
    }
}

fn strategy(of: &WindowingStrategy, coders: &mut Coders) -> Result<beam::WindowingStrategy, Refused> {
    let is_standard = of.window_fn.standard().is_some();
    if of.needs_merging() && !is_standard {
        return Err(format!(
            "its windows merge by a function of your own, {}, and engines merge sessions only: use \
             `Sessions::with_gap`, or run it with --runner=threaded",
            of.window_fn.spec()
        ));
    }
    // Merged windows stay as they are, which Beam calls `ALREADY_MERGED`. Prism takes that and merges again, so that the
    // engine is told that they do not merge.
    let merges = match of.window_fn.is_merging() && !of.merged {
        true => merge_status::Enum::NeedsMerge,
        false => merge_status::Enum::NonMerging,
    };
    let output_time = match of.timestamp_combiner {
        TimestampCombiner::EndOfWindow => output_time::Enum::EndOfWindow,
        TimestampCombiner::Earliest => output_time::Enum::EarliestInPane,
        TimestampCombiner::Latest => output_time::Enum::LatestInPane,
        TimestampCombiner::EarliestTransformed => {
            return Err("its results have the earliest timestamp as the window function changes it \
                        (`TimestampCombiner::EarliestTransformed`), which the portability protocol has no word for: use \
                        `Earliest`, or run it with --runner=threaded"
                .to_owned());
        }
    };
    let accumulation_mode = match of.accumulation {
        AccumulationMode::Discarding => accumulation_mode::Enum::Discarding,
        AccumulationMode::Accumulating => accumulation_mode::Enum::Accumulating,
        other => {
            return Err(format!("its panes are {other:?}, which the portability protocol has no word for"));
        }
    };
    let closing = match of.closing {
        ClosingBehavior::FireIfNonEmpty => closing_behavior::Enum::EmitIfNonempty,
        ClosingBehavior::FireAlways => closing_behavior::Enum::EmitAlways,
    };
    let on_time = match of.on_time {
        OnTimeBehavior::FireAlways => on_time_behavior::Enum::FireAlways,
        OnTimeBehavior::FireIfNonEmpty => on_time_behavior::Enum::FireIfNonempty,
    };
    let (window_fn, window_coder) = windows::window_fn(&*of.window_fn, of.merged);
    Ok(beam::WindowingStrategy {
        window_fn: Some(window_fn),
        merge_status: merges.into(),
        window_coder_id: coders.id(&window_coder),
        trigger: Some(trigger(&of.trigger)?),
        accumulation_mode: accumulation_mode.into(),
        output_time: output_time.into(),
        closing_behavior: closing.into(),
        allowed_lateness: of.allowed_lateness.as_millis(),
        on_time_behavior: on_time.into(),
        assigns_to_one_window: windows::assigns_to_one(&*of.window_fn),
        environment_id: ENVIRONMENT.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use purlin_sdk::{
        Duration, Result,
        window::{AssignContext, Sessions, Trigger, Window, WindowFn},
    };

    use super::*;
    use crate::urns;

    fn sessions() -> WindowingStrategy {
        WindowingStrategy {
            window_fn: Arc::new(Sessions::with_gap(Duration::from_secs(1))),
            ..WindowingStrategy::global()
        }
    }

    #[test]
    fn nothing_is_left_unsaid() {
        let of = WindowingStrategy {
            timestamp_combiner: TimestampCombiner::Latest,
            allowed_lateness: Duration::from_secs(5),
            trigger: Trigger::always(),
            accumulation: AccumulationMode::Accumulating,
            closing: ClosingBehavior::FireAlways,
            on_time: OnTimeBehavior::FireIfNonEmpty,
            ..sessions()
        };
        let mut coders = Coders::default();
        let said = strategy(&of, &mut coders).unwrap();
        assert_eq!(said.merge_status(), merge_status::Enum::NeedsMerge);
        assert_eq!(said.output_time(), output_time::Enum::LatestInPane);
        assert_eq!(said.accumulation_mode(), accumulation_mode::Enum::Accumulating);
        assert_eq!(said.closing_behavior(), closing_behavior::Enum::EmitAlways);
        assert_eq!(said.on_time_behavior(), on_time_behavior::Enum::FireIfNonempty);
        assert_eq!((said.allowed_lateness, said.assigns_to_one_window), (5_000, true));
        let merged = strategy(&of.after_grouping(), &mut coders).unwrap();
        assert_eq!(merged.merge_status(), merge_status::Enum::NonMerging);
        assert_eq!(merged.window_fn.unwrap().urn, urns::window_fn::FIXED);
        assert_eq!(merged.window_coder_id, said.window_coder_id);
    }

    #[test]
    fn each_strategy_is_there_once() {
        let (mut coders, mut strategies) = (Coders::default(), Strategies::default());
        let first = strategies.id(&sessions(), &mut coders).unwrap();
        let global = strategies.id(&WindowingStrategy::global(), &mut coders).unwrap();
        assert_eq!(strategies.id(&sessions(), &mut coders).unwrap(), first);
        assert_ne!(first, global);
        assert_eq!(strategies.all().len(), 2);
    }

    #[derive(Debug)]
    struct Own;

    impl WindowFn for Own {
        fn assign(&self, _: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
            out.push(Window::Global);
            Ok(())
        }
        fn is_merging(&self) -> bool {
            true
        }
    }

    #[test]
    fn what_an_engine_has_no_word_for_is_told_with_the_way_out() {
        let own = WindowingStrategy { window_fn: Arc::new(Own), ..sessions() };
        let told = strategy(&own, &mut Coders::default()).unwrap_err();
        assert!(told.contains("Sessions::with_gap"), "{told}");
        let said = strategy(&own.after_grouping(), &mut Coders::default()).unwrap();
        assert_eq!(said.merge_status(), merge_status::Enum::NonMerging);
        let combiner = TimestampCombiner::EarliestTransformed;
        let told = strategy(
            &WindowingStrategy { timestamp_combiner: combiner, ..sessions() },
            &mut Coders::default(),
        );
        assert!(told.unwrap_err().contains("`Earliest`"));
    }
}
