//! What most pipelines need: `use purlin::prelude::*;`.
//!
//! The cells of state are in [`state`](crate::state), splittable DoFns are in [`sdf`](crate::sdf), what tests need is in [`testing`](crate::testing).
//! [`transforms::ToString`](crate::transforms::ToString) is not here: it would hide the trait of that name, and with it `to_string`.

pub use std::process::ExitCode;

pub use crate::{
    Apply, BundleContext, BundleEmitter, CoGroupByKey, Combine, CombineContext, CombineFn,
    CombineFnWithContext, CombineWithContext, DoFn, DoFnError, Duration, Element, Emitter, Failed,
    GroupByKey, Grouped, Key, KeyedDoFn, KeyedParDo, KeyedState, ListView, MapView, MultimapView, Outputs,
    PCollection, PTransform, ParDo, Partition, PerWorker, Pipeline, ProcessContext, Result, Runner,
    SetupContext, Tag, TimerContext, Timestamp, View, WindowInto, WithTimestamps,
    transforms::{
        ApproximateQuantiles, Count, Deduplicate, Distinct, GroupIntoBatches, Join, Keys, KvSwap, Latest,
        Max, Mean, Min, Sample, Sum, ToList, Top, Values, Wait, Watch, float_order,
    },
    window::{FixedWindows, GlobalWindows, Sessions, SlidingWindows, Trigger, Window},
};
