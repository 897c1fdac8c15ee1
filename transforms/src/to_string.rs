//! Elements as text.

use std::fmt::Display;

use purlin_sdk::{Element, PCollection, PTransform};

/// Turns elements into text: as they are displayed, pairs with a delimiter between key and value, lists with a delimiter
/// between what is in them.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::ToString;
/// # let p = Pipeline::new();
/// let numbers: PCollection<String> = p.create("Numbers", [1, 2]).apply("Text", ToString::elements());
/// let prices = p.create("Prices", [("tea".to_owned(), 3)]);
/// let csv: PCollection<String> = prices.apply("Csv", ToString::kvs()); // tea,3
/// let tsv: PCollection<String> = prices.apply("Tsv", ToString::kvs().delimiter("\t"));
/// let lists = p.create("Lists", [vec![1, 2, 3]]);
/// let joined: PCollection<String> = lists.apply("Join", ToString::iterables().delimiter("; ")); // 1; 2; 3
/// # p.build().unwrap();
/// ```
/// Nothing is quoted: text that holds the delimiter cannot be told apart again. Whatever can be iterated over is a list,
/// also a group of [`group_by_key`](PCollection::group_by_key).
///
/// Source: Beam's `ToString`, whose default delimiter is a comma too.
#[derive(Clone, Debug)]
pub struct ToString<K>(K);

/// Elements as they are, see [`ToString::elements`].
#[derive(Clone, Copy, Debug)]
pub struct Elements;

/// Pairs, see [`ToString::kvs`].
#[derive(Clone, Debug)]
pub struct Kvs(String);

/// Lists, see [`ToString::iterables`].
#[derive(Clone, Debug)]
pub struct Iterables(String);

impl ToString<Elements> {
    /// Each element as it is displayed.
    pub fn elements() -> ToString<Elements> {
        ToString(Elements)
    }
}

impl ToString<Kvs> {
    /// Each pair as its key, a comma, and its value.
    pub fn kvs() -> ToString<Kvs> {
        ToString(Kvs(",".to_owned()))
    }

    /// With this between key and value instead.
    #[must_use]
    pub fn delimiter(self, delimiter: impl Into<String>) -> ToString<Kvs> {
        ToString(Kvs(delimiter.into()))
    }
}

impl ToString<Iterables> {
    /// Each list as what is in it, with commas in between. An empty list is empty text.
    pub fn iterables() -> ToString<Iterables> {
        ToString(Iterables(",".to_owned()))
    }

    /// With this in between instead.
    #[must_use]
    pub fn delimiter(self, delimiter: impl Into<String>) -> ToString<Iterables> {
        ToString(Iterables(delimiter.into()))
    }
}

impl<T: Element + Display> PTransform<PCollection<T>> for ToString<Elements> {
    type Out = PCollection<String>;

    fn expand(self, input: PCollection<T>) -> PCollection<String> {
        input.map("ToString", |x| format!("{x}"))
    }
}

impl<K: Element + Display, V: Element + Display> PTransform<PCollection<(K, V)>> for ToString<Kvs> {
    type Out = PCollection<String>;

    fn expand(self, input: PCollection<(K, V)>) -> PCollection<String> {
        let delimiter = self.0.0;
        input.map("ToString", move |(key, value)| format!("{key}{delimiter}{value}"))
    }
}

impl<T, L> PTransform<PCollection<L>> for ToString<Iterables>
where
    T: Display,
    L: Element + IntoIterator<Item = T>,
{
    type Out = PCollection<String>;

    fn expand(self, input: PCollection<L>) -> PCollection<String> {
        let delimiter = self.0.0;
        input.map("ToString", move |list| {
            let texts: Vec<String> = list.into_iter().map(|x| format!("{x}")).collect();
            texts.join(&delimiter)
        })
    }
}
