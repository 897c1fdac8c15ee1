//! What is asserted.

use std::{fmt, marker::PhantomData, panic::Location, sync::Arc};

use serde_json::json;

use super::{
    check::{Check, Reified, Reify, Selected},
    multiset::{Difference, Listed},
    ran::ASSERTION,
    selection::{PaneChoice, Selection},
};
use crate::{
    DoFn, DoFnError, Element, PCollection, Result,
    coder_slot::CoderSlot,
    core::group_unchecked,
    exec::{ListFold, ParDoFactory, Proto, WindowIntoFactory},
    graph::Op,
    pipeline::NewNode,
    window::{GlobalWindows, Window, WindowingStrategy},
};

/// Begins an assertion: choose elements, or take all, and say what they are.
///
/// ```
/// # use purlin_sdk::{Pipeline, testing::assert_that};
/// # let p = Pipeline::new();
/// let doubled = p.create("Numbers", [1, 2, 3]).map("Double", |n| n * 2);
/// assert_that("Doubled", &doubled).contains_in_any_order([6, 4, 2]);
/// assert_that("All", &doubled).in_global_window().satisfies(|all| {
///     if all.iter().all(|n| n % 2 == 0) { Ok(()) } else { Err(purlin_sdk::DoFnError::msg("an odd number")) }
/// });
/// ```
/// It is a transform: the name must differ from others, and the run fails when it does not hold, with the source line
/// of this call. Run the pipeline by [`run_and_check`](crate::testing::run_and_check), which also finds assertions that
/// never ran. An assertion holds at the end of the run: on an unbounded collection it is checked when the source ends
/// or is drained.
#[track_caller]
pub fn assert_that<T: Element + PartialEq + fmt::Debug>(
    name: &str,
    collection: &PCollection<T>,
) -> Assertion<T> {
    Assertion {
        name: name.to_owned(),
        collection: collection.clone(),
        selection: Selection::default(),
        site: Location::caller(),
    }
}

/// An assertion to which only is missing what is asserted, see [`assert_that`].
#[must_use = "nothing is asserted yet: say what the elements are, such as `.contains_in_any_order([..])`"]
pub struct Assertion<T> {
    name: String,
    collection: PCollection<T>,
    selection: Selection,
    site: &'static Location<'static>,
}

impl<T: Element + PartialEq + fmt::Debug> Assertion<T> {
    /// Only elements in `window`. An element in several windows counts once in each.
    pub fn in_window(mut self, window: impl Into<Window>) -> Assertion<T> {
        self.selection.window = Some(window.into());
        self
    }

    /// Only elements in the global window.
    pub fn in_global_window(self) -> Assertion<T> {
        self.in_window(Window::Global)
    }

    /// Only elements of the firing after which the watermark had passed the end of their window.
    pub fn in_on_time_pane(self) -> Assertion<T> {
        self.in_pane(PaneChoice::OnTime)
    }

    /// Only elements of firings before the watermark passed the end of their window.
    pub fn in_early_pane(self) -> Assertion<T> {
        self.in_pane(PaneChoice::Early)
    }

    /// Only elements of firings after the on-time one.
    pub fn in_late_pane(self) -> Assertion<T> {
        self.in_pane(PaneChoice::Late)
    }

    /// Only elements of the last firing of their key and window.
    pub fn in_final_pane(self) -> Assertion<T> {
        self.in_pane(PaneChoice::Final)
    }

    /// Only elements of firings up to the one at the window's end, that one included: what was known when the window
    /// was complete, early and on time.
    pub fn in_combined_non_late_panes(self) -> Assertion<T> {
        self.in_pane(PaneChoice::NonLate)
    }

    /// Only elements in the global window, of firings before its end.
    pub fn in_early_global_window_panes(self) -> Assertion<T> {
        self.in_global_window().in_early_pane()
    }

    /// Also asserts that every key and window fired at most once: an element of a second firing, or of one that is not
    /// the last, fails.
    pub fn in_only_pane(self) -> Assertion<T> {
        self.in_pane(PaneChoice::Only)
    }

    fn in_pane(mut self, pane: PaneChoice) -> Assertion<T> {
        self.selection.pane = Some(pane);
        self
    }

    /// The elements are these, each as often as it is listed here.
    pub fn contains_in_any_order(self, expected: impl IntoIterator<Item = T>) {
        let expected: Vec<T> = expected.into_iter().collect();
        self.check(move |got| {
            let difference = Difference::between(&expected, &got.values, |v| got.encoding_of(v));
            if difference.is_none() { Ok(()) } else { Err(DoFnError::msg(difference)) }
        });
    }

    /// There is an element.
    pub fn is_not_empty(self) {
        self.check(|got| match got.values.len() {
            0 => Err(DoFnError::msg("expected something, got nothing")),
            _ => Ok(()),
        });
    }

    /// There is no element.
    pub fn is_empty(self) {
        self.check(|got| match got.values.len() {
            0 => Ok(()),
            n => Err(DoFnError::msg(format!("expected nothing, got {n}: {}", Listed(&got.values)))),
        });
    }

    /// There is one element, and it is `expected`.
    pub fn is(self, expected: T) {
        self.check(move |got| match &got.values[..] {
            [one] if *one == expected => Ok(()),
            other => {
                let expected = Listed(std::slice::from_ref(&expected));
                Err(DoFnError::msg(format!("expected exactly {expected}, got {}", Listed(other))))
            }
        });
    }

    /// `predicate` says so of all the elements, which come in no order that means anything. Its error is the run's.
    pub fn satisfies<F>(self, predicate: F)
    where
        F: Fn(Vec<T>) -> Result + Clone + Send + 'static,
    {
        self.check(move |got| predicate(got.values));
    }

    pub(super) fn check<F>(self, verdict: F)
    where
        F: Fn(Selected<T>) -> Result + Clone + Send + 'static,
    {
        let Assertion { name, collection, selection, site } = self;
        let pipeline = collection.pipeline().clone();
        pipeline.composite_at(&name, site, || {
            let coder = collection.coder_slot().clone();
            // Elements travel encoded by their own coder, whatever that is.
            let reify = Reify { coder: coder.clone() };
            let reified: PCollection<((), Reified)> =
                par_do(&collection, "Reify", site, reify, serde_json::Value::Null);
            let gathered = gather(&reified, site);
            let step = pipeline.name("Group", site);
            let all = group_unchecked(&gathered, step, ListFold::<Reified>::default(), Some(()));
            let check = Check { coder, selection, verdict, element: PhantomData };
            par_do(&all, "Check", site, check, json!({ ASSERTION: name }));
        });
    }
}

/// Puts everything into the global window.
fn gather<T: Element>(input: &PCollection<T>, site: &'static Location<'static>) -> PCollection<T> {
    let pipeline = input.pipeline();
    let coder = input.coder_slot().clone();
    let factory = WindowIntoFactory { window_fn: Arc::new(GlobalWindows), coder: coder.clone() };
    let step = pipeline.name("Gather", site);
    let node = pipeline.add(step, vec![input.id()], Op::Element(Arc::new(factory)));
    pipeline.output_with(node, WindowingStrategy::global(), input.is_bounded(), coder)
}

/// Applies a DoFn as if at `site`.
fn par_do<D: DoFn>(
    input: &PCollection<D::Input>,
    name: &str,
    site: &'static Location<'static>,
    dofn: D,
    payload: serde_json::Value,
) -> PCollection<D::Output> {
    let pipeline = input.pipeline();
    let coder = CoderSlot::default_of_type();
    let factory = ParDoFactory {
        dofn: Proto::new(dofn),
        views: [].into(),
        coder: coder.clone(),
        tags: Vec::new(),
        dead_letters: None,
    };
    let step = pipeline.name(name, site);
    let op = Op::Element(Arc::new(factory));
    let node = pipeline.add_node(NewNode { step, inputs: vec![input.id()], views: Vec::new(), op, payload });
    pipeline.output_with(node, input.windowing(), input.is_bounded(), coder)
}

impl<T> fmt::Debug for Assertion<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "assertion `{}` on {:?}{}", self.name, self.collection, self.selection)
    }
}
