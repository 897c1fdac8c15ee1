//! Streaming queries: an unbounded pipeline that runs in epochs, as in Spark's Structured Streaming.
//!
//! An **epoch** takes what its sources have, works all of it off, moves the watermark, and hands the result to a sink,
//! all or nothing. When epochs begin is said by a trigger, what of the result an epoch shows by the output mode.
//!
//! ```
//! use purlin_runner_direct::DirectRunner;
//! use purlin_sdk::Pipeline;
//! use purlin_transforms::streaming::{MemoryStream, MemoryTable, QueryTrigger, ReadStream, WriteStream};
//!
//! let p = Pipeline::new();
//! let lines = MemoryStream::new();
//! lines.add(["to be".to_owned(), "or not".to_owned()]);
//! let table = MemoryTable::new();
//! let query = p
//!     .apply("Lines", ReadStream::from(lines))
//!     .flat_map("Split", |line: String| line.split(' ').map(str::to_owned).collect::<Vec<_>>())
//!     .write_stream()
//!     .trigger(QueryTrigger::AvailableNow)
//!     .sink(table.sink())
//!     .start(&DirectRunner::new())?;
//! query.await_termination()?;
//! assert_eq!(table.rows(), ["to", "be", "or", "not"]);
//! # Ok::<(), purlin_sdk::PipelineError>(())
//! ```

mod aggregate;
mod checkpoint;
mod collect;
mod context;
mod driver;
mod drop_duplicates;
mod epoch;
mod event_time;
mod facts;
mod feed;
mod interval;
mod join;
mod late_rows;
mod legality;
mod limit;
mod operator;
mod operators;
mod output_mode;
mod place;
mod progress;
mod query;
mod read_stream;
mod settings;
mod sink;
mod sinks;
mod sort;
mod source;
mod sources;
mod state_rows;
mod static_join;
mod time_of;
mod time_windows;
mod trigger;
mod waiting;
mod watermark_policy;
mod whole_file;
mod with_watermark;
mod writer;

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
pub use progress::{EventTimeProgress, QueryProgress, SinkProgress, SourceProgress, StateOperatorProgress};
pub use query::{QueryStatus, StreamingQuery};
pub use read_stream::ReadStream;
pub use sink::StreamSink;
pub use sinks::{
    ConsoleSink, FileSink, ForEach, ForEachBatch, JsonLines, MemorySink, MemoryTable, RowFormat, TextLines,
};
pub use sort::SortBy;
pub use source::{Offset, ReadUpTo, StreamSource};
pub use sources::{FileStream, MemoryStream, RateRow, RateStream, SocketStream};
pub use state_rows::{
    ROWS_DROPPED_BY_WATERMARK, STATE_ROWS_ADDED, STATE_ROWS_REMOVED, STATE_ROWS_UPDATED, StateRows,
};
pub use static_join::{StaticFilter, StaticInner, StaticJoin, StaticOuter};
pub use time_windows::{TimeWindow, TimeWindows};
pub use trigger::QueryTrigger;
pub use watermark_policy::WatermarkPolicy;
pub use with_watermark::{IntoDelay, WithWatermark};
pub use writer::{StreamWriter, WriteStream};
