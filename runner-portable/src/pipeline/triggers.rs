//! Triggers in Beam's words.

use purlin_sdk::window::{Trigger, TriggerKind};

use super::Refused;
use crate::proto::pipeline::{
    self as beam, TimestampTransform,
    timestamp_transform::{AlignTo, Delay, TimestampTransform as Transform},
    trigger::{
        AfterAll, AfterAny, AfterEach, AfterEndOfWindow, AfterProcessingTime,
        AfterSynchronizedProcessingTime, Always, Default as DefaultTrigger, ElementCount, Never, OrFinally,
        Repeat, Trigger as Of,
    },
};

/// A trigger. Triggers are as deep as they may have parts, which is 64.
pub(super) fn trigger(of: &Trigger) -> Result<beam::Trigger, Refused> {
    let one = |of: &Trigger| trigger(of).map(Box::new);
    let maybe = |of: &Option<Trigger>| of.as_ref().map(one).transpose();
    let all = |of: &[Trigger]| of.iter().map(trigger).collect::<Result<Vec<_>, _>>();
    let said = match of.kind() {
        TriggerKind::Default => Of::Default(DefaultTrigger {}),
        TriggerKind::AfterWatermark { early, late } => Of::AfterEndOfWindow(Box::new(AfterEndOfWindow {
            early_firings: maybe(&early)?,
            late_firings: maybe(&late)?,
        })),
        TriggerKind::AfterCount(n) => Of::ElementCount(ElementCount {
            element_count: i32::try_from(n).map_err(|_| {
                format!("its trigger counts to {n}, and engines count to {}: use a smaller number", i32::MAX)
            })?,
        }),
        TriggerKind::AfterProcessingTime { delay, align_to } => {
            let delay = Transform::Delay(Delay { delay_millis: delay.as_millis() });
            let align =
                align_to.map(|period| Transform::AlignTo(AlignTo { period: period.as_millis(), offset: 0 }));
            let timestamp_transforms = std::iter::once(delay)
                .chain(align)
                .map(|transform| TimestampTransform { timestamp_transform: Some(transform) })
                .collect();
            Of::AfterProcessingTime(AfterProcessingTime { timestamp_transforms })
        }
        TriggerKind::AfterSynchronizedProcessingTime => {
            Of::AfterSynchronizedProcessingTime(AfterSynchronizedProcessingTime {})
        }
        TriggerKind::Repeatedly(of) => Of::Repeat(Box::new(Repeat { subtrigger: Some(one(&of)?) })),
        TriggerKind::AfterEach(of) => Of::AfterEach(AfterEach { subtriggers: all(&of)? }),
        TriggerKind::AfterAll(of) => Of::AfterAll(AfterAll { subtriggers: all(&of)? }),
        TriggerKind::AfterAny(of) => Of::AfterAny(AfterAny { subtriggers: all(&of)? }),
        TriggerKind::OrFinally(main, last) => {
            Of::OrFinally(Box::new(OrFinally { main: Some(one(&main)?), finally: Some(one(&last)?) }))
        }
        TriggerKind::Never => Of::Never(Never {}),
        TriggerKind::Always => Of::Always(Always {}),
    };
    Ok(beam::Trigger { trigger: Some(said) })
}

/// Whether it makes a difference how many elements there are, so that they must not be combined before it has seen them.
pub(super) fn counts_elements(of: &Trigger) -> bool {
    match of.kind() {
        TriggerKind::AfterCount(n) => n > 1,
        TriggerKind::AfterWatermark { early, late } => early.iter().chain(&late).any(counts_elements),
        TriggerKind::Repeatedly(of) => counts_elements(&of),
        TriggerKind::AfterEach(of) | TriggerKind::AfterAll(of) | TriggerKind::AfterAny(of) => {
            of.iter().any(counts_elements)
        }
        TriggerKind::OrFinally(main, last) => counts_elements(&main) || counts_elements(&last),
        TriggerKind::Default
        | TriggerKind::AfterProcessingTime { .. }
        | TriggerKind::AfterSynchronizedProcessingTime
        | TriggerKind::Never
        | TriggerKind::Always => false,
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::Duration;

    use super::*;

    #[test]
    fn early_and_late_panes() {
        let delay =
            Trigger::after_processing_time().delay(Duration::from_secs(2)).align_to(Duration::from_secs(60));
        let of = Trigger::after_watermark().early(delay).late(Trigger::after_count(3));
        let Some(Of::AfterEndOfWindow(end)) = trigger(&of).unwrap().trigger else {
            panic!("another trigger")
        };
        let Some(Of::AfterProcessingTime(early)) = end.early_firings.unwrap().trigger else {
            panic!("another")
        };
        let transforms: Vec<_> =
            early.timestamp_transforms.iter().map(|t| t.timestamp_transform.unwrap()).collect();
        assert_eq!(
            transforms,
            [
                Transform::Delay(Delay { delay_millis: 2_000 }),
                Transform::AlignTo(AlignTo { period: 60_000, offset: 0 })
            ]
        );
        assert_eq!(
            end.late_firings.unwrap().trigger,
            Some(Of::ElementCount(ElementCount { element_count: 3 }))
        );
    }

    #[test]
    fn every_kind_has_a_word() {
        let count = || Trigger::after_count(1);
        for of in [
            Trigger::default(),
            Trigger::never(),
            Trigger::always(),
            Trigger::after_synchronized_processing_time(),
            Trigger::repeatedly(count()),
            Trigger::after_each([count(), Trigger::never()]),
            Trigger::after_all([count(), Trigger::always()]),
            Trigger::after_any([count()]),
            count().or_finally(Trigger::after_watermark()),
        ] {
            assert!(trigger(&of).unwrap().trigger.is_some(), "{of}");
        }
        assert!(trigger(&Trigger::after_count(1 << 40)).unwrap_err().contains("smaller"));
    }
}
