//! Which bytes of which parts make up which shard.

use purlin_sdk::{DoFn, Emitter, ProcessContext, Result, named};
use serde::{Deserialize, Serialize};

use super::part::{Part, Piece};

/// What a shard is made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ShardPlan {
    pub(super) shard: u32,
    pub(super) pieces: Vec<Piece>,
}

/// Deals the parts of a window out to its shards.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct PlanShards {
    shards: u32,
}

impl PlanShards {
    pub(super) fn new(shards: u32) -> PlanShards {
        PlanShards { shards }
    }
}

named::register!(PlanShards);

impl DoFn for PlanShards {
    type Input = Vec<Part>;
    type Output = ShardPlan;

    fn process(
        &mut self,
        parts: Vec<Part>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, ShardPlan>,
    ) -> Result {
        out.emit_all(plan(parts, self.shards));
        Ok(())
    }
}

/// Lays the parts end to end and cuts the whole into shards of about the same length, at marks only.
fn plan(parts: Vec<Part>, shards: u32) -> Vec<ShardPlan> {
    let length = |part: &Part| part.marks.last().copied().unwrap_or(0);
    let total: u128 = parts.iter().map(|p| u128::from(length(p))).sum();
    let mut plans: Vec<_> = (0..shards).map(|shard| ShardPlan { shard, pieces: Vec::new() }).collect();
    let mut before = 0_u128;
    for part in parts {
        let total_of_part = length(&part);
        let mut from = 0;
        for &to in part.marks.iter().filter(|to| **to > 0) {
            // The shard in which the middle of the piece lies; in halves, so that nothing is rounded.
            let middle = 2 * before + u128::from(from) + u128::from(to);
            let shard = (middle * u128::from(shards) / (2 * total)) as usize;
            if let Some(plan) = plans.get_mut(shard.min(shards as usize - 1)) {
                match plan.pieces.last_mut() {
                    Some(last) if from > 0 && last.to == from && last.temp.path() == part.temp.path() => {
                        last.to = to;
                    }
                    _ => {
                        let temp = part.temp.clone();
                        plan.pieces.push(Piece { temp, from, to, total: total_of_part });
                    }
                }
            }
            from = to;
        }
        before += u128::from(total_of_part);
    }
    plans
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A part without a file: a name that was decoded removes nothing.
    fn part(n: usize, lengths: &[u64]) -> Part {
        let temp = serde_json::from_value(serde_json::json!(format!("part {n}"))).unwrap();
        let marks = lengths.iter().scan(0, |at, length| {
            *at += length;
            Some(*at)
        });
        Part { temp, marks: marks.collect() }
    }

    #[test]
    fn ten_equal_records_of_one_bundle_go_to_all_shards() {
        let plans = plan(vec![part(0, &[5; 10])], 4);
        let lengths: Vec<u64> = plans.iter().flat_map(|p| &p.pieces).map(|p| p.to - p.from).collect();
        assert_eq!(lengths, [10, 15, 10, 15]);
    }

    #[test]
    fn without_parts_every_shard_is_empty() {
        let plans = plan(Vec::new(), 3);
        assert_eq!(
            plans.iter().map(|p| (p.shard, p.pieces.len())).collect::<Vec<_>>(),
            [(0, 0), (1, 0), (2, 0)]
        );
    }

    proptest! {
        #[test]
        fn every_byte_is_in_one_shard(
            parts in prop::collection::vec(prop::collection::vec(1..50_u64, 0..20), 0..8),
            shards in 1..6_u32,
        ) {
            let made: Vec<_> = parts.iter().enumerate().map(|(n, lengths)| part(n, lengths)).collect();
            let plans = plan(made, shards);
            prop_assert_eq!(plans.len(), shards as usize);
            let total: u64 = parts.iter().flatten().sum();
            let longest = parts.iter().flatten().copied().max().unwrap_or(0);
            let mut ends: std::collections::HashMap<_, u64> = Default::default();
            for plan in &plans {
                let length: u64 = plan.pieces.iter().map(|p| p.to - p.from).sum();
                prop_assert!(length <= total / u64::from(shards) + longest + 1);
                for piece in &plan.pieces {
                    let end = ends.entry(piece.temp.path().to_owned()).or_default();
                    prop_assert_eq!(*end, piece.from);
                    *end = piece.to;
                }
            }
            prop_assert_eq!(ends.values().sum::<u64>(), total);
        }
    }
}
