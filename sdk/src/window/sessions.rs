//! Windows that grow while data keep coming.

use super::{AssignContext, IntervalWindow, MergedWindow, StandardWindows, Window, WindowFn, WindowFnSpec};
use crate::{Duration, Result, Timestamp};

/// Sessions: an element opens `[ts, ts + gap)`, and windows of one key that overlap become one. Windows that only touch
/// do not merge, as in Beam.
///
/// Once grouped, sessions count as merged: a second grouping uses the windows as they came out of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sessions {
    gap: Duration,
}

impl Sessions {
    /// Sessions that end when nothing came for `gap`.
    pub const fn with_gap(gap: Duration) -> Sessions {
        Sessions { gap }
    }
}

impl WindowFn for Sessions {
    fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
        out.push(Window::interval(cx.timestamp(), cx.timestamp() + self.gap));
        Ok(())
    }

    fn is_merging(&self) -> bool {
        true
    }

    fn merge(&self, windows: &[Window]) -> Result<Vec<MergedWindow>> {
        let mut intervals: Vec<IntervalWindow> = windows.iter().filter_map(Window::as_interval).collect();
        intervals.sort_by_key(|w| w.start());
        let mut merged = Vec::new();
        let mut group: Vec<IntervalWindow> = Vec::new();
        let mut span: Option<IntervalWindow> = None;
        let mut close = |group: &mut Vec<IntervalWindow>, span: Option<IntervalWindow>| {
            if let (Some(span), true) = (span, group.len() > 1) {
                let sources = group.iter().map(|w| Window::Interval(*w)).collect();
                merged.push(MergedWindow { result: Window::Interval(span), sources });
            }
            group.clear();
        };
        for w in intervals {
            span = Some(match span {
                Some(s) if s.intersects(w) => s.span(w),
                previous => {
                    close(&mut group, previous);
                    w
                }
            });
            group.push(w);
        }
        close(&mut group, span);
        Ok(merged)
    }

    fn side_window(&self, main_max: Timestamp) -> Result<Window> {
        Err(crate::DoFnError::msg(format!(
            "a collection in sessions cannot be a side input: the session that {main_max} falls into depends on the \
             data; put it into fixed windows first"
        )))
    }

    fn validate(&self) -> std::result::Result<(), String> {
        if self.gap <= Duration::ZERO {
            return Err(format!("sessions need a gap above zero, not {}", self.gap));
        }
        Ok(())
    }

    fn standard(&self) -> Option<StandardWindows> {
        Some(StandardWindows::Sessions { gap: self.gap })
    }

    fn spec(&self) -> WindowFnSpec {
        WindowFnSpec {
            urn: "beam:window_fn:session_windows:v1".into(),
            parameters: format!("Sessions(gap {})", self.gap),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start: i64, end: i64) -> Window {
        Window::interval(Timestamp::from_secs(start), Timestamp::from_secs(end))
    }

    #[test]
    fn overlapping_sessions_merge_and_touching_ones_do_not() {
        let f = Sessions::with_gap(Duration::from_secs(10));
        let merged = f.merge(&[window(0, 10), window(5, 15), window(15, 25), window(40, 50)]).unwrap();
        assert_eq!(
            merged,
            [MergedWindow { result: window(0, 15), sources: vec![window(0, 10), window(5, 15)] }]
        );
    }

    #[test]
    fn one_window_bridges_two() {
        let f = Sessions::with_gap(Duration::from_secs(10));
        let merged = f.merge(&[window(0, 10), window(12, 22), window(6, 16)]).unwrap();
        assert_eq!(merged.len(), 1);
        assert_eq!(merged[0].result, window(0, 22));
        assert_eq!(merged[0].sources.len(), 3);
    }
}
