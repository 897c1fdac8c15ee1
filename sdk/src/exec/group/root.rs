//! The start of a stage behind a grouping: a window that closed.

use std::sync::Arc;

use hashbrown::hash_map::Entry;

use super::{Fold, WindowTable};
use crate::{
    Key, Phase, PipelineError, Step,
    batch::{BATCH_SIZE, ErasedBatch, Meta, Row, WindowSet},
    coder_slot::CoderSlot,
    exec::{AnyTable, BundleInput, Downstream, Kernel, KernelResult, Port},
    window::{PaneInfo, Window},
};

/// All of a window, and whether it was merged from slices.
pub(super) type Merged<K, F> = (WindowTable<K, F>, bool);

/// Merges what the shards have gathered for a window and emits it.
pub(super) struct WindowRoot<K: Key, F: Fold> {
    step: Step,
    fold: F,
    // What to emit for when nothing was gathered: the key of a global combine with a default.
    default_key: Option<K>,
    out: Port<(K, F::Output)>,
    // Tables that were emptied, for the shards to use again.
    spare: Vec<Box<dyn AnyTable>>,
    // The table that the last window's slices were merged in: the next window has about as many keys.
    merged: Option<WindowTable<K, F>>,
}

impl<K: Key, F: Fold> WindowRoot<K, F> {
    pub(super) fn new(
        step: &Step,
        fold: F,
        default_key: Option<K>,
        coder: &CoderSlot<(K, F::Output)>,
    ) -> WindowRoot<K, F> {
        WindowRoot {
            step: step.clone(),
            fold,
            default_key,
            out: Port::new(0, step, coder),
            spare: Vec::new(),
            merged: None,
        }
    }

    /// All of a window in one table, and whether it was merged from slices.
    pub(super) fn merge(
        &mut self,
        tables: Vec<Box<dyn AnyTable>>,
    ) -> Result<Option<Merged<K, F>>, PipelineError> {
        let mut typed = Vec::with_capacity(tables.len());
        let mut parts = Vec::new();
        for table in tables {
            let mut table = *table.into_any().downcast::<WindowTable<K, F>>().map_err(|_| {
                PipelineError::runner(format!("{} was given tables of another grouping", self.step))
            })?;
            parts.append(&mut table.parts);
            typed.push(table);
        }
        // The largest stays where it is and the others move into it.
        typed.sort_by_key(|t| t.accs.len());
        let Some(mut all) = typed.pop() else { return Ok(None) };
        for table in typed {
            self.move_into(&mut all, table);
        }
        if all.accs.is_empty() && !parts.is_empty() {
            all = self.merged.take().unwrap_or(all);
        }
        let sliced = !parts.is_empty();
        for part in parts {
            self.merge_part(&mut all, part);
        }
        Ok(Some((all, sliced)))
    }

    fn move_into(&mut self, all: &mut WindowTable<K, F>, mut table: WindowTable<K, F>) {
        for (key, acc) in table.accs.drain() {
            match all.accs.entry(key) {
                Entry::Occupied(mut e) => self.fold.merge(e.get_mut(), acc),
                Entry::Vacant(e) => {
                    e.insert(acc);
                }
            }
        }
        for (key, ts) in table.times.drain() {
            all.merge_time(key, ts);
        }
        if table.accs.capacity() > 0 {
            self.spare.push(Box::new(table));
        }
    }

    /// Merges what was gathered for a slice. Other windows may need it as well.
    fn merge_part(&mut self, all: &mut WindowTable<K, F>, part: Arc<WindowTable<K, F>>) {
        let part = match Arc::try_unwrap(part) {
            Ok(table) => return self.move_into(all, table),
            Err(shared) => shared,
        };
        all.accs.reserve(part.accs.len().saturating_sub(all.accs.len()));
        for (key, acc) in &part.accs {
            match all.accs.entry(key.clone()) {
                Entry::Occupied(mut e) => self.fold.merge(e.get_mut(), acc.clone()),
                Entry::Vacant(e) => {
                    e.insert(acc.clone());
                }
            }
        }
        for (key, ts) in &part.times {
            all.merge_time(key.clone(), *ts);
        }
    }

    fn emit(
        &mut self,
        window: &Window,
        table: &mut WindowTable<K, F>,
        down: &mut Downstream<'_>,
    ) -> KernelResult {
        let meta = Meta::constant(
            window.result_timestamp(),
            WindowSet::One(window.clone()),
            PaneInfo::ON_TIME_AND_ONLY,
        );
        let same_time = table.times.is_empty();
        self.out.batch.meta.clone_from(&meta);
        for (key, acc) in table.accs.drain() {
            let value = if same_time {
                (key, self.fold.extract(acc))
            } else {
                let timestamp = table.times.get(&key).copied();
                let row = Row { timestamp, ..Row::of(&meta, 0) };
                self.out.batch.meta.append(self.out.batch.values.len(), row, 1);
                (key, self.fold.extract(acc))
            };
            self.out.batch.values.push(value);
            if self.out.batch.len() >= BATCH_SIZE {
                self.out.flush_full(down)?;
                self.out.batch.meta.clone_from(&meta);
                down.cx().phase(Phase::ExtractOutput);
            }
        }
        Ok(())
    }
}

impl<K: Key, F: Fold> Kernel for WindowRoot<K, F> {
    fn run(&mut self, _input: &mut dyn ErasedBatch, _down: &mut Downstream<'_>) -> KernelResult {
        Err(PipelineError::runner(format!("{} was given elements where it takes windows", self.step)))
    }

    fn run_root(&mut self, input: BundleInput, down: &mut Downstream<'_>) -> KernelResult {
        let BundleInput::Window { window, tables } = input else {
            return Err(PipelineError::runner(format!(
                "{} was given something else than a window",
                self.step
            )));
        };
        down.cx().phase(Phase::MergeAccumulators);
        let (mut table, sliced) = self.merge(tables)?.unwrap_or_else(|| (WindowTable::empty(), false));
        if let (Some(key), true, Window::Global) = (&self.default_key, table.accs.is_empty(), &window) {
            table.accs.insert(key.clone(), self.fold.create());
        }
        down.cx().phase(Phase::ExtractOutput);
        self.emit(&window, &mut table, down)?;
        if sliced {
            self.merged = Some(table.emptied());
        } else {
            self.spare.push(Box::new(table));
        }
        down.cx().effects().spare_tables.append(&mut self.spare);
        self.out.flush(down)
    }
}
