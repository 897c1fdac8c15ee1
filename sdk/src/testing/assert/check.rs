//! The two DoFns of an assertion.

use std::{fmt::Debug, marker::PhantomData};

use super::{multiset::Listed, ran::ASSERTION, selection::Selection};
use crate::{
    DoFn, DoFnError, Element, Emitter, Grouped, ProcessContext, Result,
    coder::{CoderRef, from_bytes, to_bytes},
    coder_slot::CoderSlot,
    window::{PaneInfo, Window},
};

/// An element, encoded, with the window and the pane that it is in.
pub(super) type Reified = (Vec<u8>, (Window, PaneInfo));

/// Adds window and pane to the value.
#[derive(Clone)]
pub(super) struct Reify<T> {
    pub(super) coder: CoderSlot<T>,
}

impl<T: Element> DoFn for Reify<T> {
    type Input = T;
    type Output = ((), Reified);

    fn process(
        &mut self,
        element: T,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, ((), Reified)>,
    ) -> Result {
        let bytes = to_bytes(&*self.coder.get(), &element)?;
        out.emit(((), (bytes, (cx.window(), cx.pane()))));
        Ok(())
    }
}

/// The elements that an assertion is about.
pub(super) struct Selected<T> {
    pub(super) values: Vec<T>,
    /// The window of each.
    pub(super) windows: Vec<Window>,
    coder: CoderRef<T>,
}

impl<T: 'static> Selected<T> {
    /// Equal for equal values of most types; nothing for a value that has no encoding.
    pub(super) fn encoding_of(&self, value: &T) -> Option<Vec<u8>> {
        to_bytes(&*self.coder, value).ok()
    }
}

/// Checks all elements at once.
pub(super) struct Check<T, F> {
    pub(super) coder: CoderSlot<T>,
    pub(super) selection: Selection,
    pub(super) verdict: F,
    pub(super) element: PhantomData<fn(T)>,
}

impl<T, F: Clone> Clone for Check<T, F> {
    fn clone(&self) -> Check<T, F> {
        Check {
            coder: self.coder.clone(),
            selection: self.selection.clone(),
            verdict: self.verdict.clone(),
            element: PhantomData,
        }
    }
}

impl<T, F> DoFn for Check<T, F>
where
    T: Element + Debug,
    F: Fn(Selected<T>) -> Result + Clone + Send + 'static,
{
    type Input = ((), Grouped<Reified>);
    type Output = ();

    fn process(
        &mut self,
        ((), all): ((), Grouped<Reified>),
        cx: &ProcessContext<'_>,
        _out: &mut Emitter<'_, ()>,
    ) -> Result {
        let coder = self.coder.get();
        let (mut values, mut windows, mut elsewhere) = (Vec::new(), Vec::new(), Vec::new());
        for (bytes, (window, pane)) in all {
            let value: T = from_bytes(&*coder, &bytes)?;
            match self.selection.takes(&window, pane) {
                Ok(true) => {
                    values.push(value);
                    windows.push(window);
                }
                Ok(false) => elsewhere.push(Elsewhere { value, window, pane }),
                Err(what) => return Err(DoFnError::msg(format!("{what}: {}", Listed(&[value])))),
            }
        }
        let verdict = (self.verdict)(Selected { values, windows, coder });
        if let Err(e) = verdict {
            let Check { selection, .. } = self;
            let mut text = format!("the assertion{selection} does not hold: {e}");
            if !elsewhere.is_empty() {
                let n = elsewhere.len();
                text.push_str(&format!(
                    "\n  not looked at: {n} in other windows or panes, {}",
                    Listed(&elsewhere)
                ));
            }
            return Err(DoFnError::msg(text));
        }
        cx.counter(ASSERTION).inc(1);
        Ok(())
    }
}

/// An element that an assertion is not about.
struct Elsewhere<T> {
    value: T,
    window: Window,
    pane: PaneInfo,
}

impl<T: Debug> Debug for Elsewhere<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Elsewhere { value, window, pane } = self;
        write!(f, "{value:?} ({window}, {:?} pane {})", pane.timing, pane.index)
    }
}
