//! Combining as a transform.

use std::panic::Location;

use super::group_by_key::group;
use crate::{CombineFn, Element, Grouped, Key, PCollection, PTransform, exec::CombineFold};

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

    /// Says that there are very many elements. The result is the same: see
    /// [`with_hot_key_fanout`](Combine::with_hot_key_fanout).
    #[must_use]
    pub fn with_fanout(self, _fanout: usize) -> Combine<C, Globally> {
        self
    }
}

impl<C: CombineFn> Combine<C, PerKey> {
    /// Combines the values of each key.
    pub fn per_key(combine: C) -> Combine<C, PerKey> {
        Combine { combine, scope: PerKey }
    }

    /// Says that some keys have very many values. In windows that do not merge every worker combines what it has
    /// before anything is sent, so a hot key is spread without being asked for. In windows that merge, such as sessions,
    /// a key's values meet in one place and are not spread. The result is the same with any fan-out.
    #[must_use]
    pub fn with_hot_key_fanout(self, _fanout: usize) -> Combine<C, PerKey> {
        self
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

impl<K: Key, C: CombineFn> PTransform<PCollection<(K, C::Input)>> for Combine<C, PerKey> {
    type Out = PCollection<(K, C::Output)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, C::Input)>) -> PCollection<(K, C::Output)> {
        let site = Location::caller();
        combine_per_key_at(&input, "Combine", site, self.combine)
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
    let keyed = input.map("Pair", |x| ((), x));
    let pipeline = input.pipeline();
    let step = pipeline.name("Combine", Location::caller());
    let windowing = input.windowing();
    if defaults && !windowing.window_fn.is_global() {
        pipeline.error(
            &step,
            format!(
                "it combines globally with a default value, in {windowing}: only the global window has a value for \
                 nothing. Apply `Combine::globally(..).without_defaults()` (for a transform of the library: its own \
                 `.without_defaults()`), which gives nothing for a window without elements"
            ),
        );
    }
    let combined = group(&keyed, step, CombineFold(combine), defaults.then_some(()));
    combined.map("Value", |((), value)| value)
}

pub(crate) fn combine_per_key_at<K: Key, C: CombineFn>(
    input: &PCollection<(K, C::Input)>,
    name: &str,
    site: &'static Location<'static>,
    combine: C,
) -> PCollection<(K, C::Output)> {
    let step = input.pipeline().name(name, site);
    group(input, step, CombineFold(combine), None)
}
