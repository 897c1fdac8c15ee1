//! The Beam model in Rust: what people write pipelines against, and the typed kernels that runners drive.
//!
//! This crate knows no runner and no engine.
#![forbid(unsafe_code)]

mod async_dofn;
pub mod batch;
mod clock;
pub mod coder;
mod coder_slot;
mod combine;
mod core;
mod dofn;
mod element;
mod error;
pub mod exec;
pub mod fused;
pub mod graph;
mod grouped;
mod keyed_dofn;
pub mod live;
pub mod metrics;
pub mod named;
mod outputs;
mod pcollection;
mod pipeline;
mod ptransform;
mod run;
pub mod sdf;
pub mod state;
pub mod testing;
mod time;
mod view;
pub mod watermark;
pub mod window;

pub use async_dofn::{AsyncContext, AsyncDoFn};
pub use clock::{Clock, ClockRef, ManualClock, SystemClock};
pub use combine::CombineFn;
pub use core::{
    CoGroupByKey, Combine, CombineContext, CombineFnWithContext, CombineWithContext, GloballyWithContext,
    GroupByKey, Partition, PerKeyWithContext, WindowInto, WithTimestamps,
};
pub use dofn::{
    BundleContext, BundleEmitter, DoFn, Emitter, Failed, PerWorker, ProcessContext, SetupContext, Tag,
};
pub use element::{Element, Key};
pub use error::{BuildError, BuildErrors, DoFnError, ErrorKind, Phase, PipelineError, Result, Step};
pub use grouped::Grouped;
pub use keyed_dofn::{KeyedDoFn, TimerContext, TimerOf};
pub use outputs::{OutputRouter, Outputs};
pub use pcollection::{AsyncParDo, FnDoFn, KeyedParDo, OutputsBuilder, PCollection, ParDo, ParDoOutputs};
pub use pipeline::Pipeline;
pub use ptransform::{Apply, PTransform};
pub use run::{
    Hold, Holder, RunControl, RunHandle, RunOutcome, RunResult, RunShared, RunState, Runner, StageReport,
    StallReport,
};
pub use state::KeyedState;
pub use time::{
    CombinedWatermark, Duration, ParseDurationError, ParseTimestampError, Timestamp, TimestampOutOfBounds,
};
pub use view::{ListView, MapView, MultimapView, View, ViewHasher};
