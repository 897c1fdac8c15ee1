//! What the methods of a splittable DoFn may ask about an element before it is processed.

use std::{fmt, ops::Deref};

use crate::{
    BundleContext, ClockRef, Timestamp,
    batch::Row,
    dofn::StepScope,
    window::{PaneInfo, Window},
};

/// The element's timestamp, window and pane, the pipeline's options, and the clock. It has all of [`BundleContext`].
///
/// Together with the arguments that the methods get, this is everything that Beam's `@NewWatermarkEstimator` may ask
/// for.
pub struct SdfContext<'a> {
    inner: crate::ProcessContext<'a>,
    clock: &'a ClockRef,
}

impl<'a> SdfContext<'a> {
    pub(crate) fn new(scope: StepScope<'a>, row: Row<'a>) -> SdfContext<'a> {
        SdfContext { inner: crate::ProcessContext::new(scope, row), clock: &scope.cx.env.clock }
    }

    /// The element's timestamp.
    pub fn timestamp(&self) -> Timestamp {
        self.inner.timestamp()
    }

    /// The window that the element is in.
    pub fn window(&self) -> Window {
        self.inner.window()
    }

    /// The firing that the element came from.
    pub fn pane(&self) -> PaneInfo {
        self.inner.pane()
    }

    /// The run's clock, for an estimator that follows it.
    pub fn clock(&self) -> ClockRef {
        self.clock.clone()
    }
}

impl<'a> Deref for SdfContext<'a> {
    type Target = BundleContext<'a>;
    fn deref(&self) -> &BundleContext<'a> {
        &self.inner
    }
}

impl fmt::Debug for SdfContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
