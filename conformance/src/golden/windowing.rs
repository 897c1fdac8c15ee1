//! Windows and triggers, as cases describe them.

use purlin_sdk::{
    Duration, Result, Timestamp, WindowInto,
    window::{
        AssignContext, FixedWindows, GlobalWindows, MergedWindow, Sessions, SlidingWindows,
        TimestampCombiner, Trigger, Window, WindowFn, WindowFnSpec,
    },
};

use super::datum::Datum;

/// A windowing strategy.
#[derive(Clone, Debug)]
pub(super) struct Windowing {
    pub(super) windows: Windows,
    pub(super) trigger: Trigger,
    pub(super) accumulating: bool,
    pub(super) lateness: Duration,
    pub(super) combiner: TimestampCombiner,
}

/// A window function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Windows {
    Global,
    Fixed {
        size: Duration,
        offset: Duration,
    },
    Sliding {
        size: Duration,
        period: Duration,
        offset: Duration,
    },
    Sessions {
        gap: Duration,
    },
    /// Fixed windows whose results may be a hundred seconds later: Beam's `CustomTimestampingFixedWindowsWindowFn`.
    Later {
        size: Duration,
        offset: Duration,
    },
}

impl Default for Windowing {
    fn default() -> Windowing {
        Windowing {
            windows: Windows::Global,
            trigger: Trigger::default(),
            accumulating: false,
            lateness: Duration::ZERO,
            combiner: TimestampCombiner::EndOfWindow,
        }
    }
}

impl Windowing {
    /// The strategy. Cases use triggers that lose data on purpose.
    pub(super) fn to_window_into(&self) -> WindowInto {
        let into = match self.windows {
            Windows::Global => WindowInto::of(GlobalWindows),
            Windows::Fixed { size, offset } => WindowInto::of(FixedWindows::of(size).offset(offset)),
            Windows::Sliding { size, period, offset } => {
                WindowInto::of(SlidingWindows::of(size, period).offset(offset))
            }
            Windows::Sessions { gap } => WindowInto::of(Sessions::with_gap(gap)),
            Windows::Later { size, offset } => WindowInto::of(Later(FixedWindows::of(size).offset(offset))),
        };
        let into = into
            .trigger(self.trigger.clone())
            .allowed_lateness(self.lateness)
            .timestamp_combiner(self.combiner)
            .allow_data_loss();
        if self.accumulating { into.accumulating() } else { into.discarding() }
    }

    /// `{window_fn, trigger, accumulation, allowed_lateness_s, timestamp_combiner}`.
    pub(super) fn from_json(json: &Datum) -> Result<Windowing, String> {
        let text = |name: &str| json.get(name).map(Datum::to_text).transpose();
        let accumulating = match text("accumulation")? {
            None | Some("discarding") => false,
            Some("accumulating") => true,
            Some(other) => return Err(format!("`{other}` is no accumulation")),
        };
        let combiner = match text("timestamp_combiner")? {
            None | Some("end_of_window") => TimestampCombiner::EndOfWindow,
            Some("earliest") => TimestampCombiner::Earliest,
            Some("latest") => TimestampCombiner::Latest,
            Some(other) => return Err(format!("`{other}` is no timestamp combiner")),
        };
        Ok(Windowing {
            windows: Windows::from_json(json.need("window_fn")?)?,
            trigger: json.get("trigger").map_or(Ok(Trigger::default()), trigger)?,
            accumulating,
            lateness: json.get("allowed_lateness_s").map_or(Ok(Duration::ZERO), duration)?,
            combiner,
        })
    }
}

pub(super) fn duration(json: &Datum) -> Result<Duration, String> {
    Ok(Duration::from_millis(json.to_millis()?))
}

impl Windows {
    fn from_json(json: &Datum) -> Result<Windows, String> {
        let length = |name: &str| duration(json.need(name)?);
        let offset = || json.get("offset_s").map_or(Ok(Duration::ZERO), duration);
        match json.need("type")?.to_text()? {
            "global" => Ok(Windows::Global),
            "fixed" => Ok(Windows::Fixed { size: length("size_s")?, offset: offset()? }),
            "sliding" => Ok(Windows::Sliding {
                size: length("size_s")?,
                period: length("period_s")?,
                offset: offset()?,
            }),
            "sessions" => Ok(Windows::Sessions { gap: length("gap_s")? }),
            other => Err(format!("`{other}` is no window function")),
        }
    }

    /// Those of `windows` that do not become part of another one of them.
    pub(super) fn unmerged(self, windows: &[Window]) -> Result<Vec<Window>, String> {
        let Windows::Sessions { gap } = self else { return Ok(windows.to_vec()) };
        let mut in_order = windows.to_vec();
        in_order.sort();
        let merges = Sessions::with_gap(gap).merge(&in_order).map_err(|e| e.to_string())?;
        let is_part = |w: &Window| {
            merges.iter().any(|MergedWindow { result, sources }| w != result && sources.contains(w))
        };
        Ok(windows.iter().filter(|w| !is_part(w)).cloned().collect())
    }
}

fn trigger(json: &Datum) -> Result<Trigger, String> {
    let all = |name: &str| json.need(name)?.to_list()?.iter().map(trigger).collect::<Result<Vec<_>, _>>();
    let one = |name: &str| trigger(json.need(name)?);
    Ok(match json.need("type")?.to_text()? {
        "default" => Trigger::default(),
        "after_watermark" => {
            let part = |name: &str| json.get(name).filter(|t| **t != Datum::Null).map(trigger).transpose();
            after_watermark(part("early")?, part("late")?)
        }
        "after_count" => Trigger::after_count(count(json.need("n")?)?),
        "after_processing_time" => {
            let delay = json.get("delay_s").map_or(Ok(Duration::ZERO), duration)?;
            Trigger::after_processing_time().delay(delay)
        }
        "repeatedly" => Trigger::repeatedly(one("of")?),
        "after_any" => Trigger::after_any(all("of")?),
        "after_all" => Trigger::after_all(all("of")?),
        "after_each" => Trigger::after_each(all("of")?),
        "or_finally" => one("of")?.or_finally(one("finally")?),
        "always" => Trigger::always(),
        "never" => Trigger::never(),
        other => return Err(format!("`{other}` is no trigger")),
    })
}

pub(super) fn after_watermark(early: Option<Trigger>, late: Option<Trigger>) -> Trigger {
    let trigger = Trigger::after_watermark();
    let trigger = early.into_iter().fold(trigger, Trigger::early);
    late.into_iter().fold(trigger, Trigger::late)
}

pub(super) fn count(json: &Datum) -> Result<u64, String> {
    u64::try_from(json.to_int()?).map_err(|_| format!("{json} is no number of elements"))
}

/// Fixed windows whose results may be a hundred seconds later.
#[derive(Debug)]
struct Later(FixedWindows);

impl WindowFn for Later {
    fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
        self.0.assign(cx, out)
    }

    fn output_time(&self, ts: Timestamp, _: &Window) -> Timestamp {
        ts + Duration::from_secs(100)
    }

    fn validate(&self) -> std::result::Result<(), String> {
        self.0.validate()
    }

    fn spec(&self) -> WindowFnSpec {
        WindowFnSpec { urn: "golden:window_fn:later:v1".into(), ..self.0.spec() }
    }
}
