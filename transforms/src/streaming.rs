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

mod checkpoint;
mod collect;
mod context;
mod driver;
mod epoch;
mod event_time;
mod feed;
mod operator;
mod output_mode;
mod progress;
mod query;
mod read_stream;
mod settings;
mod sink;
mod sinks;
mod source;
mod sources;
mod trigger;
mod watermark_policy;
mod writer;

pub use context::QueryContext;
pub use epoch::{Epoch, Phase};
pub use event_time::{EventTime, WatermarkId};
pub use operator::Operator;
pub use output_mode::OutputMode;
pub use progress::{EventTimeProgress, QueryProgress, SinkProgress, SourceProgress, StateOperatorProgress};
pub use query::{QueryStatus, StreamingQuery};
pub use read_stream::ReadStream;
pub use sink::StreamSink;
pub use sinks::{
    ConsoleSink, FileSink, ForEach, ForEachBatch, JsonLines, MemorySink, MemoryTable, RowFormat, TextLines,
};
pub use source::{Offset, ReadUpTo, StreamSource};
pub use sources::{FileStream, MemoryStream, RateRow, RateStream, SocketStream};
pub use trigger::QueryTrigger;
pub use watermark_policy::WatermarkPolicy;
pub use writer::{StreamWriter, WriteStream};
