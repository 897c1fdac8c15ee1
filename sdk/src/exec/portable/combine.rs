//! Combining where an engine groups.

use std::{marker::PhantomData, sync::Arc};

use super::{PortableGroup, PortablePart, precombine};
use crate::{
    Grouped, Key, Phase,
    batch::{ErasedBatch, Row},
    coder::{CoderError, CoderSpec, default_coder},
    coder_slot::CoderSlot,
    exec::{Downstream, Fold, Kernel, KernelResult, Port, Proto},
    window::{TimestampCombiner, Window, WindowingStrategy},
};

/// The parts that a combine per key is made of, `K` being the key, `V` a value, `A` an accumulator and `O` the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CombinePart {
    /// `(K, V)` to `(K, A)`, several to one where they have a key and a window in common: before the data are sent. Beam's
    /// `combine_per_key_precombine`.
    Precombine,
    /// `(K, [A])` to `(K, A)`. Beam's `combine_per_key_merge_accumulators`.
    MergeAccumulators,
    /// `(K, A)` to `(K, O)`. Beam's `combine_per_key_extract_outputs`.
    ExtractOutputs,
    /// `(K, V)` to `(K, A)`, one to one. Beam's `combine_per_key_convert_to_accumulators`.
    ConvertToAccumulators,
    /// `(K, [V])` to `(K, O)`: what a combine is behind a GroupByKey. Beam's `combine_grouped_values`.
    CombineGrouped,
    /// `(K, [A])` to `(K, O)`: merges and extracts at once.
    CombineAccumulators,
    /// Beam's impulse (bytes) to `(K, A)`: the accumulator of nothing under the key that a global combine has. Together
    /// with what comes of [`Precombine`](CombinePart::Precombine) it goes into the grouping, so that there is a result
    /// when there is nothing else. For the global window.
    Default,
}

/// A combine per key.
pub trait PortableCombine: Send + Sync {
    /// How accumulators are encoded.
    ///
    /// # Errors
    /// When their type has no coder.
    fn accumulator(&self) -> Result<CoderSpec, CoderError>;

    /// Whether it has a result for nothing, so that it needs [`CombinePart::Default`]. It then also stands for a
    /// grouping of all elements, which combines to the list of them.
    fn has_default(&self) -> bool;

    /// One of its parts.
    fn part(&self, part: CombinePart) -> PortablePart;
}

/// A combine of `(K, F::Input)` to `(K, F::Output)`.
pub(in crate::exec) struct CombineOf<K: Key, F: Fold> {
    fold: Arc<Proto<F>>,
    strategy: Arc<WindowingStrategy>,
    default_key: Option<K>,
    output: CoderSlot<(K, F::Output)>,
    key: PhantomData<fn() -> K>,
}

/// What a grouping with `fold` is for an engine.
pub(in crate::exec) fn grouped<K: Key, F: Fold>(
    fold: F,
    strategy: Arc<WindowingStrategy>,
    default_key: Option<K>,
    output: CoderSlot<(K, F::Output)>,
) -> PortableGroup {
    if F::LISTS && default_key.is_none() {
        return PortableGroup::GroupByKey;
    }
    PortableGroup::Combine(Arc::new(CombineOf::<K, F> {
        fold: Arc::new(Proto::new(fold)),
        strategy,
        default_key,
        output,
        key: PhantomData,
    }))
}

impl<K: Key, F: Fold> CombineOf<K, F> {
    fn inputs(&self) -> CoderSlot<(K, F::Input)> {
        CoderSlot::default_of_type()
    }

    fn accumulators(&self) -> CoderSlot<(K, F::Acc)> {
        CoderSlot::default_of_type()
    }

    fn lists(&self) -> CoderSlot<(K, Grouped<F::Acc>)> {
        CoderSlot::default_of_type()
    }

    fn default_value(&self) -> PortablePart {
        let (fold, key, out) = (self.fold.clone(), self.default_key.clone(), self.accumulators());
        let combiner = self.strategy.timestamp_combiner;
        let output = out.clone();
        PortablePart::new(&CoderSlot::<Vec<u8>>::default_of_type(), &output, move |spec| {
            Box::new(OfNothing {
                fold: fold.get(),
                key: key.clone(),
                // The impulse is at the beginning of time, where it must have no say in the result's timestamp.
                timestamp: match combiner {
                    TimestampCombiner::Earliest | TimestampCombiner::EarliestTransformed => {
                        Some(Window::Global.result_timestamp())
                    }
                    TimestampCombiner::EndOfWindow | TimestampCombiner::Latest => None,
                },
                out: Port::new(0, &spec.step, &out),
            })
        })
    }
}

impl<K: Key, F: Fold> PortableCombine for CombineOf<K, F> {
    fn accumulator(&self) -> Result<CoderSpec, CoderError> {
        default_coder::<F::Acc>().map(|coder| coder.spec())
    }

    fn has_default(&self) -> bool {
        self.default_key.is_some()
    }

    fn part(&self, part: CombinePart) -> PortablePart {
        let fold = self.fold.clone();
        match part {
            CombinePart::Precombine => {
                precombine(fold, self.strategy.timestamp_combiner, &self.accumulators(), |acc, _| acc)
            }
            CombinePart::ConvertToAccumulators => {
                PortablePart::each(Phase::AddInput, &self.inputs(), &self.accumulators(), move || {
                    let fold = fold.get();
                    move |(key, value): (K, F::Input)| {
                        let mut acc = fold.create();
                        fold.add(&mut acc, value);
                        (key, acc)
                    }
                })
            }
            CombinePart::MergeAccumulators => {
                PortablePart::each(Phase::MergeAccumulators, &self.lists(), &self.accumulators(), move || {
                    let fold = fold.get();
                    move |(key, accs): (K, Grouped<F::Acc>)| (key, merged(&fold, accs))
                })
            }
            CombinePart::ExtractOutputs => {
                PortablePart::each(Phase::ExtractOutput, &self.accumulators(), &self.output, move || {
                    let fold = fold.get();
                    move |(key, acc): (K, F::Acc)| (key, fold.extract(acc))
                })
            }
            CombinePart::CombineGrouped => PortablePart::telling(
                Phase::AddInput,
                &CoderSlot::<(K, Grouped<F::Input>)>::default_of_type(),
                &self.output,
                move || {
                    let fold = fold.get();
                    move |(key, values): (K, Grouped<F::Input>), cx| {
                        let mut acc = fold.create();
                        values.into_iter().for_each(|value| fold.add(&mut acc, value));
                        cx.phase(Phase::ExtractOutput);
                        (key, fold.extract(acc))
                    }
                },
            ),
            CombinePart::CombineAccumulators => {
                PortablePart::telling(Phase::MergeAccumulators, &self.lists(), &self.output, move || {
                    let fold = fold.get();
                    move |(key, accs): (K, Grouped<F::Acc>), cx| {
                        let acc = merged(&fold, accs);
                        cx.phase(Phase::ExtractOutput);
                        (key, fold.extract(acc))
                    }
                })
            }
            CombinePart::Default => self.default_value(),
        }
    }
}

fn merged<F: Fold>(fold: &F, accs: Grouped<F::Acc>) -> F::Acc {
    let mut accs = accs.into_iter();
    // Not into a new one: a user's merge need not take that.
    let mut all = accs.next().unwrap_or_else(|| fold.create());
    accs.for_each(|acc| fold.merge(&mut all, acc));
    all
}

/// Emits the accumulator of nothing.
struct OfNothing<K, F: Fold> {
    fold: F,
    key: Option<K>,
    timestamp: Option<crate::Timestamp>,
    out: Port<(K, F::Acc)>,
}

impl<K: Key, F: Fold> Kernel for OfNothing<K, F> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        for i in 0..input.len() {
            if let Some(key) = &self.key {
                let row = Row { timestamp: self.timestamp, ..Row::of(input.meta(), i) };
                self.out.batch.push((key.clone(), self.fold.create()), row);
            }
        }
        drop(input.take());
        self.out.flush(down)
    }
}
