//! Counts per key and window. Events are out of order, so they are reordered first; the watermark comes as seldom as
//! renoir likes it, since each visits every key.

use purlin_bench_common::checksum::window_count;
use purlin_bench_common::generate::{Event, Generator};
use purlin_bench_common::{Failure, Outcome, Params};
use renoir::operator::StreamElement;

use crate::aligned::AlignedWindow;
use crate::{context, events, sum};

/// How many events of a replica lie between watermarks.
const WATERMARK_EVERY: u64 = 65_536;

pub fn windows(params: &Params, size: i64, slide: i64) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let replicas = params.threads as u64;
    let results = events(&env, params)
        .add_timestamps(
            |e: &Event| e.ts,
            move |e, _| {
                // A replica has every `replicas`th event.
                (e.id / replicas % WATERMARK_EVERY == WATERMARK_EVERY - 1)
                    .then(|| Generator::watermark(e.id + replicas))
            },
        )
        .group_by(|e| e.key)
        // Behind the exchange, where replicas' events mix.
        .reorder()
        .window(AlignedWindow { size, slide })
        .count()
        .unkey()
        // A result's timestamp is its window's end.
        .rich_map_custom(move |mut results| match results.next() {
            StreamElement::Timestamped((key, count), end) => {
                StreamElement::Item(window_count(key, end - size, count as u64))
            }
            StreamElement::Item(_) => unreachable!("a window's result has a timestamp"),
            StreamElement::Watermark(time) => StreamElement::Watermark(time),
            StreamElement::FlushBatch => StreamElement::FlushBatch,
            StreamElement::FlushAndRestart => StreamElement::FlushAndRestart,
            StreamElement::Terminate => StreamElement::Terminate,
        })
        .fold_assoc(0_u64, |sum, x| *sum = sum.wrapping_add(x), |sum, x| *sum = sum.wrapping_add(x))
        .collect_vec();
    sum(env, results, params.n)
}
