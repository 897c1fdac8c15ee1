//! What no engine can do.

use purlin_sdk::graph::{Node, Op};

use super::Refused;

/// What is wrong with a transform whatever it is.
pub(super) fn check(node: &Node) -> Result<(), Refused> {
    match node.op {
        Op::Live(_) | Op::AssignWatermark(_) => Err(nothing_like_it(&node.op)),
        _ => Ok(()),
    }
}

/// Says that Beam has no such transform.
pub(super) fn nothing_like_it(op: &Op) -> Refused {
    match op {
        Op::Live(_) => "it is told its elements by this process while the pipeline runs, and an engine only runs what it \
                        was given at the start: read a source by a splittable DoFn, or run it with --runner=threaded"
            .to_owned(),
        Op::AssignWatermark(_) => "it puts another watermark in place of its input's, which the portability protocol has \
                                   no word for: give the source a watermark estimator (`SplittableDoFn`), or run it with \
                                   --runner=threaded"
            .to_owned(),
        other => format!("it is {other:?}, which the portability protocol has no word for"),
    }
}
