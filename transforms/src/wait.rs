//! Elements that wait for other collections.

use std::fmt;

use purlin_sdk::{
    Element, Emitter, ListView, PCollection, PTransform, ParDo, ProcessContext, View, WindowInto,
    window::Trigger,
};

/// Lets elements wait until other collections, the *signals*, are complete for their window: begin to read a table when
/// everything was written to it.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::Wait;
/// # let p = Pipeline::new();
/// let rows = p.create("Rows", ["a", "b"].map(str::to_owned));
/// let written: PCollection<()> = rows.map("Write", |_row| ());
/// let users = p.create("Users", [1, 2]).apply("AfterWrite", Wait::on(&written));
/// let orders = p.create("Orders", [7]);
/// let both: PCollection<i32> = users.apply("AfterBoth", Wait::on(&written).and(&orders));
/// # p.build().unwrap();
/// ```
/// - An element is released when, of every signal, the window that belongs to its own can get nothing more: when the
///   signal's watermark has passed that window's end and the allowed lateness. Which window it is, is known as for a side
///   input: the earliest that holds the last timestamp of the element's window. A signal without elements is complete in
///   the same way, and so is one that has ended.
/// - What a signal holds does not matter, and is not kept. A trigger that fires early says nothing: elements wait for the
///   last pane.
/// - Until then the element waits with its timestamp, window and pane, and holds the watermark. An element whose window
///   expired long ago is dropped as late, as by every transform with side inputs.
/// - A signal without an end in the global window is never complete, and one in windows that merge has no window that
///   belongs to another's: both are build errors.
///
/// Source: Beam's `Wait`.
pub struct Wait {
    signals: Vec<Box<dyn Signal>>,
}

impl Wait {
    /// Waits for `signal`.
    pub fn on<S: Element>(signal: &PCollection<S>) -> Wait {
        Wait { signals: Vec::new() }.and(signal)
    }

    /// Waits for all of `signals`; for none, not at all.
    pub fn on_all<S: Element>(signals: impl IntoIterator<Item = PCollection<S>>) -> Wait {
        signals.into_iter().fold(Wait { signals: Vec::new() }, |wait, signal| wait.and(&signal))
    }

    /// Waits for `signal` too.
    #[must_use]
    pub fn and<S: Element>(mut self, signal: &PCollection<S>) -> Wait {
        self.signals.push(Box::new(signal.clone()));
        self
    }
}

impl<T: Element> PTransform<PCollection<T>> for Wait {
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<T> {
        let release = |x: T, _: &ProcessContext<'_>, out: &mut Emitter<'_, T>| {
            out.emit(x);
            Ok(())
        };
        let mut par_do = ParDo::from_fn(release);
        for (i, signal) in self.signals.iter().enumerate() {
            if let Some(complete) = signal.complete(i + 1) {
                par_do = par_do.side(&complete);
            }
        }
        input.par_do_with("Release", par_do).main()
    }
}

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wait on {} signals", self.signals.len())
    }
}

/// A collection of whatever type.
trait Signal {
    /// A side input that is ready in a window when the collection is complete there; none when it never is.
    fn complete(&self, n: usize) -> Option<View<ListView<()>>>;
}

impl<S: Element> Signal for PCollection<S> {
    #[track_caller]
    fn complete(&self, n: usize) -> Option<View<ListView<()>>> {
        if !self.is_bounded() && self.windowing().window_fn.is_global() {
            self.pipeline().build_error(format!(
                "it waits for a signal without an end in the global window, {self:?}, which is never complete, also under \
                 a trigger that fires early. Put the signal into windows by `window_into`, or wait for one with an end"
            ));
            return None;
        }
        // Without elements there is no pane that could make it ready before its window is over.
        let nothing = self.flat_map(&format!("Forget{n}"), |_| None::<()>);
        let last = WindowInto::same().trigger(Trigger::default()).discarding();
        Some(nothing.window_into(&format!("Last{n}"), last).view_as_list(&format!("Complete{n}")))
    }
}
