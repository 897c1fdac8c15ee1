//! What a grouping does with the values of a key.

use std::marker::PhantomData;

use crate::{CombineFn, Element, Grouped, named};

/// What a grouping keeps of the values of one key and window, and what it makes of them.
pub(crate) trait Fold: Clone + Send + 'static {
    type Input: Element;
    type Acc: Element;
    type Output: Element;
    /// Whether it does nothing but list the values, as Beam's GroupByKey.
    const LISTS: bool = false;
    /// Whether accumulators of parts of a window may be merged, in any order, for less than it takes to add every element
    /// once a window.
    const SLICES: bool = false;
    fn create(&self) -> Self::Acc;
    fn add(&self, acc: &mut Self::Acc, input: Self::Input);
    fn merge(&self, acc: &mut Self::Acc, other: Self::Acc);
    fn extract(&self, acc: Self::Acc) -> Self::Output;

    /// A pane came out of what is kept for the next one too.
    fn fired(&self, _acc: &mut Self::Acc) {}

    /// How many elements an input stands for.
    #[inline]
    fn weight(&self, _input: &Self::Input) -> u64 {
        1
    }

    /// The configuration that goes into the graph's JSON.
    fn payload(&self) -> crate::Result<serde_json::Value> {
        Ok(serde_json::Value::Null)
    }

    /// The fold whose configuration `payload` is; nothing when it has none.
    fn with_payload(&self, _payload: &serde_json::Value) -> crate::Result<Option<Self>> {
        Ok(None)
    }
}

/// Combining: an accumulator.
#[derive(Clone)]
pub(crate) struct CombineFold<C>(pub(crate) C);

impl<C: CombineFn> Fold for CombineFold<C> {
    type Input = C::Input;
    type Acc = C::Accumulator;
    type Output = C::Output;
    const SLICES: bool = true;

    #[inline]
    fn create(&self) -> C::Accumulator {
        self.0.create()
    }

    #[inline]
    fn add(&self, acc: &mut C::Accumulator, input: C::Input) {
        self.0.add_input(acc, input);
    }

    fn merge(&self, acc: &mut C::Accumulator, other: C::Accumulator) {
        self.0.merge(acc, other);
    }

    fn extract(&self, acc: C::Accumulator) -> C::Output {
        self.0.extract(acc)
    }

    fn payload(&self) -> crate::Result<serde_json::Value> {
        named::payload_of(&self.0)
    }

    fn with_payload(&self, payload: &serde_json::Value) -> crate::Result<Option<Self>> {
        Ok(named::restored(payload)?.map(CombineFold))
    }
}

/// Grouping: all values.
pub(crate) struct ListFold<V>(PhantomData<fn() -> V>);

impl<V> Default for ListFold<V> {
    fn default() -> ListFold<V> {
        ListFold(PhantomData)
    }
}

impl<V> Clone for ListFold<V> {
    fn clone(&self) -> ListFold<V> {
        ListFold(PhantomData)
    }
}

impl<V: Element> Fold for ListFold<V> {
    type Input = V;
    type Acc = Vec<V>;
    type Output = Grouped<V>;
    const LISTS: bool = true;

    #[inline]
    fn create(&self) -> Vec<V> {
        Vec::new()
    }

    #[inline]
    fn add(&self, acc: &mut Vec<V>, input: V) {
        acc.push(input);
    }

    fn merge(&self, acc: &mut Vec<V>, mut other: Vec<V>) {
        if acc.is_empty() {
            *acc = other;
        } else {
            acc.append(&mut other);
        }
    }

    fn extract(&self, acc: Vec<V>) -> Grouped<V> {
        Grouped::from(acc)
    }
}
