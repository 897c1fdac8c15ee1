//! Runs of `map`, `filter` and `flat_map` compiled into one loop.

use std::{marker::PhantomData, panic::Location};

use crate::{
    Element, Step,
    exec::{FusedStep, Sieve},
};

/// A typed run of closures from `I` to `O`. Implemented by what [`Fused`]'s methods make.
pub trait FusedChain<I, O>: Clone + Send + 'static {
    /// Whether at most one element comes of each.
    #[doc(hidden)]
    const AT_MOST_ONE: bool;

    /// Runs one element through, and hands what comes of it to `sink`.
    #[doc(hidden)]
    fn run(&self, input: I, sink: &mut impl FnMut(O));

    /// Runs a few elements through, 64 at most, step by step rather than element by element where that is faster. Hands
    /// what comes of them to `sink`, with the number that the element has among them.
    #[doc(hidden)]
    fn run_chunk(&self, input: impl Iterator<Item = I>, sink: &mut impl FnMut(usize, O));
}

/// The run so far, inside [`PCollection::fused`](crate::PCollection::fused).
///
/// The closures keep their types, so that rustc makes one loop of them; each still has a name, which errors give.
///
/// ```
/// # use purlin_sdk::Pipeline;
/// # fn build(p: &Pipeline) {
/// let prices = p.create("Prices", [120_u64, 80, 300]);
/// let taxed = prices.fused("Tax", |s| {
///     s.map("Add", |p| p * 119 / 100).filter("Dear", |p| *p > 100)
/// });
/// # }
/// ```
#[derive(Debug)]
pub struct Fused<I, O, C> {
    path: String,
    names: Vec<(String, &'static Location<'static>)>,
    chain: C,
    types: PhantomData<fn(I) -> O>,
}

impl<T> Fused<T, T, Start> {
    pub(crate) fn new(path: String) -> Fused<T, T, Start> {
        Fused { path, names: Vec::new(), chain: Start, types: PhantomData }
    }
}

impl<I: Element, O: Element, C: FusedChain<I, O>> Fused<I, O, C> {
    /// Replaces each element by what `f` makes of it.
    #[track_caller]
    pub fn map<P: Element, F>(self, name: &str, f: F) -> Fused<I, P, MapStep<C, O, F>>
    where
        F: Fn(O) -> P + Clone + Send + 'static,
    {
        self.then(name, |before, step| MapStep { before, f, step, types: PhantomData })
    }

    /// Keeps the elements for which `f` says so.
    #[track_caller]
    pub fn filter<F>(self, name: &str, f: F) -> Fused<I, O, FilterStep<C, F>>
    where
        F: Fn(&O) -> bool + Clone + Send + 'static,
    {
        self.then(name, |before, step| FilterStep { before, f, step })
    }

    /// Replaces each element by all that `f` makes of it.
    #[track_caller]
    pub fn flat_map<P: Element, R, F>(self, name: &str, f: F) -> Fused<I, P, FlatMapStep<C, O, F>>
    where
        R: IntoIterator<Item = P>,
        F: Fn(O) -> R + Clone + Send + 'static,
    {
        self.then(name, |before, step| FlatMapStep { before, f, step, types: PhantomData })
    }

    #[track_caller]
    fn then<P, D>(self, name: &str, make: impl FnOnce(C, FusedStep) -> D) -> Fused<I, P, D> {
        let Fused { path, mut names, chain, .. } = self;
        let site = Location::caller();
        names.push((name.to_owned(), site));
        let step = FusedStep::new(Step::new(format!("{path}/{name}"), site));
        Fused { path, names, chain: make(chain, step), types: PhantomData }
    }

    pub(crate) fn into_parts(self) -> (Vec<(String, &'static Location<'static>)>, C) {
        (self.names, self.chain)
    }
}

/// The start of a fused run: the element as it came.
#[derive(Clone, Debug)]
pub struct Start;

impl<T: Element> FusedChain<T, T> for Start {
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn run(&self, input: T, sink: &mut impl FnMut(T)) {
        sink(input);
    }

    #[inline(always)]
    fn run_chunk(&self, input: impl Iterator<Item = T>, sink: &mut impl FnMut(usize, T)) {
        input.enumerate().for_each(|(i, x)| sink(i, x));
    }
}

/// A `map` in a fused run.
#[derive(Debug)]
pub struct MapStep<C, M, F> {
    before: C,
    f: F,
    step: FusedStep,
    types: PhantomData<fn(M)>,
}

impl<C: Clone, M, F: Clone> Clone for MapStep<C, M, F> {
    fn clone(&self) -> Self {
        MapStep {
            before: self.before.clone(),
            f: self.f.clone(),
            step: self.step.clone(),
            types: PhantomData,
        }
    }
}

impl<I, M, O, C, F> FusedChain<I, O> for MapStep<C, M, F>
where
    M: 'static,
    C: FusedChain<I, M>,
    F: Fn(M) -> O + Clone + Send + 'static,
{
    const AT_MOST_ONE: bool = C::AT_MOST_ONE;

    #[inline(always)]
    fn run(&self, input: I, sink: &mut impl FnMut(O)) {
        self.before.run(input, &mut |m| sink(self.step.call(|| (self.f)(m))));
    }

    #[inline(always)]
    fn run_chunk(&self, input: impl Iterator<Item = I>, sink: &mut impl FnMut(usize, O)) {
        self.before.run_chunk(input, &mut |i, m| sink(i, self.step.call(|| (self.f)(m))));
    }
}

/// A `filter` in a fused run.
#[derive(Clone, Debug)]
pub struct FilterStep<C, F> {
    before: C,
    f: F,
    step: FusedStep,
}

impl<I, O, C, F> FusedChain<I, O> for FilterStep<C, F>
where
    C: FusedChain<I, O>,
    F: Fn(&O) -> bool + Clone + Send + 'static,
{
    const AT_MOST_ONE: bool = C::AT_MOST_ONE;

    #[inline(always)]
    fn run(&self, input: I, sink: &mut impl FnMut(O)) {
        self.before.run(input, &mut |m| {
            if self.step.call(|| (self.f)(&m)) {
                sink(m);
            }
        });
    }

    #[inline(always)]
    fn run_chunk(&self, input: impl Iterator<Item = I>, sink: &mut impl FnMut(usize, O)) {
        let stays = |m: &O| self.step.call(|| (self.f)(m));
        if Sieve::<O>::PAYS {
            let mut sieve = Sieve::new();
            self.before.run_chunk(input, &mut |i, m| {
                let stay = stays(&m);
                sieve.add(i, m, stay);
            });
            return sieve.drain(sink);
        }
        self.before.run_chunk(input, &mut |i, m| {
            if stays(&m) {
                sink(i, m);
            }
        });
    }
}

/// A `flat_map` in a fused run.
#[derive(Debug)]
pub struct FlatMapStep<C, M, F> {
    before: C,
    f: F,
    step: FusedStep,
    types: PhantomData<fn(M)>,
}

impl<C: Clone, M, F: Clone> Clone for FlatMapStep<C, M, F> {
    fn clone(&self) -> Self {
        FlatMapStep {
            before: self.before.clone(),
            f: self.f.clone(),
            step: self.step.clone(),
            types: PhantomData,
        }
    }
}

impl<I, M, O, R, C, F> FusedChain<I, O> for FlatMapStep<C, M, F>
where
    M: 'static,
    C: FusedChain<I, M>,
    R: IntoIterator<Item = O>,
    F: Fn(M) -> R + Clone + Send + 'static,
{
    const AT_MOST_ONE: bool = false;

    #[inline(always)]
    fn run(&self, input: I, sink: &mut impl FnMut(O)) {
        self.before.run(input, &mut |m| {
            let mut all = self.step.call(|| (self.f)(m).into_iter());
            while let Some(o) = self.step.call(|| all.next()) {
                sink(o);
            }
        });
    }

    #[inline(always)]
    fn run_chunk(&self, input: impl Iterator<Item = I>, sink: &mut impl FnMut(usize, O)) {
        self.before.run_chunk(input, &mut |i, m| {
            let mut all = self.step.call(|| (self.f)(m).into_iter());
            while let Some(o) = self.step.call(|| all.next()) {
                sink(i, o);
            }
        });
    }
}
