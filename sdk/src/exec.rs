//! The typed kernels that runners drive, and the frame they run in.
//!
//! A stage of the plan becomes a [`StageInstance`]: its kernels in topological order, each with one typed input batch.
//! A bundle runs through it front to back. A kernel hands a batch on by [`Downstream::send`], which moves it into the
//! input of the consumer; element types are checked there, once a batch, and nowhere else. Nothing recurses along the
//! pipeline, so that ten thousand transforms in a row need no more stack than one.
//!
//! What a bundle does to the world outside (outputs, grouped data, residuals, metrics, finalizers) gathers in
//! [`Effects`] and takes effect when the engine commits them, or not at all.

mod assign;
mod async_par_do;
mod bundle;
mod control;
mod create;
mod downstream;
mod effects;
mod element_wise;
mod fused;
mod group;
mod holds;
mod input;
mod instance;
mod kernel;
mod narrow;
mod outputs;
mod par_do;
mod partition;
mod port;
mod portable;
mod proto;
pub mod save;
mod sdf;
mod stateful;
mod terminal;
pub(crate) mod view;
mod window_into;
pub mod wire;

pub use assign::{AssignFactory, Assigned, AssignedBy};
pub use bundle::{BundleCx, BundleDone, Checks, RunEnv, SdfLimits};
pub use control::{BundleControl, SplitOutcome, SplitPoint};
pub use downstream::Downstream;
pub use effects::{Effects, Finalizer, KeyedBatch, Residual, WindowReport};
pub use group::{AnyTable, GroupFactory, GroupState, KeyedReport, Shard, key_group_of, key_groups};
pub use input::BundleInput;
pub use instance::{Slot, StageInstance};
pub use kernel::{Kernel, KernelFactory, KernelResult, KernelSpec};
pub use portable::{
    CellAddress, CombinePart, KeyedLink, PartEnd, PortableCombine, PortableGroup, PortableKeyed,
    PortablePart, PortableTimer, StateAccess, TimerBytes,
};
pub use save::BatchCodec;
pub use sdf::{SdfElement, SdfFactory, SdfPart};
pub use terminal::{Boundary, Relay};
pub use view::{ByWindow, ReadyView, ViewFactory, ViewSnapshot, ViewSource, ViewValue, side_window};
pub use wire::WireCodec;

pub(crate) use assign::AssignOp;
pub(crate) use async_par_do::{AsyncFactory, AsyncOptions, Reactor};
pub(crate) use create::CreateFactory;
pub(crate) use element_wise::{FilterFactory, FlatMapFactory, MapFactory};
pub(crate) use fused::{FusedFactory, FusedStep, failing_step};
pub(crate) use group::{
    CombineFold, FanoutOp, Fold, GroupOp, KeyedCollector, ListFold, Partial, PartialFold,
};
pub(crate) use narrow::Sieve;
pub(crate) use outputs::SplitOutputs;
pub(crate) use par_do::ParDoFactory;
pub(crate) use partition::PartitionFactory;
pub(crate) use port::{Port, TagPort, TagPortMaker};
pub(crate) use proto::Proto;
pub(crate) use sdf::{Running, SdfOp, Shared};
pub(crate) use stateful::{KeyStore, StatefulOp};
pub(crate) use view::{ViewOp, ViewShape};
pub(crate) use window_into::{WindowIntoFactory, WithTimestampsFactory};
