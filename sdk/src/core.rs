//! The primitives that are structs, one a file.

mod assign_watermark;
mod co_group;
mod combine;
mod combine_with_context;
mod fanout;
mod flatten;
mod group_by_key;
mod partition;
mod window_into;
mod with_timestamps;

pub use co_group::CoGroupByKey;
pub use combine::Combine;
pub use combine_with_context::{
    CombineContext, CombineFnWithContext, CombineWithContext, GloballyWithContext, PerKeyWithContext,
};
pub use group_by_key::GroupByKey;
pub use partition::Partition;
pub use window_into::WindowInto;
pub use with_timestamps::WithTimestamps;

pub(crate) use combine::{combine_globally, combine_per_key_at};
pub(crate) use flatten::flatten_at;
pub(crate) use group_by_key::{group_by_key_at, group_unchecked};
