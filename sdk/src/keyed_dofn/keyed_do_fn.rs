//! The trait.

use super::TimerContext;
use crate::{
    BundleContext, BundleEmitter, DoFnError, Duration, Element, Emitter, Key, ProcessContext, Result,
    SetupContext, state::KeyedState,
};

/// Names the timers of a keyed DoFn: the enum that `#[derive(KeyedState)]` makes beside its state.
pub type TimerOf<D> = <<D as KeyedDoFn>::State as KeyedState>::Timer;

/// User code on elements with keys, with state and timers.
///
/// State is per transform, key and window: an element in several windows is processed in each, with that window's
/// state. What has one key is in one place: no two bundles ever have it at once. Within a bundle, elements come before
/// timers, and those of a key in the order in which one bundle of the transform before it emitted them; across bundles
/// there is no order unless the input is [`time_sorted`](crate::KeyedParDo::time_sorted).
///
/// An element that comes for a window that has expired (the watermark has passed its end and the allowed lateness) is
/// dropped and counted, or goes where [`late_data`](crate::KeyedParDo::late_data) says.
///
/// When a window expires, what is left happens in this order: event-time timers, processing-time timers that are
/// pending still, `on_window_expiration`; then the state is removed.
///
/// A bundle that fails leaves no trace in state and timers. Otherwise the life cycle is that of a
/// [`DoFn`](crate::DoFn).
///
/// ```
/// # use purlin_derive::KeyedState;
/// use purlin_sdk::{Emitter, KeyedDoFn, ProcessContext, Result, state::Value, testing::KeyedTester};
///
/// #[derive(KeyedState)]
/// # #[keyed_state(crate = "purlin_sdk")]
/// struct Numbered { next: Value<u64> }
///
/// /// Numbers the elements of each key.
/// #[derive(Clone)]
/// struct Number;
///
/// impl KeyedDoFn for Number {
///     type Key = String;
///     type Value = i64;
///     type Output = (String, u64, i64);
///     type State = Numbered;
///     fn process(
///         &mut self,
///         key: &String,
///         value: i64,
///         state: &mut Numbered,
///         _: &ProcessContext<'_>,
///         out: &mut Emitter<'_, Self::Output>,
///     ) -> Result {
///         let n = state.next.read().copied().unwrap_or(0);
///         state.next.write(n + 1);
///         out.emit((key.clone(), n, value));
///         Ok(())
///     }
/// }
///
/// let mut number = KeyedTester::of(Number);
/// number.process("a".to_owned(), 5)?.process("a".to_owned(), 7)?;
/// assert_eq!(number.main(), [("a".to_owned(), 0, 5), ("a".to_owned(), 1, 7)]);
/// # Ok::<(), purlin_sdk::PipelineError>(())
/// ```
/// Source: <https://beam.apache.org/documentation/programming-guide/#state-and-timers>.
pub trait KeyedDoFn: Clone + Send + 'static {
    /// By what the input is keyed.
    type Key: Key;
    /// What comes in with a key.
    type Value: Element;
    /// What goes out on the main output.
    type Output: Element;
    /// What is kept per key and window.
    type State: KeyedState;

    /// Whether there is an [`on_window_expiration`](Self::on_window_expiration). With it, the output watermark stays at
    /// the window's end until it was called, so that what it emits is not late, however much lateness is allowed.
    const ON_WINDOW_EXPIRATION: bool = false;

    /// Once on each instance, before anything else: open connections, load models.
    ///
    /// # Errors
    /// Any error fails the run; `teardown` is called all the same.
    fn setup(&mut self, _cx: &SetupContext<'_>) -> Result {
        Ok(())
    }

    /// Before the first element or timer of a bundle.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn start_bundle(&mut self, _cx: &BundleContext<'_>) -> Result {
        Ok(())
    }

    /// One element, with the state of its key and window.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn process(
        &mut self,
        key: &Self::Key,
        value: Self::Value,
        state: &mut Self::State,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, Self::Output>,
    ) -> Result;

    /// A timer that was set fires. What is emitted has the timer's output timestamp.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn on_timer(
        &mut self,
        timer: TimerOf<Self>,
        _key: &Self::Key,
        _state: &mut Self::State,
        _cx: &TimerContext<'_>,
        _out: &mut Emitter<'_, Self::Output>,
    ) -> Result {
        Err(DoFnError::msg(format!("it set the timer `{timer:?}` and has no `on_timer`")))
    }

    /// The window expires: the last call for a key and window, after all timers, once for each that ever had an
    /// element. What is emitted has the window's last timestamp, and none may have a later one. It needs
    /// `const ON_WINDOW_EXPIRATION: bool = true`.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn on_window_expiration(
        &mut self,
        _key: &Self::Key,
        _state: &mut Self::State,
        cx: &TimerContext<'_>,
        _out: &mut Emitter<'_, Self::Output>,
    ) -> Result {
        cx.there_is_no_method();
        Ok(())
    }

    /// After the last element and timer of a bundle. What is emitted here needs a timestamp and a window.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn finish_bundle(
        &mut self,
        _cx: &BundleContext<'_>,
        _out: &mut BundleEmitter<'_, Self::Output>,
    ) -> Result {
        Ok(())
    }

    /// Once on each instance, after anything else, also after a failure.
    ///
    /// # Errors
    /// An error fails the run, unless it failed already.
    fn teardown(&mut self, _cx: &SetupContext<'_>) -> Result {
        Ok(())
    }

    /// How far before its input's timestamp an output's may lie, and the output timestamp of a timer. Such output may
    /// be late.
    fn allowed_timestamp_skew(&self) -> Duration {
        Duration::ZERO
    }
}
