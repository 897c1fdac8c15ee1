//! One watermark from several.

use serde::{Deserialize, Serialize};

/// What the watermark of a query is that has several `with_watermark`. Source: Spark's
/// `spark.sql.streaming.multipleWatermarkPolicy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WatermarkPolicy {
    /// The least, so that the slowest is waited for: nothing of it is late because another one is ahead. One that has
    /// seen no row holds it where it is.
    #[default]
    Min,
    /// The greatest: results come as early as they can, and rows of the slower ones may be late. One that has seen no
    /// row does not count.
    Max,
}
