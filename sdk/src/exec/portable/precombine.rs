//! Combining before the data are sent.

use std::{collections::HashMap as StdMap, sync::Arc};

use foldhash::fast::FixedState;
use hashbrown::{HashMap, hash_map::Entry};

use super::PortablePart;
use crate::{
    Element, Key, Phase, Timestamp,
    batch::{Batch, ErasedBatch, Meta, Row, WindowSet},
    coder_slot::CoderSlot,
    exec::{Downstream, Fold, Kernel, KernelResult, Port, Proto},
    window::{PaneInfo, TimestampCombiner, Window},
};

/// So many keys and windows are combined at once; when there are more, all go out and it begins anew.
const MOST: usize = 16 * 1024;

/// The part that combines `(K, F::Input)` to what `finish` makes of an accumulator and the number of its elements.
pub(in crate::exec) fn precombine<K: Key, F: Fold, A: Element>(
    fold: Arc<Proto<F>>,
    combiner: TimestampCombiner,
    output: &CoderSlot<(K, A)>,
    finish: fn(F::Acc, u64) -> A,
) -> PortablePart {
    let out = output.clone();
    PortablePart::new(&CoderSlot::<(K, F::Input)>::default_of_type(), output, move |spec| {
        Box::new(Precombine::<K, F, A> {
            fold: fold.get(),
            combiner,
            finish,
            tables: Vec::new(),
            index: StdMap::new(),
            last: 0,
            len: 0,
            most: MOST,
            out: Port::new(0, &spec.step, &out),
        })
    })
}

/// What came of one key and window so far.
struct Part<A> {
    acc: A,
    elements: u64,
    time: Timestamp,
}

type Table<K, A> = HashMap<K, Part<A>, FixedState>;

struct Precombine<K: Key, F: Fold, A> {
    fold: F,
    combiner: TimestampCombiner,
    finish: fn(F::Acc, u64) -> A,
    tables: Vec<(Window, Table<K, F::Acc>)>,
    index: StdMap<Window, usize>,
    // The window of the last element: the next one is mostly in the same.
    last: usize,
    len: usize,
    most: usize,
    out: Port<(K, A)>,
}

impl<K: Key, F: Fold, A: Element> Precombine<K, F, A> {
    fn table_of(&mut self, window: &Window) -> usize {
        if self.tables.get(self.last).is_some_and(|(of, _)| of == window) {
            return self.last;
        }
        let tables = &mut self.tables;
        self.last = *self.index.entry(window.clone()).or_insert_with(|| {
            tables.push((window.clone(), Table::default()));
            tables.len() - 1
        });
        self.last
    }

    fn add(&mut self, window: &Window, key: K, value: F::Input, time: Timestamp) {
        let n = self.table_of(window);
        let Precombine { fold, combiner, tables, len, .. } = self;
        let elements = fold.weight(&value);
        match tables[n].1.entry(key) {
            Entry::Occupied(mut part) => {
                let part = part.get_mut();
                fold.add(&mut part.acc, value);
                part.elements = part.elements.saturating_add(elements);
                part.time = combiner.combine(part.time, time);
            }
            Entry::Vacant(place) => {
                let mut acc = fold.create();
                fold.add(&mut acc, value);
                place.insert(Part { acc, elements, time });
                *len += 1;
            }
        }
    }

    /// Sends all that is there on.
    fn empty(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        self.index.clear();
        (self.last, self.len) = (0, 0);
        for (window, table) in std::mem::take(&mut self.tables) {
            for (key, Part { acc, elements, time }) in table {
                let meta = Meta::constant(time, WindowSet::One(window.clone()), PaneInfo::NO_FIRING);
                let value = (key, (self.finish)(acc, elements));
                self.out.batch.push(value, Row::of(&meta, 0));
                self.out.flush_full(down)?;
            }
        }
        self.out.flush(down)
    }
}

impl<K: Key, F: Fold, A: Element> Kernel for Precombine<K, F, A> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(batch) = input.as_any().downcast_mut::<Batch<(K, F::Input)>>() else { return Ok(()) };
        let phase = Phase::AddInput;
        down.cx().phase(phase);
        batch.explode();
        let Batch { values, meta } = batch;
        for (i, (key, value)) in values.drain(..).enumerate() {
            let row = Row::of(meta, i);
            let windows = row.windows();
            let Some(window) = windows.as_slice().first() else { continue };
            self.add(window, key, value, row.time());
            if self.len >= self.most {
                self.empty(down)?;
                down.cx().phase(phase);
            }
        }
        meta.clear();
        Ok(())
    }

    fn finish(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        self.empty(down)
    }
}
