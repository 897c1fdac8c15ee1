//! When epochs begin, and when the query ends.

use purlin_sdk::{Duration, Timestamp};

use super::{Driven, Driver};
use crate::streaming::{Offset, QueryTrigger};

/// How long a query without an interval sleeps before it looks again for new data.
const POLL: std::time::Duration = std::time::Duration::from_millis(10);

/// How long it sleeps at most before it looks at its clock again, which may be one that is moved by hand.
const LOOK_AT_CLOCK: std::time::Duration = std::time::Duration::from_millis(100);

impl<T: Send + 'static> Driver<T> {
    /// Runs epochs as the trigger says, until the query ends.
    pub(super) fn run_trigger(&mut self) -> Driven {
        match self.settings.trigger {
            QueryTrigger::ProcessingTime(every) => self.run_every(every),
            QueryTrigger::Once => self.run_once(),
            QueryTrigger::AvailableNow => self.run_available(),
            QueryTrigger::Continuous(every) => self.run_flowing(every, false),
            QueryTrigger::RealTime(every) => self.run_flowing(every, true),
        }
    }

    /// An epoch at once, then at multiples of the interval. One that takes longer than that is followed by the next at
    /// once: what was missed is not made up for.
    fn run_every(&mut self, every: Duration) -> Driven {
        while !self.is_ending() {
            let asked = self.query.asked();
            let now = self.settings.clock.now();
            let next = next_tick(now, every);
            let ran = self.next_epoch(true, None, true)?;
            if !ran {
                self.query.answer(asked);
            }
            if every > Duration::ZERO {
                self.sleep_until(next);
            } else if !ran {
                self.rest(asked);
            }
        }
        Ok(())
    }

    fn run_once(&mut self) -> Driven {
        self.next_epoch(false, None, false)?;
        self.report_nothing();
        Ok(())
    }

    /// What is there at the start, and what follows from it.
    fn run_available(&mut self) -> Driven {
        // An epoch that a run before left undone comes first; what comes while it is done again belongs to this run.
        let found = self.look(false, None)?;
        let targets: Vec<Offset> = found
            .into_iter()
            .zip(&self.at.offsets)
            .map(|(to, from)| to.unwrap_or_else(|| from.clone()))
            .collect();
        while !self.is_ending() && self.next_epoch(true, Some(&targets), true)? {}
        self.report_nothing();
        Ok(())
    }

    /// Sleeps until the clock has come to `at`, or the query is to end.
    fn sleep_until(&self, at: Timestamp) {
        loop {
            let now = self.settings.clock.now();
            if now >= at || self.is_ending() || self.cx.script().is_over() {
                break;
            }
            self.query.idle(Some(now));
            let left = (at - now).to_std().min(LOOK_AT_CLOCK);
            let (clock, query) = (self.settings.clock.clone(), self.query.clone());
            self.cx.script().sleep(left, move || clock.now() != now || query.is_stopping());
        }
        self.query.idle(None);
    }

    /// Sleeps a moment, or until somebody asks for something.
    pub(super) fn rest(&self, asked: u64) {
        let query = self.query.clone();
        self.query.idle(Some(self.settings.clock.now()));
        self.cx.script().sleep(POLL, move || query.was_asked_since(asked) || query.is_stopping());
        self.query.idle(None);
    }
}

/// The first multiple of `every` after `now`, counted from 1970.
pub(super) fn next_tick(now: Timestamp, every: Duration) -> Timestamp {
    let millis = every.as_millis();
    if millis <= 0 {
        return now;
    }
    let ticks = now.as_millis().div_euclid(millis).saturating_add(1);
    Timestamp::saturating_from_millis(ticks.saturating_mul(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_multiples_of_the_interval() {
        let at = Timestamp::from_secs;
        let every = Duration::from_secs(5);
        assert_eq!(next_tick(at(12), every), at(15));
        assert_eq!(next_tick(at(15), every), at(20));
        assert_eq!(next_tick(at(-1), every), at(0));
        assert_eq!(next_tick(at(3), Duration::ZERO), at(3));
        assert_eq!(next_tick(Timestamp::MAX, every), Timestamp::MAX);
    }
}
