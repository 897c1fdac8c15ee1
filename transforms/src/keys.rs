//! The keys of pairs.

use purlin_sdk::{Element, PCollection, PTransform};

/// The key of each pair; one that several pairs have comes several times (see [`Distinct`](crate::Distinct)).
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// # let p = Pipeline::new();
/// let names: PCollection<String> =
///     p.create("Ages", [("amy".to_owned(), 31)]).apply("Names", purlin_transforms::Keys);
/// ```
/// Source: Beam's `Keys`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keys;

impl<K: Element, V: Element> PTransform<PCollection<(K, V)>> for Keys {
    type Out = PCollection<K>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<K> {
        input.map("Key", |(k, _)| k)
    }
}
