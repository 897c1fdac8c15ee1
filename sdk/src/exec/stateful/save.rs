//! The state of a key group as bytes.

use std::collections::HashMap;

use super::{
    slots::Slot,
    store::KeyStore,
    waiting::{Turn, Waiting},
};
use crate::{
    DoFnError, Element, Key, Result,
    exec::save::{put, put_len, take, take_len},
    state::KeyedState,
};

impl<K: Key, V: Element, S: KeyedState> KeyStore<K, V, S> {
    /// Writes slots and elements that wait; all indexes follow from these.
    pub(super) fn save_all(&self, out: &mut Vec<u8>) -> Result {
        put(&self.order, out)?;
        put_len(self.slots.len(), out)?;
        for (n, Slot { key, window, state, waiting, .. }) in self.slots.iter() {
            put(&(n as u64), out)?;
            put(key, out)?;
            put(&(window.clone(), *waiting as u64), out)?;
            state.save(out)?;
        }
        put_len(self.queue.len(), out)?;
        for (turn, waiting) in &self.queue {
            put(turn, out)?;
            put(waiting, out)?;
        }
        Ok(())
    }

    /// Takes in what [`save_all`](Self::save_all) wrote. Slots get new numbers: there are no holes between them.
    pub(super) fn load_all(&mut self, input: &mut &[u8]) -> Result {
        self.order = take(input)?;
        let mut numbers = HashMap::new();
        for _ in 0..take_len(input)? {
            let was: u64 = take(input)?;
            let key: K = take(input)?;
            let (window, waiting): (_, u64) = take(input)?;
            let slot = Slot {
                key,
                window,
                state: S::load(input)?,
                waiting: usize::try_from(waiting)?,
                place: 0,
                bundle: 0,
                fired: false,
            };
            numbers.insert(was, self.slots.add(slot));
        }
        for _ in 0..take_len(input)? {
            let turn: Turn = take(input)?;
            let mut waiting: Waiting<V> = take(input)?;
            waiting.slot = *numbers
                .get(&(waiting.slot as u64))
                .ok_or_else(|| DoFnError::msg("an element waits for a key and window that are not there"))?;
            self.queue.insert(turn, waiting);
        }
        self.index();
        Ok(())
    }
}
