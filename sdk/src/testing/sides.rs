//! Side inputs that a test gives.

use std::{collections::HashMap, sync::Arc};

use crate::{
    DoFnError, Result, Timestamp, View,
    exec::{ViewSnapshot, ViewValue},
    window::{AssignContext, Window, WindowFn},
};

/// Values of side inputs by path and window.
#[derive(Clone, Default)]
pub(super) struct Sides(HashMap<Arc<str>, Vec<(Window, ViewValue)>>);

impl Sides {
    /// Gives `view` a value in `window`, instead of the one that it had there.
    pub(super) fn set<V: Clone + Send + Sync + 'static>(&mut self, view: &View<V>, window: Window, value: V) {
        let value: ViewValue = Arc::new(std::result::Result::<V, String>::Ok(value));
        let given = self.0.entry(view.path().clone()).or_default();
        given.retain(|(w, _)| *w != window);
        given.push((window, value));
    }

    /// Paths of the views that have values.
    pub(super) fn paths(&self) -> Arc<[Arc<str>]> {
        self.0.keys().cloned().collect()
    }

    pub(super) fn snapshot(&self) -> ViewSnapshot {
        let views = self.0.iter().map(|(path, given)| {
            let windows = given.iter().map(|(w, _)| w.clone()).collect();
            let window_fn: Arc<dyn WindowFn> = Arc::new(GivenWindows(windows));
            (path.clone(), (window_fn, given.iter().cloned().collect()))
        });
        ViewSnapshot { views: views.collect(), source: None }
    }
}

/// The windows for which a side input was given.
#[derive(Debug)]
struct GivenWindows(Vec<Window>);

impl WindowFn for GivenWindows {
    fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
        let ts = cx.timestamp();
        let holds = |w: &&Window| match w {
            Window::Interval(w) => w.contains(ts),
            other => ts <= other.max_timestamp(),
        };
        out.extend(self.0.iter().filter(holds).cloned());
        Ok(())
    }

    /// The first of them to end.
    fn side_window(&self, main_max: Timestamp) -> Result<Window> {
        let mut windows = Vec::new();
        self.assign(&AssignContext::at(main_max), &mut windows)?;
        windows.into_iter().min_by_key(Window::max_timestamp).ok_or_else(|| {
            DoFnError::msg(format!(
                "the side input was given for {:?}, none of which holds {main_max}, the last timestamp of the element's \
                 window: give it there by `.side_in(window, &view, value)`, or everywhere by `.side(&view, value)`",
                self.0
            ))
        })
    }
}
