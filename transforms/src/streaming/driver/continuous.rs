//! Epochs in which rows flow without waiting for each other.

use purlin_sdk::{Duration, Timestamp, live::LiveEvent};

use super::{Driver, Halt, Step1, feed_failed, report::Took, triggers::next_tick};
use crate::streaming::{Epoch, Phase, checkpoint::EpochLog, collect::gathered};

/// How long it sleeps before it looks for more rows, when there were none.
const LOOK: std::time::Duration = std::time::Duration::from_millis(1);

impl<T: Send + 'static> Driver<T> {
    /// Rows flow, and their results reach the sink, as they come; an epoch ends every so often. With `stateful`
    /// operators the watermark moves at its end.
    pub(super) fn run_flowing(&mut self, every: Duration, stateful: bool) -> Step1 {
        if let Some(again) = self.at.again.take() {
            // What the run before had begun to read belongs to the first epoch of this one.
            self.at.next = again.epoch;
        }
        while !self.is_ending() {
            self.flow(every, stateful)?;
        }
        Ok(())
    }

    fn flow(&mut self, every: Duration, stateful: bool) -> Step1 {
        let began = self.catch_up();
        let mut took = Took::new(began);
        let end = if stateful { began + every } else { next_tick(began, every) };
        let epoch = Epoch {
            id: self.at.next,
            phase: Phase::Rows,
            tick: 0,
            mode: self.settings.mode,
            immediate: true,
            late: self.at.before,
            watermark: self.at.watermark,
            began,
        };
        let from = self.at.offsets.clone();
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
            self.sink.add(epoch.id, Vec::new(), self.settings.mode).map_err(|e| self.sink_failed(e))?;
        }
        let log = EpochLog {
            epoch: epoch.id,
            from,
            to: self.at.offsets.clone(),
            watermark: epoch.watermark,
            late: epoch.late,
            no_data: counts.iter().all(|n| *n == 0),
            policy: self.settings.policy,
            began,
        };
        took.time("walCommit", || match &mut self.checkpoint {
            Some(checkpoint) => checkpoint.begin(&log).map_err(Halt::from),
            None => Ok(()),
        })?;
        self.done(log, &counts, output, took)
    }

    /// Feeds what is new; whether there was anything.
    fn feed_once(&mut self, counts: &mut [u64], arrival: &mut i64) -> Step1<bool> {
        let found = self.look(true, None)?;
        let mut any = false;
        for (number, to) in found.into_iter().enumerate() {
            let Some(to) = to else { continue };
            any = true;
            let feed = &mut self.feeds[number];
            let from = &self.at.offsets[number];
            let batch = feed.source.read(from, &to, *arrival).map_err(|e| feed_failed(&feed.step, e))?;
            counts[number] += batch.len() as u64;
            *arrival = arrival.saturating_add(i64::try_from(batch.len()).unwrap_or(i64::MAX));
            self.cx.script().tell(LiveEvent::Elements(number, batch));
            self.at.offsets[number] = to;
        }
        Ok(any)
    }

    /// Gives to the sink what has come out; how many rows.
    fn hand_over(&mut self, epoch: u64) -> Step1<usize> {
        let rows = gathered::<T>(self.cx.take_results());
        let n = rows.len();
        if n > 0 {
            self.sink.add(epoch, rows, self.settings.mode).map_err(|e| self.sink_failed(e))?;
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
