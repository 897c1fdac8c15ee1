//! Epochs in which rows flow without waiting for each other.

use purlin_sdk::{Duration, Timestamp};

use super::{Driven, Driver, report::Took, triggers::next_tick};
use crate::streaming::{checkpoint::EpochLog, collect::gathered};

/// How long it sleeps before it looks for more rows, when there were none.
const LOOK: std::time::Duration = std::time::Duration::from_millis(1);

impl<T: Send + 'static> Driver<T> {
    /// Rows flow, and their results reach the sink, as they come; an epoch ends every so often. With `stateful`
    /// operators the watermark moves at its end.
    pub(super) fn run_flowing(&mut self, every: Duration, stateful: bool) -> Driven {
        if let Some(again) = self.at.again.take() {
            // What the run before had begun to read belongs to the first epoch of this one.
            self.at.next = again.epoch;
        }
        while !self.is_ending() {
            self.flow(every, stateful)?;
        }
        Ok(())
    }

    fn flow(&mut self, every: Duration, stateful: bool) -> Driven {
        let began = self.catch_up();
        let mut took = Took::new(self.settings.clock.now());
        let end = if stateful { began + every } else { next_tick(began, every) };
        // How far it goes, and whether there is anything, is known when it is over.
        let mut log = EpochLog {
            epoch: self.at.next,
            from: self.at.offsets.clone(),
            to: Vec::new(),
            watermark: self.at.watermark,
            late: self.at.before,
            no_data: false,
            policy: self.settings.policy,
            began,
        };
        let epoch = self.epoch(&log, true);
        self.cx.begin_epoch(epoch);
        self.query.set_status("Processing rows as they come", false, true);
        let mut counts = vec![0; self.feeds.len()];
        let (mut arrival, mut output) = (0, 0);
        loop {
            let asked = self.query.asked();
            let over = self.is_ending() || self.settings.clock.now() >= end;
            let fed = !over && self.feed_once(&mut counts, &mut arrival)?;
            if !fed {
                self.settle()?;
            }
            output += self.hand_over(epoch.id)?;
            if over {
                break;
            }
            if !fed {
                self.query.answer(asked);
                self.nap(end, asked);
            }
        }
        if stateful {
            self.close(epoch)?;
            output += self.hand_over(epoch.id)?;
        }
        if output == 0 {
            self.give(epoch.id, Vec::new())?;
        }
        log.to = self.at.offsets.clone();
        log.no_data = counts.iter().all(|n| *n == 0);
        self.note_begun(&log, &mut took)?;
        self.done(log, &counts, output, took)
    }

    /// Feeds what is new; whether there was anything.
    fn feed_once(&mut self, counts: &mut [u64], arrival: &mut i64) -> Driven<bool> {
        let found = self.look(true, None)?;
        let mut any = false;
        for (number, to) in found.into_iter().enumerate() {
            let Some(to) = to else { continue };
            any = true;
            let from = self.at.offsets[number].clone();
            counts[number] += self.feed(number, &from, &to, arrival)?;
            self.at.offsets[number] = to;
        }
        Ok(any)
    }

    /// Gives to the sink what has come out; how many rows.
    fn hand_over(&mut self, epoch: u64) -> Driven<usize> {
        let rows = gathered::<T>(self.cx.take_results());
        let n = rows.len();
        if n > 0 {
            self.give(epoch, rows)?;
        }
        Ok(n)
    }

    fn nap(&self, end: Timestamp, asked: u64) {
        let now = self.settings.clock.now();
        self.query.idle(Some(now));
        let (clock, query) = (self.settings.clock.clone(), self.query.clone());
        self.cx
            .script()
            .sleep(LOOK, move || clock.now() >= end || query.was_asked_since(asked) || query.is_stopping());
        self.query.idle(None);
    }
}
