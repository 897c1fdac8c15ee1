//! What is left of restrictions, as the engine has it.

use std::collections::HashMap;

use purlin_sdk::{
    Duration, Phase, PipelineError, Timestamp,
    batch::ErasedBatch,
    exec::{Residual, SplitOutcome},
};

use super::plan::ProcessPlan;
use crate::proto::{
    fn_execution::{BundleApplication, DelayedBundleApplication},
    pipeline::is_bounded,
};

/// A time as protocol buffers have it: nanoseconds count forwards, also before the epoch.
pub(super) fn to_proto(at: Timestamp) -> prost_types::Timestamp {
    let millis = at.as_millis();
    prost_types::Timestamp {
        seconds: millis.div_euclid(1000),
        nanos: millis.rem_euclid(1000) as i32 * 1_000_000,
    }
}

fn delay_to_proto(delay: Duration) -> prost_types::Duration {
    let millis = delay.as_millis().max(0);
    prost_types::Duration { seconds: millis / 1000, nanos: (millis % 1000) as i32 * 1_000_000 }
}

impl ProcessPlan {
    /// The rest of a restriction that the bundle gives back.
    ///
    /// # Errors
    /// When it does not encode.
    pub(super) fn residual(
        &self,
        mut residual: Residual,
    ) -> Result<Vec<DelayedBundleApplication>, PipelineError> {
        let Residual { batch, hold, delay, .. } = &mut residual;
        let delay = (*delay > Duration::ZERO).then(|| delay_to_proto(*delay));
        let roots = self.applications(&mut **batch, Some(*hold))?;
        let delayed =
            |root| DelayedBundleApplication { application: Some(root), requested_time_delay: delay };
        Ok(roots.into_iter().map(delayed).collect())
    }

    /// The two parts of a restriction that was split while it was worked on.
    ///
    /// # Errors
    /// When they do not encode.
    pub(super) fn split(
        &self,
        mut outcome: SplitOutcome,
    ) -> Result<(Vec<BundleApplication>, Vec<DelayedBundleApplication>), PipelineError> {
        let primary = self.applications(&mut *outcome.primary, None)?;
        let residual = self.applications(&mut *outcome.residual, Some(outcome.hold))?;
        let delayed = |root| DelayedBundleApplication { application: Some(root), requested_time_delay: None };
        Ok((primary, residual.into_iter().map(delayed).collect()))
    }

    /// An application for each element of `batch`; `hold` is the watermark of all outputs until it is done.
    fn applications(
        &self,
        batch: &mut dyn ErasedBatch,
        hold: Option<Timestamp>,
    ) -> Result<Vec<BundleApplication>, PipelineError> {
        let mut elements = Vec::new();
        let written = self.codec.write(batch, &mut Vec::new(), &mut |bytes| {
            elements.push(std::mem::take(bytes));
            Ok(())
        });
        written.map_err(|e| PipelineError::user(self.step.clone(), Phase::Coder, e))?;
        let watermarks: HashMap<String, prost_types::Timestamp> = match hold {
            Some(hold) => self.outputs.iter().map(|name| (name.clone(), to_proto(hold))).collect(),
            None => HashMap::new(),
        };
        let bounded = if self.bounded { is_bounded::Enum::Bounded } else { is_bounded::Enum::Unbounded };
        let application = |element| BundleApplication {
            transform_id: self.transform.clone(),
            input_id: self.input.clone(),
            element,
            output_watermarks: watermarks.clone(),
            is_bounded: bounded.into(),
        };
        Ok(elements.into_iter().map(application).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_count_forwards_before_the_epoch_too() {
        let at = |ms| to_proto(Timestamp::saturating_from_millis(ms));
        assert_eq!((at(1500).seconds, at(1500).nanos), (1, 500_000_000));
        assert_eq!((at(-1).seconds, at(-1).nanos), (-1, 999_000_000));
        let least = to_proto(Timestamp::MIN);
        assert_eq!((least.seconds, least.nanos), (-9_223_372_036_855, 225_000_000));
        let delay = delay_to_proto(Duration::from_millis(2250));
        assert_eq!((delay.seconds, delay.nanos), (2, 250_000_000));
    }
}
