//! The trait.

use super::{BundleContext, BundleEmitter, Emitter, ProcessContext, SetupContext};
use crate::{Duration, Element, Result};

/// User code on single elements, with a life cycle.
///
/// The runner clones the DoFn for each worker. An instance belongs to one worker at a time: `setup` once, then any
/// number of bundles (`start_bundle`, `process` for each element, `finish_bundle`), then `teardown`, which is also
/// called after a failure of any of them. An instance that failed is never used again. What a bundle emits is
/// committed as a whole when the bundle is done, or not at all.
///
/// An element in several windows is processed once in each.
///
/// ```
/// use purlin_sdk::{DoFn, Emitter, ProcessContext, Result, Tag};
///
/// const BAD: Tag<String> = Tag::new("bad");
///
/// #[derive(Clone)]
/// struct Parse;
///
/// impl DoFn for Parse {
///     type Input = String;
///     type Output = i64;
///     fn process(&mut self, line: String, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
///         match line.parse() {
///             Ok(n) => out.emit(n),
///             Err(_) => {
///                 cx.counter("bad_lines").inc(1);
///                 out.emit_to(BAD, line);
///             }
///         }
///         Ok(())
///     }
/// }
/// ```
/// Source: <https://beam.apache.org/documentation/programming-guide/#pardo>.
pub trait DoFn: Clone + Send + 'static {
    /// What comes in.
    type Input: Element;
    /// What goes out on the main output.
    type Output: Element;

    /// Whether `process` must only see elements that a checkpoint holds for good, because what it does outside cannot be
    /// taken back: giving files their names, say. In a run with checkpoints its elements wait until a checkpoint that
    /// has them is on disk, and after a restore it sees exactly the same ones again; so doing the same thing twice must
    /// be the same as doing it once. In a run without checkpoints it makes no difference. Source: Beam's
    /// `@RequiresStableInput`.
    const REQUIRES_STABLE_INPUT: bool = false;

    /// Once on each instance, before anything else: open connections, load models.
    ///
    /// # Errors
    /// Any error fails the run; `teardown` is called all the same.
    fn setup(&mut self, _cx: &SetupContext<'_>) -> Result {
        Ok(())
    }

    /// Before the first element of a bundle.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn start_bundle(&mut self, _cx: &BundleContext<'_>) -> Result {
        Ok(())
    }

    /// One element.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn process(
        &mut self,
        element: Self::Input,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, Self::Output>,
    ) -> Result;

    /// After the last element of a bundle. What is emitted here needs a timestamp and a window.
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

    /// How far before its input's timestamp an output's may lie. Such output may be late.
    fn allowed_timestamp_skew(&self) -> Duration {
        Duration::ZERO
    }
}
