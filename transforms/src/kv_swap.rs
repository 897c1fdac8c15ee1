//! Pairs the other way round.

use purlin_sdk::{Element, PCollection, PTransform};

/// Each pair with key and value exchanged.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// # let p = Pipeline::new();
/// let by_age: PCollection<(i32, String)> =
///     p.create("Ages", [("amy".to_owned(), 31)]).apply("ByAge", purlin_transforms::KvSwap);
/// ```
/// Source: Beam's `KvSwap`.
#[derive(Clone, Copy, Debug, Default)]
pub struct KvSwap;

impl<K: Element, V: Element> PTransform<PCollection<(K, V)>> for KvSwap {
    type Out = PCollection<(V, K)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(V, K)> {
        input.map("Swap", |(k, v)| (v, k))
    }
}
