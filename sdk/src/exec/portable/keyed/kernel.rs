//! A keyed DoFn at work for an engine.

use std::{
    cell::Cell,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    KeyedLink, KeyedOf, Layout, TimerBytes,
    calls::{Calls, SlotOf},
    slot::{Slot, bags_of},
};
use crate::{
    DoFnError, KeyedDoFn, Phase, PipelineError, Result, Step, Timestamp,
    batch::{Batch, ErasedBatch, Row},
    coder::{
        Coder, CoderRef, CoderSpec, Context, TimerCoder, TimerData, TimerFiring, default_coder,
        encode_window, rewrapped,
    },
    dofn::{BundleContext, BundleEmitter, SetupContext, StepScope},
    exec::{BundleCx, Downstream, Kernel, KernelResult, Port, TagPort},
    keyed_dofn::TimerRules,
    state::TimeDomain,
    window::{PaneInfo, Window},
};

/// A family of timers.
pub(super) struct Family<K> {
    pub(super) name: String,
    pub(super) time: TimeDomain,
    pub(super) coder: TimerCoder<K>,
}

/// Timers go out in pieces of about so many bytes, which every engine takes.
const PIECE: usize = 1 << 20;

/// When a timer fires. One that holds nothing holds the window's expiry, at which it fires at the latest: an engine that
/// removes state as soon as the output watermark lets it must not do so before.
fn firing(fire_timestamp: Timestamp, hold: Option<Timestamp>, expiry: Timestamp) -> TimerFiring {
    TimerFiring { fire_timestamp, hold_timestamp: hold.unwrap_or(expiry), pane: PaneInfo::NO_FIRING }
}

/// The kernel of a keyed DoFn whose state and timers are an engine's.
pub(super) struct KeyedRoot<D: KeyedDoFn> {
    pub(super) step: Step,
    pub(super) dofn: D,
    pub(super) views: Arc<[Arc<str>]>,
    pub(super) out: Port<D::Output>,
    pub(super) tags: Vec<TagPort>,
    pub(super) layout: Layout,
    /// By the numbers of the timers; that of windows that expire is the last.
    pub(super) families: Vec<Family<D::Key>>,
    pub(super) lateness: crate::Duration,
    link: Arc<KeyedLink>,
    bags: Vec<Arc<str>>,
    key: CoderRef<D::Key>,
    window: CoderSpec,
    /// The keys and windows of the bundle.
    pub(super) slots: Vec<SlotOf<D>>,
    numbers: HashMap<Window, HashMap<D::Key, usize>>,
    /// The number of the next timer that is set.
    pub(super) order: u64,
}

impl<D: KeyedDoFn> KeyedRoot<D> {
    pub(super) fn new(step: &Step, of: &KeyedOf<D>, link: Arc<KeyedLink>) -> Result<KeyedRoot<D>> {
        let layout = Layout::of::<D>();
        let own = default_coder::<D::Key>()?;
        let key = rewrapped(&own, &link.key)?;
        let mut families = Vec::new();
        for family in layout.families() {
            let Some(CoderSpec::Timer(key, window)) = link.families.get(&family.name) else {
                let what = format!("the engine was to have the timers `{}` and has none", family.name);
                return Err(DoFnError::msg(what));
            };
            let coder = TimerCoder::new(rewrapped(&own, key)?, (**window).clone())?;
            families.push(Family { name: family.name, time: family.time, coder });
        }
        Ok(KeyedRoot {
            step: step.clone(),
            dofn: of.dofn.get(),
            views: of.views.clone(),
            out: Port::new(0, step, &of.coder),
            tags: of.tags.iter().enumerate().map(|(i, t)| t.port(i + 1, step)).collect(),
            bags: layout.bags().into_iter().map(Arc::from).collect(),
            layout,
            families,
            lateness: of.lateness,
            window: link.window.clone(),
            link,
            key,
            slots: Vec::new(),
            numbers: HashMap::new(),
            order: 0,
        })
    }

    pub(super) fn failed(&self, phase: Phase, cause: DoFnError) -> PipelineError {
        PipelineError::user(self.step.clone(), phase, cause)
    }

    fn flush(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        self.out.flush(down)?;
        self.tags.iter_mut().try_for_each(|t| t.port.flush(down))
    }

    pub(super) fn rules(&self, now: Timestamp) -> TimerRules {
        TimerRules {
            lateness: self.lateness,
            skew: self.dofn.allowed_timestamp_skew(),
            now: Cell::new(now),
            order: Cell::new(self.order),
        }
    }

    /// The numbers of the slots of keys and windows, in order. What the bundle does not know yet is fetched, all at once.
    pub(super) fn open<'k>(
        &mut self,
        keys: impl Iterator<Item = (&'k D::Key, Window)>,
    ) -> Result<Vec<usize>> {
        let known = self.slots.len();
        let mut numbers = Vec::new();
        for (key, window) in keys {
            if let Some(n) = self.numbers.get(&window).and_then(|keys| keys.get(key)) {
                numbers.push(*n);
                continue;
            }
            let mut bytes = (Vec::new(), Vec::new());
            encode_window(&self.window, &window, &mut bytes.0)?;
            self.key.encode(key, Context::Nested, &mut bytes.1)?;
            let n = self.slots.len();
            self.numbers.entry(window.clone()).or_default().insert(key.clone(), n);
            self.slots.push(Slot::new(key.clone(), window, bags_of(&self.bags, bytes.0, bytes.1)));
            numbers.push(n);
        }
        let new = &mut self.slots[known..];
        if self.bags.is_empty() || new.is_empty() {
            return Ok(numbers);
        }
        let wanted: Vec<_> = new.iter().flat_map(|slot| slot.bags().iter().cloned()).collect();
        let mut contents = self.link.state()?.get(&wanted)?.into_iter();
        for slot in new {
            let next = slot.load(&self.layout, contents.by_ref().take(self.bags.len()).collect())?;
            self.order = self.order.max(next);
        }
        Ok(numbers)
    }

    fn elements(&mut self, batch: &mut Batch<(D::Key, D::Value)>, down: &mut Downstream<'_>) -> KernelResult {
        batch.explode();
        let windows = |i| Row::of(&batch.meta, i).windows().as_slice().first().cloned();
        let keys = batch.values.iter().enumerate().filter_map(|(i, (key, _))| Some((key, windows(i)?)));
        // After `explode` each element is in one window.
        let numbers = self.open(keys).map_err(|e| self.failed(Phase::Process, e))?;
        if numbers.is_empty() {
            return Ok(());
        }
        let rules = self.rules(down.cx().now);
        let mut slots = std::mem::take(&mut self.slots);
        let done = Calls { root: self, rules: &rules }.elements(batch, &numbers, &mut slots, down);
        self.slots = slots;
        self.order = rules.order.get();
        batch.clear();
        done
    }

    /// The timers that the engine fires, by slot.
    pub(super) fn fired(&mut self) -> Result<Vec<(usize, usize, String, TimerFiring)>> {
        let mut all: Vec<(usize, TimerData<D::Key>)> = Vec::new();
        for TimerBytes { family, timers } in self.link.take_fired() {
            let Some(number) = self.families.iter().position(|f| f.name == family) else {
                return Err(DoFnError::msg(format!(
                    "the engine fires a timer `{family}`, which it does not have"
                )));
            };
            let mut rest = &timers[..];
            while !rest.is_empty() {
                all.push((number, self.families[number].coder.decode(&mut rest, Context::Nested)?));
            }
        }
        let keys = all.iter().flat_map(|(_, timer)| timer.windows.iter().map(|w| (&timer.key, w.clone())));
        let mut slots = self.open(keys)?.into_iter();
        let mut fired = Vec::new();
        for (number, timer) in &all {
            for n in slots.by_ref().take(timer.windows.len()) {
                // One that is cleared does not fire.
                if let Some(firing) = timer.firing {
                    fired.push((n, *number, timer.tag.clone(), firing));
                }
            }
        }
        Ok(fired)
    }

    /// Writes everything back that has changed.
    fn store(&mut self) -> Result {
        let expiry = self.layout.expiry.then(|| self.families.len() - 1);
        let mut pieces: BTreeMap<usize, Vec<Vec<u8>>> = BTreeMap::new();
        for slot in &mut self.slots {
            let mut set: Vec<(usize, String, Option<TimerFiring>)> = Vec::new();
            let end = slot.window.expiry(self.lateness);
            for ((number, tag), entry) in slot.timer_changes() {
                let firing = entry.map(|entry| firing(entry.fire, entry.output, end));
                set.push((number, tag, firing));
            }
            if let (Some(number), true) = (expiry, slot.waits_for_expiry::<D>(&self.families)) {
                let hold = D::ON_WINDOW_EXPIRATION.then(|| slot.window.result_timestamp());
                set.push((number, String::new(), Some(firing(end, hold, end))));
                slot.expiry = true;
            }
            for (number, tag, firing) in set {
                let windows = vec![slot.window.clone()];
                let timer = TimerData { key: slot.key.clone(), tag, windows, firing };
                let of = pieces.entry(number).or_default();
                if of.last().is_none_or(|piece| piece.len() >= PIECE) {
                    of.push(Vec::new());
                }
                if let Some(piece) = of.last_mut() {
                    self.families[number].coder.encode(&timer, Context::Nested, piece)?;
                }
            }
        }
        let pieces = pieces.into_iter().flat_map(|(n, of)| of.into_iter().map(move |timers| (n, timers)));
        let named = |(n, timers): (usize, _)| TimerBytes { family: self.families[n].name.clone(), timers };
        self.link.set(pieces.map(named).collect());
        if !self.bags.is_empty() && !self.slots.is_empty() {
            let access = self.link.state()?;
            self.slots.iter_mut().try_for_each(|slot| slot.store(&self.layout, &*access))?;
        }
        self.forget();
        Ok(())
    }

    fn forget(&mut self) {
        self.slots.clear();
        self.numbers.clear();
        self.order = 0;
    }
}

impl<D: KeyedDoFn> Kernel for KeyedRoot<D> {
    fn setup(&mut self, cx: &BundleCx) -> KernelResult {
        let scope = StepScope { cx, step: &self.step, views: &self.views };
        self.dofn.setup(&SetupContext::new(scope)).map_err(|e| self.failed(Phase::Setup, e))
    }

    fn start(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        self.forget();
        let scope = StepScope { cx: down.cx(), step: &self.step, views: &self.views };
        self.dofn.start_bundle(&BundleContext::new(scope)).map_err(|e| self.failed(Phase::StartBundle, e))
    }

    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(batch) = input.as_any().downcast_mut() else {
            return Err(PipelineError::runner(format!("{} was given elements of another type", self.step)));
        };
        self.elements(batch, down)?;
        self.flush(down)
    }

    fn finish(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        self.times(down)?;
        self.flush(down)?;
        down.cx().phase(Phase::FinishBundle);
        let KeyedRoot { step, dofn, views, out, tags, .. } = self;
        let scope = StepScope { cx: down.cx(), step, views };
        let mut emitter = BundleEmitter::new(out, tags, down.reborrow(), step);
        dofn.finish_bundle(&BundleContext::new(scope), &mut emitter)
            .map_err(|e| PipelineError::user(step.clone(), Phase::FinishBundle, e))?;
        emitter.end()?;
        self.flush(down)
    }

    fn seal(&mut self, _cx: &BundleCx) -> KernelResult {
        self.store().map_err(|e| self.failed(Phase::FinishBundle, e))
    }

    fn teardown(&mut self, cx: &BundleCx) -> KernelResult {
        let scope = StepScope { cx, step: &self.step, views: &self.views };
        self.dofn.teardown(&SetupContext::new(scope)).map_err(|e| self.failed(Phase::Teardown, e))
    }
}
