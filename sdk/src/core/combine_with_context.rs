//! Combining with a look at side inputs.

use std::{fmt, panic::Location, sync::Arc};

use super::{combine::globally, group_by_key::group, group_by_key_at};
use crate::{
    DoFn, Element, Emitter, Grouped, Key, PCollection, PTransform, ParDo, ProcessContext, Result, View,
    exec::ListFold, window::Window,
};

/// A [`CombineFn`](crate::CombineFn) that may look at side inputs and options, and that may fail.
///
/// Its input is grouped first and combined then, by [`CombineWithContext`]: what it makes may depend on the side input of
/// the window, which is known only when the window is (a session, for one, when it is complete).
///
/// ```
/// use purlin_sdk::{CombineContext, CombineFnWithContext, CombineWithContext, Pipeline, Result, View};
///
/// /// A sum of what is not above a limit.
/// #[derive(Clone)]
/// struct SumUpTo { limit: View<i64> }
///
/// impl CombineFnWithContext for SumUpTo {
///     type Input = i64;
///     type Accumulator = i64;
///     type Output = i64;
///     fn create(&self, _: &CombineContext<'_>) -> Result<i64> { Ok(0) }
///     fn add_input(&self, sum: &mut i64, x: i64, cx: &CombineContext<'_>) -> Result {
///         if x <= cx.side(&self.limit)? { *sum += x; }
///         Ok(())
///     }
///     fn extract(&self, sum: i64, _: &CombineContext<'_>) -> Result<i64> { Ok(sum) }
/// }
///
/// let p = Pipeline::new();
/// let limit = p.create("Limit", [10_i64]).view_as_singleton("AsSingleton");
/// p.create("Amounts", [("tea".to_owned(), 3_i64), ("tea".to_owned(), 30)])
///     .apply("Sum", CombineWithContext::per_key(SumUpTo { limit: limit.clone() }).side(&limit));
/// # assert!(p.build().is_ok());
/// ```
/// Source: Beam's `CombineFnWithContext`.
pub trait CombineFnWithContext: Clone + Send + 'static {
    /// What is combined.
    type Input: Element;
    /// What is kept meanwhile.
    type Accumulator;
    /// What comes of it.
    type Output: Element;

    /// The combination of nothing.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn create(&self, cx: &CombineContext<'_>) -> Result<Self::Accumulator>;

    /// Takes one more value in.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn add_input(
        &self,
        accumulator: &mut Self::Accumulator,
        input: Self::Input,
        cx: &CombineContext<'_>,
    ) -> Result;

    /// What the accumulator says.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn extract(&self, accumulator: Self::Accumulator, cx: &CombineContext<'_>) -> Result<Self::Output>;
}

/// What a [`CombineFnWithContext`] may ask.
pub struct CombineContext<'a>(&'a ProcessContext<'a>);

impl CombineContext<'_> {
    /// The side input, for the window that is combined. It must have been given, by [`CombineWithContext::side`].
    ///
    /// # Errors
    /// When it was not given, when a singleton has no value and no default or several values, when the view's window
    /// function has no window there.
    pub fn side<V: Clone + Send + Sync + 'static>(&self, view: &View<V>) -> Result<V> {
        self.0.side(view)
    }

    /// The window that is combined, merged if its windows merge.
    pub fn window(&self) -> Window {
        self.0.window()
    }

    /// The pipeline's own options.
    ///
    /// # Errors
    /// When the pipeline was built with options of another type.
    pub fn options<O: 'static>(&self) -> Result<&O> {
        self.0.options()
    }
}

impl fmt::Debug for CombineContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "combining in {}", self.window())
    }
}

/// Combines by a [`CombineFnWithContext`], per key and window or per window.
#[derive(Clone, Debug)]
pub struct CombineWithContext<C, Scope> {
    combine: C,
    views: Vec<Arc<str>>,
    scope: Scope,
}

/// The values of each key, see [`CombineWithContext::per_key`].
#[derive(Clone, Copy, Debug)]
pub struct PerKeyWithContext;

/// All elements of a window, see [`CombineWithContext::globally`].
#[derive(Clone, Copy, Debug)]
pub struct GloballyWithContext {
    defaults: bool,
}

impl<C: CombineFnWithContext> CombineWithContext<C, PerKeyWithContext> {
    /// Combines the values of each key.
    pub fn per_key(combine: C) -> Self {
        CombineWithContext { combine, views: Vec::new(), scope: PerKeyWithContext }
    }
}

impl<C: CombineFnWithContext> CombineWithContext<C, GloballyWithContext> {
    /// Combines all elements of a window to one. In the global window an empty collection gives the combination of
    /// nothing; in other windows say [`without_defaults`](Self::without_defaults).
    pub fn globally(combine: C) -> Self {
        CombineWithContext { combine, views: Vec::new(), scope: GloballyWithContext { defaults: true } }
    }

    /// Gives nothing for a window without elements, instead of the combination of nothing.
    #[must_use]
    pub fn without_defaults(mut self) -> Self {
        self.scope.defaults = false;
        self
    }
}

impl<C, Scope> CombineWithContext<C, Scope> {
    /// Lets the combine function read `view`. May be called several times.
    #[must_use]
    pub fn side<V>(mut self, view: &View<V>) -> Self {
        self.views.push(view.path().clone());
        self
    }
}

impl<K: Key, C: CombineFnWithContext> PTransform<PCollection<(K, C::Input)>>
    for CombineWithContext<C, PerKeyWithContext>
{
    type Out = PCollection<(K, C::Output)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, C::Input)>) -> Self::Out {
        let grouped = group_by_key_at(&input, "Group", Location::caller());
        combined(&grouped, self.combine, self.views)
    }
}

impl<C: CombineFnWithContext> PTransform<PCollection<C::Input>>
    for CombineWithContext<C, GloballyWithContext>
{
    type Out = PCollection<C::Output>;

    #[track_caller]
    fn expand(self, input: PCollection<C::Input>) -> Self::Out {
        let site = Location::caller();
        globally(&input, self.scope.defaults, |keyed, default_key| {
            let step = input.pipeline().name("Group", site);
            let grouped = group(keyed, step, ListFold::<C::Input>::default(), default_key);
            combined(&grouped, self.combine, self.views)
        })
    }
}

fn combined<K: Element, C: CombineFnWithContext>(
    grouped: &PCollection<(K, Grouped<C::Input>)>,
    combine: C,
    views: Vec<Arc<str>>,
) -> PCollection<(K, C::Output)> {
    let dofn = CombineGroups { combine, key: std::marker::PhantomData };
    grouped.par_do_with("Combine", ParDo::of(dofn).sides(views)).main()
}

/// Combines values that are grouped.
struct CombineGroups<K, C> {
    combine: C,
    key: std::marker::PhantomData<fn() -> K>,
}

impl<K, C: Clone> Clone for CombineGroups<K, C> {
    fn clone(&self) -> Self {
        CombineGroups { combine: self.combine.clone(), key: self.key }
    }
}

impl<K: Element, C: CombineFnWithContext> DoFn for CombineGroups<K, C> {
    type Input = (K, Grouped<C::Input>);
    type Output = (K, C::Output);

    fn process(
        &mut self,
        (key, values): Self::Input,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, Self::Output>,
    ) -> Result {
        let cx = CombineContext(cx);
        let mut accumulator = self.combine.create(&cx)?;
        for value in values {
            self.combine.add_input(&mut accumulator, value, &cx)?;
        }
        out.emit((key, self.combine.extract(accumulator, &cx)?));
        Ok(())
    }
}
