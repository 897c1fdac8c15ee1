//! Side inputs, whose elements the engine has.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use purlin_sdk::{
    DoFnError, Result,
    coder::{CoderSpec, encode_window},
    exec::{ViewFactory, ViewSource, ViewValue, WireCodec},
    graph::{Graph, Op},
    window::{Window, WindowFn},
};

use super::{coders::coder_tree, state::BundleState};
use crate::proto::{
    fn_execution::{
        ProcessBundleDescriptor,
        state_key::{IterableSideInput, Type},
    },
    pipeline::ParDoPayload,
};

/// What the local names of side inputs begin with; the path of the view is behind it.
const SIDE: &str = "side:";

/// Where all elements of a window are at one place: what a coder of windowed values has that writes only values.
const ONE_PLACE: &[u8] = b"\x80\0\0\0\0\0\0\0\0\0\0\x01\x0f\0";

/// How the side inputs of a stage are read, by the path of the view.
#[derive(Default)]
pub(super) struct SidePlan(BTreeMap<String, Side>);

/// One side input.
struct Side {
    /// A transform that reads it, and its name there.
    transform: String,
    name: String,
    view: Arc<dyn ViewFactory>,
    window_fn: Arc<dyn WindowFn>,
    window: CoderSpec,
    codec: Arc<dyn WireCodec>,
}

impl SidePlan {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes in the side inputs of the transform `id`.
    ///
    /// # Errors
    /// When one is none of this pipeline's.
    pub(super) fn add(
        &mut self,
        id: &str,
        par_do: &ParDoPayload,
        descriptor: &ProcessBundleDescriptor,
        graph: &Graph,
    ) -> Result<(), String> {
        for name in par_do.side_inputs.keys() {
            let path = name
                .strip_prefix(SIDE)
                .ok_or_else(|| format!("`{id}` has the side input `{name}`, which is none of ours"))?;
            if self.0.contains_key(path) {
                continue;
            }
            let side = side(id, name, path, descriptor, graph)
                .map_err(|e| format!("the side input `{path}` of `{id}`: {e}"))?;
            self.0.insert(path.to_owned(), side);
        }
        Ok(())
    }
}

fn side(
    id: &str,
    name: &str,
    path: &str,
    descriptor: &ProcessBundleDescriptor,
    graph: &Graph,
) -> Result<Side, String> {
    let node = graph.nodes.iter().find(|node| node.step.path() == path);
    let Some((view, input)) = node.and_then(|node| match (&node.op, node.inputs.first()) {
        (Op::View(view), Some(input)) => Some((view.clone(), &graph.collections[input.0])),
        _ => None,
    }) else {
        return Err("this pipeline has no such side input".to_owned());
    };
    let collection = descriptor.transforms.get(id).and_then(|t| t.inputs.get(name));
    let collection = collection.and_then(|c| descriptor.pcollections.get(c));
    let collection = collection.ok_or("the descriptor does not say which collection it is")?;
    let strategy = descriptor.windowing_strategies.get(&collection.windowing_strategy_id);
    let strategy = strategy.ok_or("the descriptor does not say how it is windowed")?;
    let value = Box::new(coder_tree(&descriptor.coders, &collection.coder_id)?);
    let window = coder_tree(&descriptor.coders, &strategy.window_coder_id)?;
    let values = CoderSpec::ParamWindowedValue {
        value,
        window: Box::new(CoderSpec::GlobalWindow),
        constant: ONE_PLACE.to_vec(),
    };
    let codec = input.codec.wire(&values).map_err(|e| e.to_string())?;
    Ok(Side {
        transform: id.to_owned(),
        name: name.to_owned(),
        view,
        window_fn: input.strategy.window_fn.clone(),
        window,
        codec,
    })
}

/// The side inputs of one bundle: each window is asked for once.
pub(super) struct Sides {
    plan: Arc<SidePlan>,
    state: Arc<BundleState>,
    values: Mutex<HashMap<String, HashMap<Window, ViewValue>>>,
}

impl Sides {
    pub(super) fn new(plan: Arc<SidePlan>, state: Arc<BundleState>) -> Sides {
        Sides { plan, state, values: Mutex::default() }
    }

    fn known(&self, path: &str, window: &Window) -> Option<ViewValue> {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.get(path).and_then(|windows| windows.get(window)).cloned()
    }

    fn fetch(&self, side: &Side, window: &Window) -> Result<ViewValue> {
        let mut bytes = Vec::new();
        encode_window(&side.window, window, &mut bytes)?;
        let key = Type::IterableSideInput(IterableSideInput {
            transform_id: side.transform.clone(),
            side_input_id: side.name.clone(),
            window: bytes,
        });
        let elements = self.state.get(&[key])?.pop().unwrap_or_default();
        side.view.value_of(vec![side.codec.read(&mut &elements[..], usize::MAX)?])
    }
}

impl ViewSource for Sides {
    fn window_fn(&self, path: &str) -> Option<Arc<dyn WindowFn>> {
        self.plan.0.get(path).map(|side| side.window_fn.clone())
    }

    fn value(&self, path: &str, window: &Window) -> Result<ViewValue> {
        if let Some(value) = self.known(path, window) {
            return Ok(value);
        }
        let side = self.plan.0.get(path);
        let side =
            side.ok_or_else(|| DoFnError::msg(format!("the engine has no side input `{path}` here")))?;
        // Not under the lock: it waits for the engine, and a coder is the user's.
        let value = self.fetch(side, window)?;
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.entry(path.to_owned()).or_default().insert(window.clone(), value.clone());
        Ok(value)
    }
}
