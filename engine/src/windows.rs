//! Windows that the watermark has passed.
//!
//! A grouping's data lie in shards that travel with bundles. A window that closes is *closing* while a bundle runs that
//! holds a shard which may have data for it, and *closed* when all of it has been taken out. A bundle that starts later
//! sees the new watermark and drops what comes too late, so no window closes twice.

use purlin_sdk::window::Window;

use crate::{
    BundleId, Engine, StageId,
    state::{Closing, held_at},
};

impl Engine {
    /// Begins to close every window that the input watermark of the grouping `id` has passed.
    pub(crate) fn close_windows(&mut self, id: StageId) {
        let watermark = self.stages[id.0].progress.input();
        loop {
            let state = &mut self.stages[id.0];
            let Some(entry) = state.windows.first_entry().filter(|e| e.key().0 < watermark) else { break };
            let ((_, window), hold) = entry.remove_entry();
            if self.plan.stages[id.0].view.is_some() {
                state.building.insert(window.clone());
            }
            let mut closing =
                Closing { window, hold, tables: Vec::new(), waiting: Default::default(), attempts: 0 };
            closing.waiting =
                self.in_flight.iter().filter(|(_, b)| b.shards_of.contains(&id)).map(|(id, _)| *id).collect();
            // Nor does it close before what a snapshot has is back.
            closing.waiting.extend(self.lent_shards.iter().filter(|(_, to)| **to == id).map(|(id, _)| *id));
            self.take_tables(id, &mut closing);
            self.place_closing(id, closing);
        }
    }

    /// Takes out of every shard at rest what it has for the window.
    fn take_tables(&mut self, id: StageId, closing: &mut Closing) {
        let plan = self.plan.clone();
        for producer in &plan.stages[id.0].upstream {
            for (n, feed) in plan.stages[producer.0].feeds.iter().enumerate() {
                if feed.to == id {
                    let shards = &mut self.stages[producer.0].shards[n];
                    closing.tables.extend(shards.iter_mut().filter_map(|s| s.take(&closing.window)));
                }
            }
        }
    }

    fn place_closing(&mut self, id: StageId, closing: Closing) {
        let state = &mut self.stages[id.0];
        if closing.waiting.is_empty() {
            state.closed.push_back(closing);
            self.ready.insert(id);
        } else {
            state.closing.push(closing);
        }
    }

    /// Takes out of a shard that came back with `bundle` what windows that are closing wait for.
    pub(crate) fn settle_closing(
        &mut self,
        id: StageId,
        bundle: BundleId,
        shards: &mut [Box<dyn purlin_sdk::exec::Shard>],
    ) {
        let state = &mut self.stages[id.0];
        for closing in &mut state.closing {
            if closing.waiting.remove(&bundle) {
                closing.tables.extend(shards.iter_mut().filter_map(|s| s.take(&closing.window)));
            }
        }
        let (closed, closing) =
            std::mem::take(&mut state.closing).into_iter().partition(|c| c.waiting.is_empty());
        state.closing = closing;
        let closed: Vec<Closing> = closed;
        if !closed.is_empty() {
            state.closed.extend(closed);
            self.ready.insert(id);
        }
    }

    /// Notes that `window` of the grouping `id` has data that hold the watermark at `hold`.
    pub(crate) fn note_window(&mut self, id: StageId, window: Window, hold: purlin_sdk::Timestamp) {
        let state = &mut self.stages[id.0];
        // A bundle that began before the window closed still counts: its data join what is being gathered.
        if state.closing.iter().any(|c| c.window == window) {
            return;
        }
        let hold = held_at(hold);
        let key = (window.max_timestamp(), window);
        match state.windows.get_mut(&key) {
            Some(old) if *old <= hold => {}
            Some(old) => {
                let before = std::mem::replace(old, hold);
                state.progress.holds.add(hold);
                state.progress.holds.remove(before);
            }
            None => {
                state.windows.insert(key, hold);
                state.progress.holds.add(hold);
            }
        }
    }
}
