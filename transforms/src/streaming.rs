//! Streaming queries: an unbounded pipeline that runs in epochs, as in Spark's Structured Streaming.
//!
//! An **epoch** takes what its sources have, works all of it off, moves the watermark, and hands the result to a sink,
//! all or nothing. When epochs begin is said by a trigger, what of the result an epoch shows by the output mode.

mod aggregate;
mod context;
mod drop_duplicates;
mod epoch;
mod event_time;
mod facts;
mod interval;
mod join;
mod late_rows;
mod limit;
mod operator;
mod operators;
mod output_mode;
mod place;
mod sort;
mod source;
mod state_rows;
mod static_join;
mod time_of;
mod time_windows;
mod trigger;
mod waiting;
mod with_watermark;

pub use aggregate::{GlobalAggregate, PerKeyAggregate, SessionAggregate, StreamAggregate, WindowedAggregate};
pub use context::QueryContext;
pub use drop_duplicates::DropDuplicates;
pub use epoch::{Epoch, Phase};
pub use event_time::{EventTime, WatermarkId};
pub use interval::{IntervalError, parse_delay, parse_span};
pub use join::{
    JoinSide, StreamFullOuter, StreamInner, StreamJoin, StreamLeftOuter, StreamLeftSemi, StreamRightOuter,
};
pub use late_rows::{AndLateRows, LateRows};
pub use limit::Limit;
pub use operator::{Grouping, JoinRules, JoinType, Operator, OperatorKind};
pub use output_mode::{OutputMode, ParseOutputModeError};
pub use sort::SortBy;
pub use source::{Offset, ReadUpTo, StreamSource};
pub use state_rows::{
    ROWS_DROPPED_BY_WATERMARK, STATE_ROWS_ADDED, STATE_ROWS_REMOVED, STATE_ROWS_UPDATED, StateRows,
};
pub use static_join::{StaticFilter, StaticInner, StaticJoin, StaticOuter};
pub use time_windows::{TimeWindow, TimeWindows};
pub use trigger::QueryTrigger;
pub use with_watermark::{IntoDelay, WithWatermark};
