//! What puts elements into windows.

use std::{any::Any, fmt};

use serde::{Deserialize, Serialize};

use super::{FixedWindows, SlidingWindows, StandardWindows, Window};
use crate::{DoFnError, Result, Timestamp};

/// Puts each element into windows, and merges windows where they depend on the data.
///
/// A user's own window function implements `assign`, and for merging windows `is_merging` and `merge`:
///
/// ```
/// use purlin_sdk::{Result, Timestamp, window::{AssignContext, Window, WindowFn}};
///
/// /// One window for the time before the launch, one for all after it.
/// #[derive(Debug)]
/// struct BeforeAndAfter { launch: Timestamp }
///
/// impl WindowFn for BeforeAndAfter {
///     fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
///         out.push(if cx.timestamp() < self.launch {
///             Window::interval(Timestamp::MIN, self.launch)
///         } else {
///             Window::interval(self.launch, Timestamp::GLOBAL_WINDOW_MAX)
///         });
///         Ok(())
///     }
/// }
/// ```
/// Source: Beam's `WindowFn`.
pub trait WindowFn: fmt::Debug + Send + Sync + 'static {
    /// Appends the windows of one element to `out`. An element in no window is dropped at the next grouping, and
    /// counted. An interval ends after it starts, and no window is given twice.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result;

    /// Whether windows of one key merge as data arrive.
    fn is_merging(&self) -> bool {
        false
    }

    /// Says which of `windows`, the live windows of one key in the order of their ends, become one. Windows that stay
    /// as they are need not be listed. What a merge results in covers all of its windows, and is no other window that
    /// is there. No window may be merged twice.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn merge(&self, _windows: &[Window]) -> Result<Vec<MergedWindow>> {
        Ok(Vec::new())
    }

    /// The side-input window for a main window whose last timestamp is `main_max`: by default the earliest of the
    /// windows that an element at `main_max` would be in.
    ///
    /// # Errors
    /// When there is no such window.
    fn side_window(&self, main_max: Timestamp) -> Result<Window> {
        let mut windows = Vec::new();
        self.assign(&AssignContext::at(main_max), &mut windows)?;
        check_assigned(self, &windows).map_err(DoFnError::msg)?;
        windows.into_iter().min().ok_or_else(|| {
            DoFnError::msg(format!(
                "{self:?} has no window at {main_max}, so a side input cannot be looked up there"
            ))
        })
    }

    /// The timestamp that a result made of an element at `ts` in `window` may have, for
    /// [`TimestampCombiner::EarliestTransformed`](super::TimestampCombiner::EarliestTransformed): by default `ts` itself.
    /// It must not lie before `ts`. Source: Beam's `WindowFn.getOutputTime`.
    fn output_time(&self, ts: Timestamp, _window: &Window) -> Timestamp {
        ts
    }

    /// What is wrong with the parameters, in words for a build error.
    ///
    /// # Errors
    /// When the function cannot be used.
    fn validate(&self) -> std::result::Result<(), String> {
        Ok(())
    }

    /// What tells this function from another: two functions with equal specs put elements into the same windows.
    fn spec(&self) -> WindowFnSpec {
        WindowFnSpec { urn: std::any::type_name::<Self>().to_owned(), parameters: format!("{self:?}") }
    }

    /// The fixed windows that this function stands for, when it is nothing else. Runners assign those lazily.
    fn as_fixed(&self) -> Option<FixedWindows> {
        None
    }

    /// Which of Beam's own it is, when it is one: an engine then groups by it itself.
    fn standard(&self) -> Option<StandardWindows> {
        None
    }

    /// The sliding windows that this function stands for, when it is nothing else and every element is in one at least.
    /// Runners assign those lazily, and a CombineFn gathers once what is in several of them.
    fn as_sliding(&self) -> Option<SlidingWindows> {
        None
    }

    /// Whether every element lands in the global window.
    fn is_global(&self) -> bool {
        false
    }
}

/// What is wrong with the windows that a function gave one element.
pub(crate) fn check_assigned<F: WindowFn + ?Sized>(
    f: &F,
    windows: &[Window],
) -> std::result::Result<(), String> {
    for window in windows.iter().filter_map(Window::as_interval) {
        // Both ends of a window at the end of time may be there.
        if window.end() <= window.start() && window.end() < Timestamp::MAX {
            return Err(format!(
                "{f:?} gives the window {window}, which does not end after it starts, so nothing is in it: the start \
                 comes first, `Window::interval(start, end)`"
            ));
        }
    }
    // Most functions give them in order, which needs no copy.
    let in_order = windows.is_sorted_by(|a, b| a < b) || windows.is_sorted_by(|a, b| a > b);
    let mut sorted: Vec<&Window> = if in_order { Vec::new() } else { windows.iter().collect() };
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!(
            "{f:?} gives an element the window {} twice, so it would count twice there: give each window once",
            pair[0]
        )),
        None => Ok(()),
    }
}

/// What is wrong with the timestamp `time` that a function gives to what is made of an element at `ts`.
pub(crate) fn check_output_time<F: WindowFn + ?Sized>(
    f: &F,
    window: &Window,
    ts: Timestamp,
    time: Timestamp,
) -> std::result::Result<(), String> {
    if time >= ts {
        return Ok(());
    }
    Err(format!(
        "{f:?} gives {time} as the output time of an element at {ts} in {window}: it does not lie before the element"
    ))
}

/// Identity of a window function: its name and its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WindowFnSpec {
    /// Beam's URN, or the Rust type of a user's own.
    pub urn: String,
    /// The parameters as text.
    pub parameters: String,
}

impl fmt::Display for WindowFnSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parameters)
    }
}

/// Windows that become one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedWindow {
    /// What they become.
    pub result: Window,
    /// What is merged, two or more of the windows given.
    pub sources: Vec<Window>,
}

/// What a window function may look at.
#[derive(Clone, Copy)]
pub struct AssignContext<'a> {
    timestamp: Timestamp,
    element: Option<&'a (dyn Any + Send + Sync)>,
    window: Option<&'a Window>,
}

impl<'a> AssignContext<'a> {
    /// An element's timestamp, and nothing else known of it.
    pub fn at(timestamp: Timestamp) -> AssignContext<'a> {
        AssignContext { timestamp, element: None, window: None }
    }

    /// An element with its timestamp and the window that it is in so far.
    pub fn of(
        timestamp: Timestamp,
        element: &'a (dyn Any + Send + Sync),
        window: Option<&'a Window>,
    ) -> AssignContext<'a> {
        AssignContext { timestamp, element: Some(element), window }
    }

    /// The element's timestamp.
    #[inline]
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// The element itself, when it is a `T`.
    pub fn element<T: 'static>(&self) -> Option<&'a T> {
        self.element.and_then(|e| e.downcast_ref())
    }

    /// The window that the element is in before this function is applied, when it is in exactly one.
    pub fn window(&self) -> Option<&'a Window> {
        self.window
    }
}

impl fmt::Debug for AssignContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AssignContext").field("timestamp", &self.timestamp).finish_non_exhaustive()
    }
}
