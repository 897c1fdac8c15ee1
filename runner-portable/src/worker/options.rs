//! What of the pipeline's options concerns the worker.

use std::time::Duration;

use prost_types::{Struct, value::Kind};
use purlin_sdk::exec::SdfLimits;

/// How the worker does what the protocol leaves open.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WorkerOptions {
    /// When a splittable DoFn without an end gives the rest of its restriction back: an engine such as Flink never asks
    /// for it, and its watermark moves only then.
    pub(super) checkpoint: SdfLimits,
}

/// After so many elements: `--engine-option purlin_checkpoint_elements=N`.
const ELEMENTS: &str = "beam:option:purlin_checkpoint_elements:v1";
/// After so many milliseconds: `--engine-option purlin_checkpoint_millis=N`.
const MILLIS: &str = "beam:option:purlin_checkpoint_millis:v1";

impl Default for WorkerOptions {
    fn default() -> WorkerOptions {
        let checkpoint = SdfLimits {
            max_elements: Some(10_000),
            max_time: Some(Duration::from_secs(1)),
            ..SdfLimits::default()
        };
        WorkerOptions { checkpoint }
    }
}

impl WorkerOptions {
    /// From the options that the engine keeps of the pipeline.
    pub(super) fn of(options: &Struct) -> WorkerOptions {
        let mut made = WorkerOptions::default();
        let number = |name: &str| match options.fields.get(name)?.kind.as_ref()? {
            Kind::NumberValue(n) if *n >= 1.0 => Some(*n as u64),
            Kind::StringValue(text) => text.parse().ok().filter(|n| *n >= 1),
            _ => None,
        };
        if let Some(elements) = number(ELEMENTS) {
            made.checkpoint.max_elements = Some(elements);
        }
        if let Some(millis) = number(MILLIS) {
            made.checkpoint.max_time = Some(Duration::from_millis(millis));
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use prost_types::Value;

    use super::*;

    #[test]
    fn numbers_come_as_text_or_as_numbers() {
        let value = |kind| Value { kind: Some(kind) };
        let mut options = Struct::default();
        assert_eq!(WorkerOptions::of(&options), WorkerOptions::default());
        options.fields.insert(ELEMENTS.to_owned(), value(Kind::StringValue("7".to_owned())));
        options.fields.insert(MILLIS.to_owned(), value(Kind::NumberValue(250.0)));
        let limits = WorkerOptions::of(&options).checkpoint;
        assert_eq!((limits.max_elements, limits.max_time), (Some(7), Some(Duration::from_millis(250))));
        options.fields.insert(ELEMENTS.to_owned(), value(Kind::StringValue("none".to_owned())));
        assert_eq!(WorkerOptions::of(&options).checkpoint.max_elements, Some(10_000));
    }
}
