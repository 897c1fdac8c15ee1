//! Collections as side inputs.

use std::{panic::Location, sync::Arc};

use super::PCollection;
use crate::{
    Element, Key,
    exec::{ViewOp, ViewShape, view as views},
    graph::Op,
    view::{ListView, MapView, MultimapView, View},
};

impl<T: Element> PCollection<T> {
    /// The collection's one element, per window. Reading it when there is none or several is an error.
    #[track_caller]
    pub fn view_as_singleton(&self, name: &str) -> View<T> {
        self.view_at(name, Location::caller(), views::AsSingleton { default: None })
    }

    /// The collection's one element, per window, or `default` where there is none.
    #[track_caller]
    pub fn view_as_singleton_or(&self, name: &str, default: T) -> View<T> {
        self.view_at(name, Location::caller(), views::AsSingleton { default: Some(default) })
    }

    /// All elements, per window.
    #[track_caller]
    pub fn view_as_list(&self, name: &str) -> View<ListView<T>> {
        self.view_at(name, Location::caller(), views::AsList)
    }

    fn view_at<S: ViewShape<T>>(
        &self,
        name: &str,
        site: &'static Location<'static>,
        shape: S,
    ) -> View<S::Value> {
        let pipeline = self.pipeline();
        let step = pipeline.name(name, site);
        let windowing = self.windowing();
        if windowing.window_fn.is_merging() {
            pipeline.error(
                &step,
                format!(
                    "a collection in {windowing} cannot be a side input: which window an element looks at would depend \
                     on data to come; put it into fixed windows first"
                ),
            );
        }
        if !self.is_bounded() && windowing.window_fn.is_global() {
            pipeline.error(
                &step,
                "a side input of an unbounded collection in the global window is never ready: its end never comes. \
                 Put the collection into windows by `window_into`, or read it as a bounded one",
            );
        }
        let path: Arc<str> = step.path().into();
        pipeline.add(step, vec![self.id()], Op::View(Arc::new(ViewOp::<T, S>::new(shape))));
        View::new(path)
    }
}

// As for groupings: that `K` is a key is asked by each method.
impl<K: Element, V: Element> PCollection<(K, V)> {
    /// One value a key, per window. Reading it when a key is there twice is an error.
    #[track_caller]
    pub fn view_as_map(&self, name: &str) -> View<MapView<K, V>>
    where
        K: Key,
    {
        self.view_at(name, Location::caller(), views::AsMap)
    }

    /// All values of each key, per window.
    #[track_caller]
    pub fn view_as_multimap(&self, name: &str) -> View<MultimapView<K, V>>
    where
        K: Key,
    {
        self.view_at(name, Location::caller(), views::AsMultimap)
    }
}
