//! Each element once.

use purlin_sdk::{CombineFn, Element, Key, PCollection, PTransform};

use crate::{extremum::MaxFn, order::By, scope::PerKey};

/// Each element once per window, however often it comes.
///
/// Elements are told apart by `Eq`, or by what a closure reads from them.
///
/// ```
/// # use purlin_sdk::Pipeline;
/// use purlin_transforms::Distinct;
/// # let p = Pipeline::new();
/// let words = p.create("Words", ["to", "Be", "or", "be"].map(str::to_owned));
/// words.apply("Distinct", Distinct);
/// words.apply("AnyCase", Distinct::with_representative(|w: &String| w.to_lowercase()));
/// # p.build().unwrap();
/// ```
/// An element comes out when its window closes, at the window's end; under a trigger that fires more often, in the first
/// pane that has it and in no other, whether panes accumulate or not. Source: Beam's `Distinct`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Distinct;

impl Distinct {
    /// The same as `Distinct`.
    pub const fn new() -> Distinct {
        Distinct
    }

    /// One element for each value of `f` and window; which of those that share it is arbitrary.
    pub fn with_representative<T, R, F>(f: F) -> DistinctBy<F>
    where
        F: Fn(&T) -> R + Clone + Send + 'static,
    {
        DistinctBy(f)
    }
}

/// See [`Distinct::with_representative`].
#[derive(Clone, Copy, Debug)]
pub struct DistinctBy<F>(F);

impl<T: Key> PTransform<PCollection<T>> for Distinct {
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<T> {
        let once = PerKey.combine(input.map("Pair", |x| (x, ())), Nothing);
        first_panes(once).map("Key", |(x, ())| x)
    }
}

impl<T: Element, R: Key, F> PTransform<PCollection<T>> for DistinctBy<F>
where
    F: Fn(&T) -> R + Clone + Send + 'static,
{
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<T> {
        // All are equally great, so the first one that comes stays.
        let any = MaxFn::ordered(By(|_: &T, _: &T| std::cmp::Ordering::Equal));
        let once = PerKey.combine(input.key_by("Represent", self.0), any);
        first_panes(once).flat_map("Value", |(_, x)| x)
    }
}

/// Later panes of a key say again what the first one said.
#[track_caller]
fn first_panes<T: Element>(once: PCollection<T>) -> PCollection<T> {
    if once.windowing().is_plain() {
        return once;
    }
    once.filter_cx("First", |_, cx| Ok(cx.pane().is_first))
}

/// Keeps nothing of the values: the keys are enough.
#[derive(Clone)]
struct Nothing;

impl CombineFn for Nothing {
    type Input = ();
    type Accumulator = ();
    type Output = ();

    fn create(&self) {}

    fn add_input(&self, (): &mut (), (): ()) {}

    fn merge(&self, (): &mut (), (): ()) {}

    fn extract(&self, (): ()) {}
}
