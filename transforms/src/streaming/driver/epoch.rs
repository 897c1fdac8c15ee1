//! One epoch that is worked off as a whole.

use std::{sync::mpsc, time::Instant};

use purlin_sdk::{Clock, Phase as CodePhase, Timestamp, live::LiveEvent};

use super::{Driven, Driver, Halt, feed_failed, report::Took};
use crate::streaming::{Epoch, Offset, Phase, ReadUpTo, checkpoint::EpochLog, collect::gathered};

impl<T: Send + 'static> Driver<T> {
    /// How far each source goes in the next epoch, where there is something new.
    pub(super) fn look(&mut self, limited: bool, targets: Option<&[Offset]>) -> Driven<Vec<Option<Offset>>> {
        let mut found = Vec::with_capacity(self.feeds.len());
        for (i, feed) in self.feeds.iter_mut().enumerate() {
            let up_to = ReadUpTo { limited, end: targets.and_then(|targets| targets.get(i)) };
            self.calling = Some((feed.step.clone(), CodePhase::Source));
            let to = feed.source.latest_offset(&self.at.offsets[i], up_to);
            found.push(to.map_err(|e| feed_failed(&feed.step, e))?);
        }
        self.called();
        Ok(found)
    }

    /// Runs the next epoch, if there is reason to; whether there was.
    pub(super) fn next_epoch(
        &mut self,
        limited: bool,
        targets: Option<&[Offset]>,
        may_close: bool,
    ) -> Driven<bool> {
        let triggered = self.catch_up();
        let mut took = Took::new(self.settings.clock.now());
        if let Some(again) = self.at.again.take() {
            self.query.set_status("Processing the epoch that was not done", true, true);
            self.execute(again, took)?;
            return Ok(true);
        }
        let latest = took.time("latestOffset", || self.look(limited, targets))?;
        let has_data = latest.iter().any(Option::is_some);
        if !(has_data || may_close && self.closing_is_due()) {
            self.query.set_status("Waiting for data to arrive", false, false);
            return Ok(false);
        }
        self.query.set_status("Processing new data", has_data, true);
        let to =
            latest.into_iter().zip(&self.at.offsets).map(|(to, from)| to.unwrap_or_else(|| from.clone()));
        let log = EpochLog {
            epoch: self.at.next,
            from: self.at.offsets.clone(),
            to: to.collect(),
            watermark: self.at.watermark,
            late: self.at.before,
            no_data: !has_data,
            policy: self.settings.policy,
            began: triggered,
        };
        self.note_begun(&log, &mut took)?;
        self.execute(log, took)?;
        Ok(true)
    }

    /// Whether an epoch without data is worth running: the watermark has moved since the last one, and something can be
    /// closed.
    fn closing_is_due(&self) -> bool {
        self.settings.no_data_epochs
            && self.at.ran
            && self.at.watermark > self.at.before
            && self.cx.wants_closing_epoch(self.settings.mode)
    }

    /// Works the epoch off. When it fails nothing of it is noted but that it was begun.
    fn execute(&mut self, log: EpochLog, mut took: Took) -> Driven {
        let epoch = self.epoch(&log, false);
        self.cx.begin_epoch(epoch);
        let mut counts = vec![0; self.feeds.len()];
        let mut arrival = 0;
        let started = Instant::now();
        for (number, count) in counts.iter_mut().enumerate() {
            let (from, to) = (&log.from[number], &log.to[number]);
            if from != to {
                *count = self.feed(number, from, to, &mut arrival)?;
            }
        }
        took.add("getBatch", started.elapsed());
        let started = Instant::now();
        self.settle()?;
        self.close(epoch)?;
        let rows = gathered::<T>(self.cx.take_results());
        let output = rows.len();
        self.give(log.epoch, rows)?;
        took.add("addBatch", started.elapsed());
        self.done(log, &counts, output, took)
    }

    /// What is in force while the epoch is worked off.
    pub(super) fn epoch(&self, log: &EpochLog, immediate: bool) -> Epoch {
        Epoch {
            id: log.epoch,
            phase: Phase::Rows,
            tick: 0,
            mode: self.settings.mode,
            immediate,
            late: log.late,
            watermark: log.watermark,
            began: log.began,
        }
    }

    /// Writes down that the epoch was begun.
    pub(super) fn note_begun(&mut self, log: &EpochLog, took: &mut Took) -> Driven {
        took.time("walCommit", || match &mut self.checkpoint {
            Some(checkpoint) => checkpoint.begin(log).map_err(Halt::from),
            None => Ok(()),
        })
    }

    /// Gives to the pipeline what a source has between two offsets; how many rows.
    pub(super) fn feed(
        &mut self,
        number: usize,
        from: &Offset,
        to: &Offset,
        arrival: &mut i64,
    ) -> Driven<u64> {
        let feed = &mut self.feeds[number];
        self.calling = Some((feed.step.clone(), CodePhase::Source));
        let batch = feed.source.read(from, to, *arrival).map_err(|e| feed_failed(&feed.step, e))?;
        self.calling = None;
        let rows = batch.len() as u64;
        *arrival = arrival.saturating_add_unsigned(rows);
        self.cx.script().tell(LiveEvent::Elements(number, batch));
        Ok(rows)
    }

    /// Shows results, moves the watermark, and closes what it has passed.
    pub(super) fn close(&self, epoch: Epoch) -> Driven {
        self.tick(Epoch { phase: Phase::Results, ..epoch })?;
        let closing = Epoch { phase: Phase::Closing, ..epoch };
        self.cx.set_epoch(closing);
        if self.cx.has_watermark() {
            self.cx.script().tell(LiveEvent::Watermark(epoch.watermark));
            self.settle()?;
            self.tick(closing)?;
        }
        Ok(())
    }

    /// Notes that the epoch is done, and what follows from it.
    pub(super) fn done(&mut self, log: EpochLog, counts: &[u64], output: usize, mut took: Took) -> Driven {
        let seen = self.cx.end_epoch();
        let next = self.next_watermark(log.watermark, &log);
        let started = Instant::now();
        if self.checkpoint.is_some() {
            let state = self.state()?;
            let clock = self.cx.script().clock().now();
            if let Some(checkpoint) = &mut self.checkpoint {
                checkpoint.done(&log, next, clock, &state)?;
            }
        }
        took.add("commitOffsets", started.elapsed());
        for (feed, to) in self.feeds.iter_mut().zip(&log.to) {
            self.calling = Some((feed.step.clone(), CodePhase::Source));
            feed.source.commit(to).map_err(|e| feed_failed(&feed.step, e))?;
        }
        self.called();
        self.report(&log, counts, output, &seen, took);
        self.at.next = log.epoch + 1;
        self.at.offsets = log.to;
        self.at.before = log.watermark;
        self.at.watermark = next;
        self.at.ran = true;
        Ok(())
    }

    /// All that the pipeline has gathered.
    fn state(&self) -> Driven<Vec<u8>> {
        let (told, state) = mpsc::channel();
        // Whoever does not wait any more needs no answer.
        self.cx.script().tell(LiveEvent::Snapshot(Box::new(move |bytes| drop(told.send(bytes)))));
        self.settle()?;
        state.try_recv().map_err(|_| Halt::RunOver)
    }

    /// The watermark that the data of the epochs so far give: by the policy that the query began with.
    fn next_watermark(&self, now: Timestamp, log: &EpochLog) -> Timestamp {
        self.cx.watermark_of(log.policy).map_or(now, |found| found.max(now))
    }
}
