//! Closures on single elements.

use std::{marker::PhantomData, panic::Location, sync::Arc};

use super::{PCollection, ParDo};
use crate::{
    DoFn, Element, Emitter, Failed, ProcessContext, Result, Tag,
    coder_slot::CoderSlot,
    exec::{FilterFactory, FlatMapFactory, MapFactory},
};

impl<T: Element> PCollection<T> {
    /// Replaces each element by what `f` makes of it.
    #[track_caller]
    pub fn map<O: Element, F>(&self, name: &str, f: F) -> PCollection<O>
    where
        F: Fn(T) -> O + Clone + Send + 'static,
    {
        let coder = CoderSlot::default_of_type();
        let factory = MapFactory::new(f, coder.clone());
        self.element_wise(name, Location::caller(), Arc::new(factory), coder)
    }

    /// Keeps the elements for which `f` says so.
    #[track_caller]
    pub fn filter<F>(&self, name: &str, f: F) -> PCollection<T>
    where
        F: Fn(&T) -> bool + Clone + Send + 'static,
    {
        let coder = self.coder_slot().copied();
        let factory = FilterFactory::new(f, coder.clone());
        self.element_wise(name, Location::caller(), Arc::new(factory), coder)
    }

    /// Replaces each element by all that `f` makes of it.
    #[track_caller]
    pub fn flat_map<O, I, F>(&self, name: &str, f: F) -> PCollection<O>
    where
        O: Element,
        I: IntoIterator<Item = O>,
        F: Fn(T) -> I + Clone + Send + 'static,
    {
        let coder = CoderSlot::default_of_type();
        let factory = FlatMapFactory::new(f, coder.clone());
        self.element_wise(name, Location::caller(), Arc::new(factory), coder)
    }

    /// Like [`map`](Self::map), for a closure that also looks at the element's timestamp, window and pane, or may fail.
    #[track_caller]
    pub fn map_cx<O: Element, F>(&self, name: &str, f: F) -> PCollection<O>
    where
        F: Fn(T, &ProcessContext<'_>) -> Result<O> + Clone + Send + 'static,
    {
        self.par_do(name, MapCx { f, types: PhantomData::<fn(T) -> O> })
    }

    /// Like [`filter`](Self::filter), for a closure that also looks at the element's timestamp, window and pane, or may
    /// fail.
    #[track_caller]
    pub fn filter_cx<F>(&self, name: &str, f: F) -> PCollection<T>
    where
        F: Fn(&T, &ProcessContext<'_>) -> Result<bool> + Clone + Send + 'static,
    {
        self.par_do(name, FilterCx { f, types: PhantomData::<fn(T)> })
    }

    /// Like [`flat_map`](Self::flat_map), for a closure that emits, and that looks at the element's timestamp, window
    /// and pane.
    #[track_caller]
    pub fn flat_map_cx<O: Element, F>(&self, name: &str, f: F) -> PCollection<O>
    where
        F: Fn(T, &ProcessContext<'_>, &mut Emitter<'_, O>) -> Result + Clone + Send + 'static,
    {
        self.par_do_with(name, ParDo::from_fn(f)).main()
    }

    /// Replaces each element by what `f` makes of it; elements for which it fails come out of the second collection,
    /// with their error.
    ///
    /// ```
    /// # use purlin_sdk::{Pipeline, Result};
    /// # let p = Pipeline::new();
    /// let (numbers, bad) = p
    ///     .create("Text", ["1", "two"].map(str::to_owned))
    ///     .try_map("Parse", |s: &String| -> Result<i64> { Ok(s.parse()?) });
    /// ```
    #[track_caller]
    pub fn try_map<O: Element, F>(&self, name: &str, f: F) -> (PCollection<O>, PCollection<Failed<T>>)
    where
        F: Fn(&T) -> Result<O> + Clone + Send + 'static,
    {
        let tag = Tag::<Failed<T>>::new("failed");
        let parts =
            self.par_do_with(name, ParDo::of(TryMap { f, tag, types: PhantomData::<fn(T) -> O> }).tag(tag));
        (parts.main(), parts.tagged(tag))
    }
}

macro_rules! clone_closure {
    ($name:ident <$($T:ident),+>) => {
        impl<$($T,)+ F: Clone> Clone for $name<$($T,)+ F> {
            fn clone(&self) -> Self {
                $name { f: self.f.clone(), types: PhantomData }
            }
        }
    };
}

struct MapCx<T, O, F> {
    f: F,
    types: PhantomData<fn(T) -> O>,
}

clone_closure!(MapCx<T, O>);

impl<T: Element, O: Element, F> DoFn for MapCx<T, O, F>
where
    F: Fn(T, &ProcessContext<'_>) -> Result<O> + Clone + Send + 'static,
{
    type Input = T;
    type Output = O;
    fn process(&mut self, element: T, cx: &ProcessContext<'_>, out: &mut Emitter<'_, O>) -> Result {
        out.emit((self.f)(element, cx)?);
        Ok(())
    }
}

struct FilterCx<T, F> {
    f: F,
    types: PhantomData<fn(T)>,
}

clone_closure!(FilterCx<T>);

impl<T: Element, F> DoFn for FilterCx<T, F>
where
    F: Fn(&T, &ProcessContext<'_>) -> Result<bool> + Clone + Send + 'static,
{
    type Input = T;
    type Output = T;
    fn process(&mut self, element: T, cx: &ProcessContext<'_>, out: &mut Emitter<'_, T>) -> Result {
        if (self.f)(&element, cx)? {
            out.emit(element);
        }
        Ok(())
    }
}

struct TryMap<T, O, F> {
    f: F,
    tag: Tag<Failed<T>>,
    types: PhantomData<fn(T) -> O>,
}

impl<T, O, F: Clone> Clone for TryMap<T, O, F> {
    fn clone(&self) -> Self {
        TryMap { f: self.f.clone(), tag: self.tag, types: PhantomData }
    }
}

impl<T: Element, O: Element, F> DoFn for TryMap<T, O, F>
where
    F: Fn(&T) -> Result<O> + Clone + Send + 'static,
{
    type Input = T;
    type Output = O;
    fn process(&mut self, element: T, cx: &ProcessContext<'_>, out: &mut Emitter<'_, O>) -> Result {
        match (self.f)(&element) {
            Ok(value) => out.emit(value),
            Err(e) => {
                let letter = Failed { element, error: e.to_string(), step: cx.path().to_owned() };
                out.emit_to(self.tag, letter);
            }
        }
        Ok(())
    }
}

/// A closure as a DoFn, see [`ParDo::from_fn`].
#[derive(Debug)]
pub struct FnDoFn<T, O, F> {
    pub(super) f: F,
    pub(super) types: PhantomData<fn(T) -> O>,
}

clone_closure!(FnDoFn<T, O>);

impl<T: Element, O: Element, F> DoFn for FnDoFn<T, O, F>
where
    F: Fn(T, &ProcessContext<'_>, &mut Emitter<'_, O>) -> Result + Clone + Send + 'static,
{
    type Input = T;
    type Output = O;
    fn process(&mut self, element: T, cx: &ProcessContext<'_>, out: &mut Emitter<'_, O>) -> Result {
        (self.f)(element, cx, out)
    }
}
