//! The calls of a keyed DoFn's methods, as in a run of ours.

use std::cell::Cell;

use super::{kernel::KeyedRoot, slot::Slot};
use crate::{
    KeyedDoFn, Phase, PipelineError, Timestamp,
    batch::{Batch, Meta, Row, WindowSet},
    dofn::{EmitRules, Emitter, Observed, ProcessContext, StepScope},
    exec::{Downstream, KernelResult},
    keyed_dofn::{Call, TimerContext, TimerRules},
    state::{KeyedState, TimeDomain, TimerEntry},
    window::PaneInfo,
};

pub(super) type SlotOf<D> = Slot<<D as KeyedDoFn>::Key, <D as KeyedDoFn>::State>;

/// The DoFn at work: everything of the kernel but its slots.
pub(super) struct Calls<'b, D: KeyedDoFn> {
    pub(super) root: &'b mut KeyedRoot<D>,
    pub(super) rules: &'b TimerRules,
}

impl<D: KeyedDoFn> Calls<'_, D> {
    /// Processes the elements of `batch`, each with the slot that `slots` says, in order.
    pub(super) fn elements(
        &mut self,
        batch: &mut Batch<(D::Key, D::Value)>,
        numbers: &[usize],
        slots: &mut [SlotOf<D>],
        down: &mut Downstream<'_>,
    ) -> KernelResult {
        let Batch { values, meta } = batch;
        let Calls { root, rules } = self;
        let KeyedRoot { step, dofn, views, out, tags, .. } = &mut **root;
        down.cx().phase(Phase::Process);
        let scope = StepScope { cx: down.cx(), step, views };
        let first = Row::of(meta, 0);
        let mut pcx = ProcessContext::keyed(scope, first, rules);
        let emit = EmitRules { step, skew: rules.skew, phase: Phase::Process };
        let mut emitter = Emitter::new(out, tags, down.reborrow(), first, emit);
        for ((i, (key, value)), n) in values.drain(..).enumerate().zip(numbers) {
            if scope.cx.control.is_cancelled() {
                return Err(PipelineError::cancelled());
            }
            let Some(slot) = slots.get_mut(*n) else { continue };
            let row = Row::of(meta, i);
            slot.had_element = true;
            pcx.set_row(row);
            emitter.turn_to(row);
            dofn.process(&key, value, &mut slot.state, &pcx, &mut emitter)
                .map_err(|e| PipelineError::user(step.clone(), Phase::Process, e))?;
            emitter.end_row()?;
        }
        Ok(())
    }

    /// Calls `on_timer`.
    pub(super) fn timer(
        &mut self,
        slot: &mut SlotOf<D>,
        (number, tag): (usize, &str),
        (time, entry): (TimeDomain, TimerEntry),
        down: &mut Downstream<'_>,
    ) -> KernelResult {
        let Some(name) = D::State::name_timer(number, tag) else { return Ok(()) };
        let Calls { root, rules } = self;
        let KeyedRoot { step, dofn, views, out, tags, .. } = &mut **root;
        down.cx().phase(Phase::Timer);
        let at = entry.output.unwrap_or(Timestamp::MAX);
        let meta = Meta::constant(at, WindowSet::One(slot.window.clone()), PaneInfo::NO_FIRING);
        let row = Row::of(&meta, 0);
        let scope = StepScope { cx: down.cx(), step, views };
        let tcx = TimerContext::new(scope, rules, &slot.window, Call::Timer(time, entry));
        let emit = EmitRules { step, skew: rules.skew, phase: Phase::Timer };
        let noted = Observed::default();
        let mut emitter = Emitter::new(out, tags, down.reborrow(), row, emit);
        if entry.output.is_none() {
            emitter = emitter.noting(&noted);
        }
        dofn.on_timer(name.clone(), &slot.key, &mut slot.state, &tcx, &mut emitter)
            .map_err(|e| PipelineError::user(step.clone(), Phase::Timer, e))?;
        emitter.end_row()?;
        drop(emitter);
        let mut emitted = false;
        noted.drain(|_| emitted = true);
        if emitted {
            let what = format!(
                "cannot output with timestamp: the timer `{name:?}` was set `without_output_timestamp`, so nothing holds \
                 the watermark for what it emits; set it with an output timestamp"
            );
            return Err(PipelineError::contract(step.clone(), Phase::Timer, what));
        }
        Ok(())
    }

    /// Calls `on_window_expiration`.
    pub(super) fn expiration(&mut self, slot: &mut SlotOf<D>, down: &mut Downstream<'_>) -> KernelResult {
        let Calls { root, rules } = self;
        let KeyedRoot { step, dofn, views, out, tags, .. } = &mut **root;
        let phase = Phase::WindowExpiration;
        down.cx().phase(phase);
        let set = WindowSet::One(slot.window.clone());
        let meta = Meta::constant(slot.window.result_timestamp(), set, PaneInfo::NO_FIRING);
        let row = Row::of(&meta, 0);
        let scope = StepScope { cx: down.cx(), step, views };
        let not_there = Cell::new(false);
        let tcx = TimerContext::new(scope, rules, &slot.window, Call::Expiration { not_there: &not_there });
        let noted = Observed::default();
        let emit = EmitRules { step, skew: rules.skew, phase };
        let mut emitter = Emitter::new(out, tags, down.reborrow(), row, emit).noting(&noted);
        dofn.on_window_expiration(&slot.key, &mut slot.state, &tcx, &mut emitter)
            .map_err(|e| PipelineError::user(step.clone(), phase, e))?;
        emitter.end_row()?;
        drop(emitter);
        let mut latest = Timestamp::MIN;
        noted.drain(|at| latest = latest.max(at));
        if latest > slot.window.max_timestamp() {
            let what = format!(
                "cannot output with timestamp {latest}, after the end of {}, which has expired",
                slot.window
            );
            return Err(PipelineError::contract(step.clone(), phase, what));
        }
        if !not_there.get() && !D::ON_WINDOW_EXPIRATION {
            let what = "it has an `on_window_expiration` and does not say so, so nothing holds the watermark for what \
                        that emits: add `const ON_WINDOW_EXPIRATION: bool = true;` to the `impl KeyedDoFn`";
            return Err(PipelineError::contract(step.clone(), phase, what));
        }
        Ok(())
    }
}
