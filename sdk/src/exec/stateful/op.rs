//! What the engine needs of a keyed DoFn.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    kernel::{StatefulRoot, StoreOf},
    store::{Keeping, KeyStore},
};
use crate::{
    DoFnError, Duration, KeyedDoFn, Tag,
    batch::{AnyBatch, Batch},
    coder_slot::CoderSlot,
    exec::{
        AnyTable, BatchCodec, GroupFactory, GroupState, Kernel, KernelSpec, KeyedCollector, PortableGroup,
        Proto, Shard, TagPortMaker, portable::KeyedOf, save::check,
    },
    named,
};

/// Makes everything that a keyed DoFn needs.
pub(crate) struct StatefulOp<D: KeyedDoFn> {
    pub(crate) dofn: Proto<D>,
    pub(crate) views: Arc<[Arc<str>]>,
    pub(crate) coder: CoderSlot<D::Output>,
    pub(crate) tags: Vec<TagPortMaker>,
    pub(crate) late: Option<Tag<(D::Key, D::Value)>>,
    pub(crate) lateness: Duration,
    pub(crate) time_sorted: bool,
    /// What the graph knows of it, without the DoFn's configuration.
    pub(crate) declared: Value,
}

/// Where the DoFn's configuration is in the node's payload.
const DOFN: &str = "keyed_dofn";

impl<D: KeyedDoFn> StatefulOp<D> {
    /// The node's payload: what is declared, and the DoFn's configuration if it is named.
    pub(crate) fn payload(declared: &Value, dofn: Value) -> Value {
        json!({ DOFN: dofn, "state": declared })
    }

    pub(crate) fn store(&self) -> StoreOf<D> {
        KeyStore::new(Keeping {
            lateness: self.lateness,
            expiration: D::ON_WINDOW_EXPIRATION,
            sorted: self.time_sorted,
        })
    }
}

impl<D: KeyedDoFn> GroupFactory for StatefulOp<D> {
    fn urn(&self) -> &'static str {
        "beam:transform:pardo:v1"
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<(D::Key, D::Value)>::default())
    }

    fn codec(&self) -> Arc<dyn BatchCodec> {
        Arc::new(CoderSlot::<(D::Key, D::Value)>::default_of_type())
    }

    fn collector(&self, spec: &KernelSpec, group: usize) -> Box<dyn Kernel> {
        Box::new(KeyedCollector::<D::Key, D::Value>::new(spec.step.clone(), group))
    }

    fn root(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        Box::new(StatefulRoot::new(&spec.step, self))
    }

    fn shard(&self) -> Option<Box<dyn Shard>> {
        None
    }

    fn keyed_state(&self, _n: usize, _groups: usize) -> Option<Box<dyn GroupState>> {
        Some(Box::new(self.store()))
    }

    fn check_savable(&self) -> crate::Result {
        // What the cells hold has coders: they are declared in the graph.
        check::<D::Key>("keys")?;
        if self.time_sorted { check::<D::Value>("values") } else { Ok(()) }
    }

    fn load_shard(&self, _input: &mut &[u8]) -> crate::Result<Box<dyn Shard>> {
        Err(DoFnError::msg("it has key groups, and a shard was given to it"))
    }

    fn load_table(&self, _input: &mut &[u8]) -> crate::Result<Box<dyn AnyTable>> {
        Err(DoFnError::msg("it has key groups, and a table was given to it"))
    }

    fn load_keyed_state(&self, input: &mut &[u8]) -> crate::Result<Box<dyn GroupState>> {
        let mut store = self.store();
        store.load_all(input)?;
        Ok(Box::new(store))
    }

    fn fires_when_empty(&self) -> bool {
        false
    }

    fn portable(&self) -> crate::Result<PortableGroup> {
        if self.late.is_some() {
            return Err(DoFnError::msg(
                "it has an output of what comes too late (`late_data`), and an engine drops that before anybody sees it. \
                 Leave `late_data` out, or allow more lateness",
            ));
        }
        if self.time_sorted {
            return Err(DoFnError::msg(
                "its input is to be sorted by time (`time_sorted`), with timers between the elements, and engines do not \
                 sort for workers: Prism takes the requirement and does nothing about it. Leave `time_sorted` out and let \
                 elements wait in an `OrderedList` for a timer, or run it with --runner=threaded",
            ));
        }
        Ok(PortableGroup::Keyed(Arc::new(KeyedOf {
            dofn: Proto::new(self.dofn.get()),
            views: self.views.clone(),
            coder: self.coder.clone(),
            tags: self.tags.clone(),
            lateness: self.lateness,
            stable_input: self.declared.get("stable_input").and_then(Value::as_bool).unwrap_or(false),
        })))
    }

    fn with_payload(&self, payload: &Value) -> crate::Result<Option<Arc<dyn GroupFactory>>> {
        let declared = payload.get("state").unwrap_or(&Value::Null);
        if *declared != self.declared {
            return Err(DoFnError::msg(format!("its state was {declared} and is {}", self.declared)));
        }
        let config = payload.get(DOFN).unwrap_or(&Value::Null);
        if config.is_null() {
            return Ok(None);
        }
        let Some(dofn) = named::restored::<D>(config)? else { return Ok(None) };
        Ok(Some(Arc::new(StatefulOp {
            dofn: Proto::new(dofn),
            views: self.views.clone(),
            coder: self.coder.clone(),
            tags: self.tags.clone(),
            late: self.late,
            lateness: self.lateness,
            time_sorted: self.time_sorted,
            declared: self.declared.clone(),
        })))
    }
}
