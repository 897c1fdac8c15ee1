//! What came out, and whether it is what should have.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use purlin_sdk::{
    Element, PCollection, Timestamp,
    window::{PaneInfo, PaneTiming, Window},
};

use super::datum::Datum;

/// One output, with everything that goes with it.
#[derive(Clone, Debug)]
pub(super) struct Output {
    /// How many marks had come.
    pub(super) step: usize,
    pub(super) label: String,
    pub(super) key: Datum,
    pub(super) value: Datum,
    pub(super) window: Window,
    pub(super) timestamp: Timestamp,
    pub(super) pane: PaneInfo,
}

/// Takes down what comes out of a pipeline, and after which event. Clones share one list.
///
/// Outputs are taken down when they are processed: no bundle of a case fails, and finalizers may still be running when
/// the next event happens.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder {
    step: Arc<AtomicUsize>,
    outputs: Arc<Mutex<Vec<Output>>>,
}

impl Recorder {
    /// What a script is to call when an event has been worked off.
    pub(super) fn mark(&self) -> impl Fn() + Send + Sync + 'static + use<> {
        let step = self.step.clone();
        move || {
            step.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Takes down what is in `pc`, under a label.
    #[track_caller]
    pub(super) fn record(&self, label: &str, pc: &PCollection<(Datum, Datum)>) {
        let own = label.to_owned();
        self.record_as(&format!("Record {label}"), pc, move |(key, value)| (own.clone(), key, value));
    }

    /// Takes down what is in `pc`: of each element `what` says label, key and value.
    #[track_caller]
    pub(super) fn record_as<T: Element>(
        &self,
        name: &str,
        pc: &PCollection<T>,
        what: impl Fn(T) -> (String, Datum, Datum) + Clone + Send + 'static,
    ) {
        let recorder = self.clone();
        pc.map_cx(name, move |element, cx| {
            let (label, key, value) = what(element);
            let (window, timestamp, pane) = (cx.window(), cx.timestamp(), cx.pane());
            let step = recorder.step.load(Ordering::SeqCst);
            recorder.lock().push(Output { step, label, key, value, window, timestamp, pane });
            Ok(())
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Output>> {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that came out.
    pub(super) fn take(&self) -> Vec<Output> {
        std::mem::take(&mut self.lock())
    }
}

impl Output {
    /// The timing of the pane, as cases write it.
    pub(super) fn timing(&self) -> &'static str {
        match self.pane.timing {
            PaneTiming::Early => "EARLY",
            PaneTiming::OnTime => "ON_TIME",
            PaneTiming::Late => "LATE",
            PaneTiming::Unknown => "UNKNOWN",
        }
    }

    /// The output as a record of a scenario.
    fn record(&self) -> Datum {
        let pane = Datum::map([
            ("timing", Datum::text(self.timing())),
            ("index", Datum::Int(self.pane.index)),
            ("nonspeculative_index", Datum::Int(self.pane.on_time_index)),
            ("is_first", Datum::Bool(self.pane.is_first)),
            ("is_last", Datum::Bool(self.pane.is_last)),
        ]);
        Datum::map([
            ("output", Datum::text(&self.label)),
            ("key", self.key.clone()),
            ("value", self.value.clone()),
            ("window", window(&self.window)),
            ("timestamp", self.time()),
            ("pane", pane),
        ])
    }

    fn time(&self) -> Datum {
        match self.timestamp {
            Timestamp::MIN => Datum::text("-infinity"),
            Timestamp::MAX => Datum::text("infinity"),
            ts if ts == self.window.max_timestamp() => Datum::text("window_max"),
            ts => Datum::seconds(ts.as_millis()),
        }
    }

    /// Whether the output is what a record says of it.
    pub(super) fn fits(&self, expected: &Datum) -> bool {
        let own = self.record();
        let fits = |(name, value): &(Datum, Datum)| match (name.as_text(), value) {
            // A number for the window's last timestamp is one too.
            (Some("timestamp"), Datum::Int(_) | Datum::Float(_)) => {
                value.to_millis().is_ok_and(|ms| ms == self.timestamp.as_millis())
            }
            (Some("pane"), Datum::Map(parts)) => {
                let pane = own.get("pane");
                parts.iter().all(|(part, value)| {
                    let own = part.as_text().and_then(|part| pane?.get(part));
                    own.is_some_and(|own| own.same(value))
                })
            }
            (Some(name), value) => own.get(name).is_some_and(|own| own.same(value)),
            (None, _) => false,
        };
        expected.to_entries().is_ok_and(|entries| entries.iter().all(fits))
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record().fmt(f)
    }
}

fn window(window: &Window) -> Datum {
    match window {
        Window::Global => Datum::text("global"),
        Window::Interval(w) => {
            let ends = [w.start(), w.end()].map(|ts| Datum::seconds(ts.as_millis()));
            Datum::List(ends.into())
        }
        Window::Custom(_) => Datum::text(window.to_string()),
    }
}

/// Pairs each of the `expected` with an output of its own that fits it, as far as that goes. Gives the numbers of the
/// expectations and of the outputs that stay alone.
pub(super) fn match_up<T>(
    expected: &[Datum],
    outputs: &[T],
    fits: impl Fn(&T, &Datum) -> bool,
) -> (Vec<usize>, Vec<usize>) {
    // An expectation may fit several outputs, so one that has found its own may have to give it up for another.
    fn find(e: usize, edges: &[Vec<usize>], taken: &mut [Option<usize>], seen: &mut [bool]) -> bool {
        for &o in &edges[e] {
            if !std::mem::replace(&mut seen[o], true)
                && taken[o].is_none_or(|other| find(other, edges, taken, seen))
            {
                taken[o] = Some(e);
                return true;
            }
        }
        false
    }
    let edges: Vec<Vec<usize>> =
        expected.iter().map(|e| (0..outputs.len()).filter(|o| fits(&outputs[*o], e)).collect()).collect();
    let mut taken = vec![None; outputs.len()];
    let alone =
        (0..expected.len()).filter(|e| !find(*e, &edges, &mut taken, &mut vec![false; outputs.len()]));
    let alone = alone.collect();
    (alone, (0..outputs.len()).filter(|o| taken[*o].is_none()).collect())
}

/// Compares outputs with the records of a scenario, as multisets.
///
/// # Errors
/// What was expected and is not there, and what is there and was not expected.
pub(super) fn compare(expected: &[Datum], outputs: &[Output]) -> Result<(), String> {
    let (missing, extra) = match_up(expected, outputs, Output::fits);
    if missing.is_empty() && extra.is_empty() {
        return Ok(());
    }
    let expected: Vec<String> = missing.iter().map(|e| expected[*e].to_string()).collect();
    let got: Vec<String> = extra.iter().map(|o| outputs[*o].to_string()).collect();
    Err(format!("expected [{}], got [{}]", expected.join(", "), got.join(", ")))
}
