//! One window for all of time.

use super::{AssignContext, StandardWindows, Window, WindowFn, WindowFnSpec};
use crate::{Result, Timestamp};

/// Puts every element into the global window: what every collection starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct GlobalWindows;

impl WindowFn for GlobalWindows {
    fn assign(&self, _cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
        out.push(Window::Global);
        Ok(())
    }

    fn side_window(&self, _main_max: Timestamp) -> Result<Window> {
        Ok(Window::Global)
    }

    fn spec(&self) -> WindowFnSpec {
        WindowFnSpec { urn: "beam:window_fn:global_windows:v1".into(), parameters: "GlobalWindows".into() }
    }

    fn standard(&self) -> Option<StandardWindows> {
        Some(StandardWindows::Global)
    }

    fn is_global(&self) -> bool {
        true
    }
}
