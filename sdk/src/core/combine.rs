//! Combining as a transform.

use std::panic::Location;

use super::{
    fanout::precombined,
    group_by_key::{group, group_with_late},
};
use crate::{
    CombineFn, Element, Grouped, Key, PCollection, PTransform,
    exec::{CombineFold, PartialFold},
};

/// Combines with options; without any there are [`PCollection::combine_globally`] and
/// [`PCollection::combine_per_key`].
///
/// ```
/// # use purlin_sdk::{Combine, CombineFn, Duration, Pipeline, window::FixedWindows};
/// # #[derive(Clone)] struct Sum;
/// # impl CombineFn for Sum {
/// #     type Input = i64; type Accumulator = i64; type Output = i64;
/// #     fn create(&self) -> i64 { 0 }
/// #     fn add_input(&self, a: &mut i64, x: i64) { *a += x }
/// #     fn merge(&self, a: &mut i64, b: i64) { *a += b }
/// #     fn extract(&self, a: i64) -> i64 { a }
/// # }
/// # let p = Pipeline::new();
/// p.create("Amounts", [1_i64, 2])
///     .window_into("Minutes", FixedWindows::of(Duration::from_minutes(1)))
///     .apply("Sum", Combine::globally(Sum).without_defaults());
/// ```
#[derive(Clone, Debug)]
pub struct Combine<C, Scope> {
    combine: C,
    scope: Scope,
}

/// All elements of a window, see [`Combine::globally`].
#[derive(Clone, Copy, Debug)]
pub struct Globally {
    defaults: bool,
}

/// The values of each key, see [`Combine::per_key`].
#[derive(Clone, Copy, Debug)]
pub struct PerKey;

/// A scope whose values are combined in parts first, see [`Combine::with_fanout`] and
/// [`Combine::with_hot_key_fanout`].
#[derive(Clone, Copy, Debug)]
pub struct Fanout<Scope> {
    scope: Scope,
    parts: usize,
}

/// The values of each key, with those that came too late beside the results, see [`Combine::with_late_data`].
#[derive(Clone, Copy, Debug)]
pub struct WithLateData;

/// Values that are grouped already, see [`Combine::grouped_values`].
#[derive(Clone, Copy, Debug)]
pub struct GroupedValues;

impl<C: CombineFn> Combine<C, Globally> {
    /// Combines all elements of a window to one.
    pub fn globally(combine: C) -> Combine<C, Globally> {
        Combine { combine, scope: Globally { defaults: true } }
    }

    /// Gives nothing for a window without elements, instead of the combination of nothing.
    #[must_use]
    pub fn without_defaults(mut self) -> Combine<C, Globally> {
        self.scope.defaults = false;
        self
    }

    /// Combines the elements in `fanout` parts first, which may be in several bundles at once, and merges what comes
    /// of them. The result is the same. 1 changes nothing, and 0 is a build error; see
    /// [`with_hot_key_fanout`](Combine::with_hot_key_fanout).
    ///
    /// ```
    /// # use purlin_sdk::{Combine, CombineFn, Pipeline};
    /// # #[derive(Clone)] struct Sum;
    /// # impl CombineFn for Sum {
    /// #     type Input = i64; type Accumulator = i64; type Output = i64;
    /// #     fn create(&self) -> i64 { 0 }
    /// #     fn add_input(&self, a: &mut i64, x: i64) { *a += x }
    /// #     fn merge(&self, a: &mut i64, b: i64) { *a += b }
    /// #     fn extract(&self, a: i64) -> i64 { a }
    /// # }
    /// # let p = Pipeline::new();
    /// p.create("Amounts", 1..=1000_i64).apply("Sum", Combine::globally(Sum).with_fanout(8));
    /// # p.build().unwrap();
    /// ```
    #[must_use]
    pub fn with_fanout(self, fanout: usize) -> Combine<C, Fanout<Globally>> {
        Combine { combine: self.combine, scope: Fanout { scope: self.scope, parts: fanout } }
    }
}

impl<C: CombineFn> Combine<C, Fanout<Globally>> {
    /// Gives nothing for a window without elements, instead of the combination of nothing.
    #[must_use]
    pub fn without_defaults(mut self) -> Self {
        self.scope.scope.defaults = false;
        self
    }
}

impl<C: CombineFn> Combine<C, PerKey> {
    /// Combines the values of each key.
    pub fn per_key(combine: C) -> Combine<C, PerKey> {
        Combine { combine, scope: PerKey }
    }

    /// Also gives what came for a window when it was expired, as it came, instead of dropping it; see
    /// [`GroupByKey::with_late_data`](crate::GroupByKey::with_late_data).
    ///
    /// ```
    /// # use purlin_sdk::{Combine, CombineFn, Duration, Pipeline, window::FixedWindows};
    /// # #[derive(Clone)] struct Sum;
    /// # impl CombineFn for Sum {
    /// #     type Input = i64; type Accumulator = i64; type Output = i64;
    /// #     fn create(&self) -> i64 { 0 }
    /// #     fn add_input(&self, a: &mut i64, x: i64) { *a += x }
    /// #     fn merge(&self, a: &mut i64, b: i64) { *a += b }
    /// #     fn extract(&self, a: i64) -> i64 { a }
    /// # }
    /// # let p = Pipeline::new();
    /// let (sums, late) = p
    ///     .create("Amounts", [("tea".to_owned(), 1_i64)])
    ///     .window_into("Minutes", FixedWindows::of(Duration::from_minutes(1)))
    ///     .apply("Sum", Combine::per_key(Sum).with_late_data());
    /// # let _ = (sums, late);
    /// # p.build().unwrap();
    /// ```
    #[must_use]
    pub fn with_late_data(self) -> Combine<C, WithLateData> {
        Combine { combine: self.combine, scope: WithLateData }
    }

    /// Combines the values of each key in `fanout` parts first, and merges what comes of them: for keys that have very
    /// many values, or values that take long to add. The result is the same, and so are panes, as far as they do not
    /// hang on how elements are cut into bundles: what is combined first is only what is new, also where panes
    /// accumulate. 1 changes nothing, and 0 is a build error.
    ///
    /// The parts of a key are in different bundles, which may run at once, up to 1024 of them. Without a fan-out a key's
    /// values meet in one place where windows merge, fire more than once or wait for late data; in other windows every
    /// worker combines what it has before anything is sent, so that a fan-out pays there only when one worker has it
    /// all.
    ///
    /// Source: Beam's `Combine.PerKey.withHotKeyFanout`.
    #[must_use]
    pub fn with_hot_key_fanout(self, fanout: usize) -> Combine<C, Fanout<PerKey>> {
        Combine { combine: self.combine, scope: Fanout { scope: self.scope, parts: fanout } }
    }
}

impl<C: CombineFn> Combine<C, GroupedValues> {
    /// Combines the values of each group that [`PCollection::group_by_key`] made.
    pub fn grouped_values(combine: C) -> Combine<C, GroupedValues> {
        Combine { combine, scope: GroupedValues }
    }
}

impl<C: CombineFn> PTransform<PCollection<C::Input>> for Combine<C, Globally> {
    type Out = PCollection<C::Output>;

    #[track_caller]
    fn expand(self, input: PCollection<C::Input>) -> PCollection<C::Output> {
        combine_globally(&input, self.combine, self.scope.defaults)
    }
}

impl<C: CombineFn> PTransform<PCollection<C::Input>> for Combine<C, Fanout<Globally>> {
    type Out = PCollection<C::Output>;

    #[track_caller]
    fn expand(self, input: PCollection<C::Input>) -> PCollection<C::Output> {
        let Combine { combine, scope: Fanout { scope, parts } } = self;
        let site = Location::caller();
        globally(&input, scope.defaults, |keyed, default_key| {
            combine_in_parts(keyed, site, combine, default_key, parts)
        })
    }
}

impl<K: Key, C: CombineFn> PTransform<PCollection<(K, C::Input)>> for Combine<C, Fanout<PerKey>> {
    type Out = PCollection<(K, C::Output)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, C::Input)>) -> PCollection<(K, C::Output)> {
        combine_in_parts(&input, Location::caller(), self.combine, None, self.scope.parts)
    }
}

impl<K: Key, C: CombineFn> PTransform<PCollection<(K, C::Input)>> for Combine<C, PerKey> {
    type Out = PCollection<(K, C::Output)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, C::Input)>) -> PCollection<(K, C::Output)> {
        let site = Location::caller();
        combine_per_key_at(&input, "Combine", site, self.combine)
    }
}

impl<K: Key, C: CombineFn> PTransform<PCollection<(K, C::Input)>> for Combine<C, WithLateData> {
    type Out = (PCollection<(K, C::Output)>, PCollection<(K, C::Input)>);

    #[track_caller]
    fn expand(self, input: PCollection<(K, C::Input)>) -> Self::Out {
        let step = input.pipeline().name(COMBINE, Location::caller());
        group_with_late(&input, step, CombineFold(self.combine))
    }
}

impl<K: Element, C: CombineFn> PTransform<PCollection<(K, Grouped<C::Input>)>> for Combine<C, GroupedValues> {
    type Out = PCollection<(K, C::Output)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, Grouped<C::Input>)>) -> PCollection<(K, C::Output)> {
        let combine = self.combine;
        input.map("Combine", move |(key, values): (K, Grouped<C::Input>)| {
            let mut acc = combine.create();
            for value in values {
                combine.add_input(&mut acc, value);
            }
            (key, combine.extract(acc))
        })
    }
}

#[track_caller]
pub(crate) fn combine_globally<C: CombineFn>(
    input: &PCollection<C::Input>,
    combine: C,
    defaults: bool,
) -> PCollection<C::Output> {
    let site = Location::caller();
    globally(input, defaults, |keyed, default_key| {
        group(keyed, input.pipeline().name(COMBINE, site), CombineFold(combine), default_key)
    })
}

/// Combines everything under the unit key; `combined` is given what to combine, and the key that has a value for nothing.
#[track_caller]
pub(super) fn globally<T: Element, O: Element>(
    input: &PCollection<T>,
    defaults: bool,
    combined: impl FnOnce(&PCollection<((), T)>, Option<()>) -> PCollection<((), O)>,
) -> PCollection<O> {
    let keyed = input.map("Pair", |x| ((), x));
    let windowing = input.windowing();
    if defaults && !windowing.window_fn.is_global() {
        input.pipeline().build_error(format!(
            "it combines globally with a default value, in {windowing}: only the global window has a value for \
             nothing. Say `.without_defaults()`, of `Combine::globally(..)` or of the transform of the library, which \
             gives nothing for a window without elements"
        ));
    }
    combined(&keyed, defaults.then_some(())).map("Value", |((), value)| value)
}

/// The name of the step that combines.
const COMBINE: &str = "Combine";

pub(crate) fn combine_per_key_at<K: Key, C: CombineFn>(
    input: &PCollection<(K, C::Input)>,
    name: &str,
    site: &'static Location<'static>,
    combine: C,
) -> PCollection<(K, C::Output)> {
    let step = input.pipeline().name(name, site);
    group(input, step, CombineFold(combine), None)
}

fn combine_in_parts<K: Key, C: CombineFn>(
    input: &PCollection<(K, C::Input)>,
    site: &'static Location<'static>,
    combine: C,
    default_key: Option<K>,
    parts: usize,
) -> PCollection<(K, C::Output)> {
    let pipeline = input.pipeline();
    if parts == 1 {
        return group(input, pipeline.name(COMBINE, site), CombineFold(combine), default_key);
    }
    let fold = CombineFold(combine);
    let partial = precombined(input, pipeline.name("PreCombine", site), fold.clone(), parts);
    group(&partial, pipeline.name(COMBINE, site), PartialFold(fold), default_key)
}
