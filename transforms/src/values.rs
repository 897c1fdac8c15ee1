//! The values of pairs.

use purlin_sdk::{Element, PCollection, PTransform};

/// The value of each pair.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// # let p = Pipeline::new();
/// let ages: PCollection<i32> =
///     p.create("Ages", [("amy".to_owned(), 31)]).apply("Values", purlin_transforms::Values);
/// ```
/// Source: Beam's `Values`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values;

impl<K: Element, V: Element> PTransform<PCollection<(K, V)>> for Values {
    type Out = PCollection<V>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<V> {
        input.map("Value", |(_, v)| v)
    }
}
