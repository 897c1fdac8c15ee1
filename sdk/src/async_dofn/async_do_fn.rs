//! The trait.

use super::AsyncContext;
use crate::{Duration, Element, Result, SetupContext};

/// User code that waits: for a service, a database, a file. While one element waits, others of the bundle are worked on.
///
/// At most as many elements are under way at once as [`AsyncParDo::concurrency`](crate::AsyncParDo::concurrency) says; a
/// bundle ends when all of its elements are done. What is emitted goes out when its element is done, so elements change
/// order unless [`AsyncParDo::ordered`](crate::AsyncParDo::ordered) is set. The first error, or panic, fails the bundle,
/// and what else is under way is dropped.
///
/// Futures run on the thread of the bundle, with a waker of its own: no runtime is needed. Clients that need tokio's
/// reactor find it with the feature `tokio` and `AsyncParDo::on_tokio`.
///
/// ```
/// use purlin_sdk::{AsyncContext, AsyncDoFn, AsyncParDo, Pipeline, Result};
///
/// /// Asks a service for each city's temperature.
/// #[derive(Clone)]
/// struct Temperature;
///
/// # async fn ask(_: &str) -> std::io::Result<f64> { Ok(21.5) }
/// impl AsyncDoFn for Temperature {
///     type Input = String;
///     type Output = (String, f64);
///     async fn process(&self, city: String, cx: AsyncContext<(String, f64)>) -> Result {
///         let degrees = ask(&city).await?;
///         cx.emit((city, degrees));
///         Ok(())
///     }
/// }
///
/// let p = Pipeline::new();
/// p.create("Cities", ["Rome".to_owned()]).par_do_async("Ask", AsyncParDo::of(Temperature).concurrency(32));
/// # assert!(p.build().is_ok());
/// ```
/// Source: Beam's `AsyncDoFn` (`AsyncWrapper` in Python).
pub trait AsyncDoFn: Clone + Send + Sync + 'static {
    /// What comes in.
    type Input: Element;
    /// What goes out on the main output.
    type Output: Element;

    /// Once on each instance, before anything else: open connections.
    ///
    /// # Errors
    /// Any error fails the run; `teardown` is called all the same.
    fn setup(&mut self, _cx: &SetupContext<'_>) -> Result {
        Ok(())
    }

    /// One element.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn process(
        &self,
        element: Self::Input,
        cx: AsyncContext<Self::Output>,
    ) -> impl Future<Output = Result> + Send;

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
