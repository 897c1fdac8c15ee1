//! Keyed DoFns applied to collections.

use std::{fmt, panic::Location, sync::Arc};

use serde_json::{Value, json};

use super::{
    PCollection, ParDoOutputs,
    par_do::{DeclaredTag, outputs_of},
};
use crate::{
    Element, KeyedDoFn, Pipeline, Step, Tag, View,
    coder_slot::CoderSlot,
    exec::{Proto, StatefulOp},
    graph::Op,
    named,
    pipeline::NewNode,
    state::KeyedState,
};

/// A keyed DoFn with what it is given: side inputs, further outputs, and how its input is to come.
///
/// ```
/// # use purlin_sdk::*;
/// # const FIRST: Tag<i64> = Tag::new("first");
/// # #[derive(Clone)]
/// # struct Sessions;
/// # impl KeyedDoFn for Sessions {
/// #     type Key = u64; type Value = i64; type Output = i64; type State = ();
/// #     fn process(&mut self, _: &u64, x: i64, _: &mut (), _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
/// #         out.emit(x); Ok(())
/// #     }
/// # }
/// # let p = Pipeline::new();
/// # let visits = p.create("Visits", [(1_u64, 2_i64)]);
/// let limit = p.create("Limit", [30_i64]).view_as_singleton("AsSingleton");
/// let sessions = KeyedParDo::of(Sessions).side(&limit).tag(FIRST).time_sorted();
/// let outputs = visits.par_do_keyed_with("Sessions", sessions);
/// let (all, first) = (outputs.main(), outputs.tagged(FIRST));
/// # assert!(p.build().is_ok());
/// ```
pub struct KeyedParDo<D: KeyedDoFn> {
    dofn: D,
    views: Vec<Arc<str>>,
    tags: Vec<DeclaredTag>,
    late: Option<Tag<(D::Key, D::Value)>>,
    time_sorted: bool,
    stable_input: bool,
}

impl<D: KeyedDoFn> KeyedParDo<D> {
    /// The DoFn with no side inputs and no further outputs.
    pub fn of(dofn: D) -> KeyedParDo<D> {
        KeyedParDo {
            dofn,
            views: Vec::new(),
            tags: Vec::new(),
            late: None,
            time_sorted: false,
            stable_input: false,
        }
    }

    /// Lets the DoFn read `view`, in `process` and in its timers. May be called several times.
    #[must_use]
    pub fn side<V>(mut self, view: &View<V>) -> KeyedParDo<D> {
        self.views.push(view.path().clone());
        self
    }

    /// Declares a further output. May be called several times.
    #[must_use]
    pub fn tag<T: Element>(mut self, tag: Tag<T>) -> KeyedParDo<D> {
        self.tags.push(DeclaredTag::new(tag));
        self
    }

    /// Declares an output for elements that come too late: each comes out there, with its timestamp, in its window,
    /// and is counted as [`LATE_DATA_OUTPUT`](crate::metrics::LATE_DATA_OUTPUT), instead of being dropped and counted as
    /// [`DROPPED_DUE_TO_LATENESS`](crate::metrics::DROPPED_DUE_TO_LATENESS).
    #[must_use]
    pub fn late_data(mut self, tag: Tag<(D::Key, D::Value)>) -> KeyedParDo<D> {
        self.late = Some(tag);
        self.tag(tag)
    }

    /// The elements of a key and window come in the order of their timestamps; those with the same one in the order in
    /// which they arrived. Each waits, and holds the watermark, until the watermark has passed its timestamp and the
    /// allowed lateness; then all before it have come. One that comes when the watermark has passed that is too late.
    /// Timers of a time between two elements fire between them.
    ///
    /// Source: Beam's `@RequiresTimeSortedInput`.
    #[must_use]
    pub fn time_sorted(mut self) -> KeyedParDo<D> {
        self.time_sorted = true;
        self
    }

    /// A bundle that is tried again has the same elements. Here it always has: this is for other runners.
    ///
    /// Source: Beam's `@RequiresStableInput`.
    #[must_use]
    pub fn stable_input(mut self) -> KeyedParDo<D> {
        self.stable_input = true;
        self
    }

    /// What the graph is to know of it: state, timers, and how its input is to come.
    fn declared(&self, pipeline: &Pipeline, step: &Step) -> Value {
        let mut fields = Vec::new();
        for field in D::State::fields() {
            let coders: Vec<String> = match field.coders {
                Ok(coders) => coders.iter().map(ToString::to_string).collect(),
                Err(e) => {
                    pipeline.error(step, format!("its state `{}` cannot be encoded: {e}", field.name));
                    Vec::new()
                }
            };
            let mut json = json!({ "name": field.name, "kind": field.kind });
            match field.time {
                Some(time) => json["time"] = json!(time),
                None => json["coders"] = json!(coders),
            }
            fields.push(json);
        }
        json!({
            "fields": fields,
            "on_window_expiration": D::ON_WINDOW_EXPIRATION,
            "time_sorted": self.time_sorted,
            "stable_input": self.stable_input,
        })
    }
}

impl<D: KeyedDoFn> fmt::Debug for KeyedParDo<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParDo of {}", std::any::type_name::<D>())
    }
}

impl<K: Element, V: Element> PCollection<(K, V)> {
    /// Applies a DoFn with state and timers.
    #[track_caller]
    pub fn par_do_keyed<D: KeyedDoFn<Key = K, Value = V>>(
        &self,
        name: &str,
        dofn: D,
    ) -> PCollection<D::Output> {
        self.par_do_keyed_at(name, Location::caller(), KeyedParDo::of(dofn)).main()
    }

    /// Applies a DoFn with state and timers, with side inputs and further outputs.
    #[track_caller]
    pub fn par_do_keyed_with<D: KeyedDoFn<Key = K, Value = V>>(
        &self,
        name: &str,
        par_do: KeyedParDo<D>,
    ) -> ParDoOutputs<D::Output> {
        self.par_do_keyed_at(name, Location::caller(), par_do)
    }

    fn par_do_keyed_at<D: KeyedDoFn<Key = K, Value = V>>(
        &self,
        name: &str,
        site: &'static Location<'static>,
        par_do: KeyedParDo<D>,
    ) -> ParDoOutputs<D::Output> {
        let pipeline = self.pipeline();
        let step = pipeline.name(name, site);
        let windowing = self.windowing();
        if windowing.needs_merging() {
            pipeline.error(
                &step,
                format!(
                    "it keeps state per window, and {windowing} merge: two windows with state cannot become one. Group \
                     before it, after which windows no longer merge, or put the elements into windows that do not \
                     (fixed, sliding, global) and find the sessions by a timer"
                ),
            );
        }
        compare_keys::<D>(self.coder_slot());
        let declared = par_do.declared(pipeline, &step);
        let KeyedParDo { dofn, views, tags, late, time_sorted, .. } = par_do;
        let coder = CoderSlot::default_of_type();
        let payload = StatefulOp::<D>::payload(&declared, pipeline.payload(&step, named::payload_of(&dofn)));
        let op = StatefulOp {
            dofn: Proto::new(dofn),
            views: views.clone().into(),
            coder: coder.clone(),
            tags: tags.iter().map(|t| t.port().clone()).collect(),
            late,
            lateness: windowing.allowed_lateness,
            time_sorted,
            declared,
        };
        let op = Op::Group(Arc::new(op));
        let inputs = vec![self.id()];
        let node = pipeline.add_node(NewNode { step: step.clone(), inputs, views, op, payload });
        outputs_of(self, step, node, coder, tags, self.is_bounded())
    }
}

/// What `D` asks of its keys, the collection's methods do not know of theirs.
fn compare_keys<D: KeyedDoFn>(elements: &CoderSlot<(D::Key, D::Value)>) {
    elements.compare(|a, b| a.0 == b.0);
}
