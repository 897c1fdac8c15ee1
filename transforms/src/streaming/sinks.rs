//! Sinks that come with the library.

mod console;
mod files;
mod for_each;
mod memory;

pub use console::ConsoleSink;
pub use files::{FileSink, JsonLines, RowFormat, TextLines};
pub use for_each::{ForEach, ForEachBatch};
pub use memory::{MemorySink, MemoryTable};
