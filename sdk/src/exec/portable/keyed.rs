//! Keyed DoFns on state and timers of an engine's.
//!
//! Each cell of the state is a bag of bytes of the engine's, by the name of the field. A bundle asks for all cells of the
//! keys that come in it, those of a batch of elements at once, and writes back what has changed when it is done. What is
//! written is records behind their length: a cell as a checkpoint has it, or for a [`Bag`](crate::state::Bag) that only
//! grew, another record with what was added.
//!
//! An engine takes and fires timers, but cannot be asked for them. Since a DoFn can ([`Timer::is_set`]), what is set is
//! kept in a bag of its own, which also tells a timer that fires from one that an element of the same bundle has moved.
//!
//! **When a window expires**, the engine removes its state. A DoFn that is told of that, or has processing-time timers
//! which are then to fire, has one more event-time timer for it: the end of every key and window.
//!
//! [`Timer::is_set`]: crate::state::Timer::is_set

mod calls;
mod fire;
mod kernel;
mod link;
mod slot;

use std::sync::Arc;

pub use link::{KeyedLink, TimerBytes};

use self::kernel::KeyedRoot;
use crate::{
    Duration, KeyedDoFn, Result,
    batch::{AnyBatch, Batch},
    coder::{CoderError, CoderSpec, default_coder},
    coder_slot::CoderSlot,
    exec::{Kernel, KernelSpec, Proto, TagPortMaker},
    state::{KeyedState, TimeDomain},
};

/// The bag of the timers that are set. A field of a struct cannot be called so.
const TIMERS: &str = "purlin:timers";

/// The family of the timers for windows that expire.
const EXPIRY: &str = "purlin:expiry";

/// A cell of one key and window: a bag of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CellAddress {
    /// The bag's name, see [`PortableKeyed::cells`].
    pub cell: Arc<str>,
    /// The window, encoded.
    pub window: Arc<[u8]>,
    /// The key, encoded.
    pub key: Arc<[u8]>,
}

/// The state of a bundle, with the engine. Calls block until there is an answer.
pub trait StateAccess: Send + Sync {
    /// What is in each of these cells: the items of a bag one behind the other, each as bytes behind their length.
    ///
    /// # Errors
    /// When the engine does not give it.
    fn get(&self, cells: &[CellAddress]) -> Result<Vec<Vec<u8>>>;

    /// Adds `items`, each bytes behind their length, to a cell. The engine has it when the bundle is done.
    ///
    /// # Errors
    /// When the engine does not take it.
    fn append(&self, cell: &CellAddress, items: Vec<u8>) -> Result;

    /// Empties a cell. The engine has done it when the bundle is done; what is appended later stays.
    ///
    /// # Errors
    /// When the engine does not do it.
    fn clear(&self, cell: &CellAddress) -> Result;
}

/// A family of timers to be declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortableTimer {
    /// Its name.
    pub name: String,
    /// Whose time it goes by.
    pub time: TimeDomain,
}

/// A keyed DoFn for an engine that keeps state and timers.
pub trait PortableKeyed: Send + Sync {
    /// The names of the bags of bytes that it keeps per key and window.
    fn cells(&self) -> Vec<String>;
    /// The families of timers that it sets.
    fn timers(&self) -> Vec<PortableTimer>;
    /// How keys are encoded.
    ///
    /// # Errors
    /// When their type has no coder.
    fn key(&self) -> std::result::Result<CoderSpec, CoderError>;
    /// Whether a bundle that is tried again must have the same elements.
    fn requires_stable_input(&self) -> bool;
    /// An empty batch of its input.
    fn input(&self) -> AnyBatch;
    /// A kernel that has its state and timers through `link`.
    ///
    /// # Errors
    /// When `link` is for other keys or timers.
    fn kernel(&self, spec: &KernelSpec, link: &Arc<KeyedLink>) -> Result<Box<dyn Kernel>>;
}

/// What makes the kernels of a keyed DoFn.
pub(in crate::exec) struct KeyedOf<D: KeyedDoFn> {
    pub(in crate::exec) dofn: Proto<D>,
    pub(in crate::exec) views: Arc<[Arc<str>]>,
    pub(in crate::exec) coder: CoderSlot<D::Output>,
    pub(in crate::exec) tags: Vec<TagPortMaker>,
    pub(in crate::exec) lateness: Duration,
    pub(in crate::exec) stable_input: bool,
}

/// The cells and timers that a state declares.
#[derive(Clone, Debug)]
struct Layout {
    /// Names of the cells.
    cells: Vec<&'static str>,
    /// Timers and families.
    timers: Vec<(&'static str, TimeDomain)>,
    /// Whether there are timers for windows that expire.
    expiry: bool,
}

impl Layout {
    fn of<D: KeyedDoFn>() -> Layout {
        let (timers, cells): (Vec<_>, Vec<_>) =
            D::State::fields().into_iter().partition(|f| f.time.is_some());
        let timers: Vec<_> = timers.iter().filter_map(|f| Some((f.name, f.time?))).collect();
        let processing = timers.iter().any(|(_, time)| *time == TimeDomain::Processing);
        Layout {
            cells: cells.iter().map(|f| f.name).collect(),
            timers,
            expiry: D::ON_WINDOW_EXPIRATION || processing,
        }
    }

    /// Whether there is a bag for what is set.
    fn keeps_timers(&self) -> bool {
        self.expiry || !self.timers.is_empty()
    }

    /// The names of all bags: the cells', and that of the timers.
    fn bags(&self) -> Vec<&'static str> {
        self.cells.iter().copied().chain(self.keeps_timers().then_some(TIMERS)).collect()
    }

    /// The names of all families of timers, in the order of their numbers.
    fn families(&self) -> Vec<PortableTimer> {
        let own =
            self.timers.iter().map(|(name, time)| PortableTimer { name: (*name).to_owned(), time: *time });
        let expiry = PortableTimer { name: EXPIRY.to_owned(), time: TimeDomain::Event };
        own.chain(self.expiry.then_some(expiry)).collect()
    }
}

impl<D: KeyedDoFn> PortableKeyed for KeyedOf<D> {
    fn cells(&self) -> Vec<String> {
        Layout::of::<D>().bags().into_iter().map(str::to_owned).collect()
    }

    fn timers(&self) -> Vec<PortableTimer> {
        Layout::of::<D>().families()
    }

    fn key(&self) -> std::result::Result<CoderSpec, CoderError> {
        default_coder::<D::Key>().map(|coder| coder.spec())
    }

    fn requires_stable_input(&self) -> bool {
        self.stable_input
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<(D::Key, D::Value)>::default())
    }

    fn kernel(&self, spec: &KernelSpec, link: &Arc<KeyedLink>) -> Result<Box<dyn Kernel>> {
        Ok(Box::new(KeyedRoot::new(&spec.step, self, link.clone())?))
    }
}
