//! Collections as side inputs.

use std::{panic::Location, sync::Arc};

use super::PCollection;
use crate::{
    Element, Key,
    exec::{ViewOp, ViewShape, view as views},
    graph::Op,
    view::{ListView, MapView, MultimapView, View},
};

/// Side inputs. Where the collection's trigger fires more than once, a reader sees what there is at the time, whether its
/// panes discard or accumulate:
///
/// - a singleton is what the latest firing said;
/// - a map has for each key what the latest firing with that key said;
/// - a list or multimap has the elements of all firings so far. One that is to be replaced as a whole is one element:
///   combine it to a list first, and read that as a singleton.
///
/// Of what a grouping fired, its later firing is the latest. So a sum that accumulates can be read as a singleton, and sums
/// per key as a map.
impl<T: Element> PCollection<T> {
    /// The collection's one element, per window. Reading it when there is none, or several of one firing, is an error.
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
        if !self.is_bounded()
            && windowing.window_fn.is_global()
            && !windowing.trigger.goes_on_without_an_end()
        {
            pipeline.error(
                &step,
                format!(
                    "a side input of an unbounded collection in the global window, whose end never comes, is never \
                     ready under the trigger {}. Three ways out: put the collection into windows by `window_into`; set \
                     a trigger that fires before the end, such as `Trigger::repeatedly(Trigger::after_count(1))`, to \
                     read what there is so far; or read a bounded input",
                    windowing.trigger
                ),
            );
        }
        if let Err(reason) = windowing.check_trigger() {
            pipeline.error(&step, reason);
        }
        let path: Arc<str> = step.path().into();
        pipeline.add(step, vec![self.id()], Op::View(Arc::new(ViewOp::<T, S>::new(shape, windowing))));
        View::new(path)
    }
}

// As for groupings: that `K` is a key is asked by each method.
impl<K: Element, V: Element> PCollection<(K, V)> {
    /// One value a key, per window. Reading it when one firing has a key twice is an error.
    #[track_caller]
    pub fn view_as_map(&self, name: &str) -> View<MapView<K, V>>
    where
        K: Key,
    {
        self.coder_slot().compare(|a, b| a.0 == b.0);
        self.view_at(name, Location::caller(), views::AsMap)
    }

    /// All values of each key, per window.
    #[track_caller]
    pub fn view_as_multimap(&self, name: &str) -> View<MultimapView<K, V>>
    where
        K: Key,
    {
        self.coder_slot().compare(|a, b| a.0 == b.0);
        self.view_at(name, Location::caller(), views::AsMultimap)
    }
}
