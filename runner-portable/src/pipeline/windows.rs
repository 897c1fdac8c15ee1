//! Window functions in Beam's words.

use prost::Message;
use purlin_sdk::{
    Duration,
    coder::CoderSpec,
    window::{StandardWindows, WindowFn},
};

use crate::{
    proto::pipeline::{FixedWindowsPayload, FunctionSpec, SessionWindowsPayload, SlidingWindowsPayload},
    urns,
};

/// A window function, and the coder of its windows. A user's own is known by name alone: the windows are put on
/// elements by a ParDo of ours, and an engine only sees them.
///
/// Sessions that were `merged` before are intervals that stay as they are: fixed windows, since no more is known of those
/// to an engine than what is on the elements.
pub(super) fn window_fn(of: &dyn WindowFn, merged: bool) -> (FunctionSpec, CoderSpec) {
    let (urn, payload, coder) = match of.standard() {
        Some(StandardWindows::Global) => (urns::window_fn::GLOBAL, Vec::new(), CoderSpec::GlobalWindow),
        Some(StandardWindows::Fixed { size, offset }) => {
            let payload = FixedWindowsPayload { size: Some(duration(size)), offset: Some(timestamp(offset)) };
            (urns::window_fn::FIXED, payload.encode_to_vec(), CoderSpec::IntervalWindow)
        }
        Some(StandardWindows::Sliding { size, period, offset }) => {
            let payload = SlidingWindowsPayload {
                size: Some(duration(size)),
                offset: Some(timestamp(offset)),
                period: Some(duration(period)),
            };
            (urns::window_fn::SLIDING, payload.encode_to_vec(), CoderSpec::IntervalWindow)
        }
        Some(StandardWindows::Sessions { gap }) if merged => {
            let payload = FixedWindowsPayload { size: Some(duration(gap)), offset: None };
            (urns::window_fn::FIXED, payload.encode_to_vec(), CoderSpec::IntervalWindow)
        }
        Some(StandardWindows::Sessions { gap }) => {
            let payload = SessionWindowsPayload { gap_size: Some(duration(gap)) };
            (urns::window_fn::SESSIONS, payload.encode_to_vec(), CoderSpec::IntervalWindow)
        }
        None => {
            let spec = of.spec();
            let payload = format!("{} {}", spec.urn, spec.parameters).into_bytes();
            (urns::window_fn::OWN, payload, CoderSpec::IntervalWindow)
        }
    };
    (FunctionSpec { urn: urn.to_owned(), payload }, coder)
}

/// Whether each element is in one window.
pub(super) fn assigns_to_one(of: &dyn WindowFn) -> bool {
    matches!(
        of.standard(),
        Some(StandardWindows::Global | StandardWindows::Fixed { .. } | StandardWindows::Sessions { .. })
    )
}

/// Seconds, and nanoseconds that are not negative.
fn parts(of: Duration) -> (i64, i32) {
    let millis = of.as_millis();
    // At most 999 of them.
    let nanos = i32::try_from(millis.rem_euclid(1_000)).unwrap_or(0) * 1_000_000;
    (millis.div_euclid(1_000), nanos)
}

fn duration(of: Duration) -> prost_types::Duration {
    let (seconds, nanos) = parts(of);
    prost_types::Duration { seconds, nanos }
}

/// An offset: as a time since the epoch.
fn timestamp(of: Duration) -> prost_types::Timestamp {
    let (seconds, nanos) = parts(of);
    prost_types::Timestamp { seconds, nanos }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::window::{FixedWindows, GlobalWindows, Sessions, SlidingWindows};

    use super::*;

    #[test]
    fn beams_own_functions() {
        let (global, coder) = window_fn(&GlobalWindows, false);
        assert_eq!((global.urn.as_str(), coder), (urns::window_fn::GLOBAL, CoderSpec::GlobalWindow));
        let millis = Duration::from_millis;
        let fixed = FixedWindows::of(millis(2_500)).offset(millis(-500));
        let (fixed, coder) = window_fn(&fixed, false);
        assert_eq!((fixed.urn.as_str(), coder), (urns::window_fn::FIXED, CoderSpec::IntervalWindow));
        let payload = FixedWindowsPayload::decode(&fixed.payload[..]).unwrap();
        let size = payload.size.unwrap();
        assert_eq!((size.seconds, size.nanos), (2, 500_000_000));
        assert_eq!(payload.offset.unwrap().seconds, 2, "-0.5 s is 2 s in windows of 2.5 s");
        let (sliding, _) = window_fn(&SlidingWindows::of(millis(4_000), millis(1_000)), false);
        let payload = SlidingWindowsPayload::decode(&sliding.payload[..]).unwrap();
        assert_eq!((payload.size.unwrap().seconds, payload.period.unwrap().seconds), (4, 1));
        let (sessions, _) = window_fn(&Sessions::with_gap(millis(7)), false);
        let payload = SessionWindowsPayload::decode(&sessions.payload[..]).unwrap();
        assert_eq!(payload.gap_size.unwrap().nanos, 7_000_000);
    }
}
