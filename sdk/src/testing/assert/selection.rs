//! Which elements an assertion is about.

use std::fmt;

use crate::window::{PaneInfo, PaneTiming, Window};

/// Which panes. Source: Beam's `PaneExtractors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PaneChoice {
    OnTime,
    Early,
    Late,
    Final,
    /// Early, on time, or of no firing.
    NonLate,
    /// All of them, of which none may be one of several.
    Only,
}

/// Which elements; all of them by default.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    pub(super) window: Option<Window>,
    pub(super) pane: Option<PaneChoice>,
}

impl Selection {
    /// Whether it is about an element in `window` from `pane`.
    ///
    /// # Errors
    /// When there may be no such element.
    pub(super) fn takes(&self, window: &Window, pane: PaneInfo) -> Result<bool, String> {
        if self.window.as_ref().is_some_and(|w| w != window) {
            return Ok(false);
        }
        Ok(match self.pane {
            None => true,
            Some(PaneChoice::OnTime) => pane.timing == PaneTiming::OnTime,
            Some(PaneChoice::Early) => pane.timing == PaneTiming::Early,
            Some(PaneChoice::Late) => pane.timing == PaneTiming::Late,
            Some(PaneChoice::Final) => pane.is_last,
            Some(PaneChoice::NonLate) => pane.timing != PaneTiming::Late,
            Some(PaneChoice::Only) if pane.is_first && pane.is_last => true,
            Some(PaneChoice::Only) => {
                return Err(format!("expected the only pane of {window}, got an element of {pane:?}"));
            }
        })
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(window) = &self.window {
            write!(f, " in {window}")?;
        }
        f.write_str(match self.pane {
            None => "",
            Some(PaneChoice::OnTime) => " in the on-time pane",
            Some(PaneChoice::Early) => " in early panes",
            Some(PaneChoice::Late) => " in late panes",
            Some(PaneChoice::Final) => " in the final pane",
            Some(PaneChoice::NonLate) => " in panes that are not late",
            Some(PaneChoice::Only) => " in the only pane",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn pane(timing: PaneTiming, index: i64, is_last: bool) -> PaneInfo {
        PaneInfo { is_first: index == 0, is_last, timing, index, on_time_index: 0 }
    }

    #[test]
    fn panes_are_told_apart() {
        let early = pane(PaneTiming::Early, 0, false);
        let on_time = pane(PaneTiming::OnTime, 1, false);
        let late = pane(PaneTiming::Late, 2, true);
        for (choice, taken) in [
            (PaneChoice::Early, [true, false, false]),
            (PaneChoice::OnTime, [false, true, false]),
            (PaneChoice::Late, [false, false, true]),
            (PaneChoice::Final, [false, false, true]),
            (PaneChoice::NonLate, [true, true, false]),
        ] {
            let selection = Selection { window: None, pane: Some(choice) };
            let found = [early, on_time, late].map(|p| selection.takes(&Window::Global, p).unwrap());
            assert_eq!(found, taken, "{choice:?}");
        }
    }

    #[test]
    fn one_of_several_panes_is_not_the_only_one() {
        let selection = Selection { window: Some(Window::Global), pane: Some(PaneChoice::Only) };
        assert_eq!(selection.takes(&Window::Global, PaneInfo::ON_TIME_AND_ONLY), Ok(true));
        let second = pane(PaneTiming::Late, 1, true);
        assert!(selection.takes(&Window::Global, second).unwrap_err().contains("only pane"));
        // In another window it does not matter.
        let other = Window::interval(Timestamp::EPOCH, Timestamp::from_secs(1));
        assert_eq!(selection.takes(&other, second), Ok(false));
    }
}
