//! Pairs of rows of one key.

use std::marker::PhantomData;

use purlin_derive::KeyedState;
use purlin_sdk::{
    BundleContext, BundleEmitter, Duration, Element, Emitter, Key, KeyedDoFn, ProcessContext, Result, Tag,
    TimerContext, TimerOf, Timestamp,
    state::{KeyedContext, Timer, Value},
};

use super::{
    Condition, JoinSide, NullKey,
    held::{Held, between, keep},
    shape::Shape,
};
use crate::streaming::{
    Epoch, JoinRules, JoinType, Phase,
    operators::Handle,
    place::{Placed, TICK},
    state_rows::Tally,
    time_of::ReadTime,
    waiting::ANY_SKEW,
};

/// Which rows are pairs, and how long they are kept.
pub(super) struct Rules<K, L, R> {
    pub(super) rules: JoinRules,
    pub(super) condition: Option<Condition<L, R>>,
    pub(super) in_key: Option<ReadTime<K>>,
    pub(super) null: Option<NullKey<K>>,
}

impl<K, L, R> Clone for Rules<K, L, R> {
    fn clone(&self) -> Self {
        Rules {
            rules: self.rules,
            condition: self.condition.clone(),
            in_key: self.in_key.clone(),
            null: self.null.clone(),
        }
    }
}

impl<K, L, R> Rules<K, L, R> {
    fn joins(&self, left: &L, right: &R) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition(left, right))
    }

    fn is_null(&self, key: &K) -> bool {
        self.null.as_ref().is_some_and(|null| null(key))
    }

    /// When the watermark is above this, a row of `side` is not kept any more.
    fn kept_until(
        &self,
        key: &K,
        time: Option<Timestamp>,
        side: usize,
        placed: &Placed,
    ) -> Option<Timestamp> {
        if let Some(read) = &self.in_key {
            let watermarked = placed.watermarked.contains(&true);
            return read(key).filter(|_| watermarked).map(|time| placed.alarm(time));
        }
        let kept = self.rules.kept(placed.watermarked)[side]?;
        Some((time? + kept + placed.shift).min(Timestamp::GLOBAL_WINDOW_MAX))
    }
}

/// Makes the pairs of one key.
pub(super) struct Pairs<K, L, R, S> {
    rules: Rules<K, L, R>,
    handle: Handle,
    tally: Tally,
    shape: PhantomData<fn() -> S>,
}

impl<K, L, R, S> Pairs<K, L, R, S> {
    pub(super) fn new(rules: Rules<K, L, R>, handle: Handle) -> Self {
        Pairs { rules, handle, tally: Tally::default(), shape: PhantomData }
    }

    /// Rows that came too late.
    pub(super) const fn late() -> Tag<(K, JoinSide<L, R>)> {
        Tag::new("late")
    }
}

impl<K, L, R, S> Clone for Pairs<K, L, R, S> {
    fn clone(&self) -> Self {
        Pairs::new(self.rules.clone(), self.handle.clone())
    }
}

/// Rows of a key, each side in the order of event time.
#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
pub(super) struct Rows<L: Element, R: Element> {
    left: Value<Vec<Held<L>>>,
    right: Value<Vec<Held<R>>>,
    #[timer(event)]
    clean: Timer,
    /// Instead of `clean`, for rows that are beyond the watermark when they come: they are kept to the epoch's end.
    #[timer(processing)]
    clean_at_end: Timer,
}

impl<K: Key, L: Element, R: Element, S: Shape<K, L, R>> Pairs<K, L, R, S> {
    /// A left row meets the right ones that are there; whether it is to be kept, and had a partner.
    fn left(
        &self,
        key: &K,
        (time, row): (Option<Timestamp>, &L),
        rights: &mut [Held<R>],
        out: &mut Emitter<'_, S::Out>,
    ) -> (bool, bool) {
        let JoinRules { how, earliest, latest, .. } = self.rules.rules;
        if self.rules.is_null(key) {
            return (how.keeps_left(), false);
        }
        let mut matched = false;
        let range = between(rights, time, earliest, latest);
        for right in &mut rights[range] {
            if self.rules.joins(row, &right.row) {
                if how != JoinType::LeftSemi || !matched {
                    emit(out, S::of(key, Some(row), Some(&right.row)), time.or(right.time));
                }
                right.matched = true;
                matched = true;
            }
        }
        (how != JoinType::LeftSemi || !matched, matched)
    }

    /// A right row meets the left ones that are there; whether it is to be kept, and had a partner. `over` says that it
    /// is beyond the watermark already.
    fn right(
        &mut self,
        key: &K,
        (time, row): (Option<Timestamp>, &R),
        lefts: &mut Vec<Held<L>>,
        (over, epoch): (bool, u64),
        out: &mut Emitter<'_, S::Out>,
    ) -> (bool, bool) {
        let JoinRules { how, earliest, latest, .. } = self.rules.rules;
        if self.rules.is_null(key) {
            return (how.keeps_right(), false);
        }
        let mut matched = false;
        let range = between(lefts, time, latest.map(|d| -d), earliest.map(|d| -d));
        if how != JoinType::LeftSemi {
            for left in &mut lefts[range] {
                if self.rules.joins(&left.row, row) {
                    emit(out, S::of(key, Some(&left.row), Some(row)), left.time.or(time));
                    left.matched = true;
                    matched = true;
                }
            }
            return (true, matched);
        }
        // As in Spark, where the right side comes first in an epoch, and what is beyond the watermark is not kept: then
        // it has no partners among the left rows of its own epoch.
        let rules = &self.rules;
        let mates = |left: &mut Held<L>| (!over || left.epoch != epoch) && rules.joins(&left.row, row);
        for left in lefts.extract_if(range, mates) {
            self.tally.removed += 1;
            emit(out, S::of(key, Some(&left.row), None), left.time);
        }
        (!over, false)
    }

    /// Sees to it that rows of the key are removed when the watermark is above `until`.
    fn clean_after(
        &self,
        rows: &mut Rows<L, R>,
        until: Timestamp,
        epoch: &Epoch,
        cx: &impl KeyedContext,
    ) -> Result {
        if until < epoch.late {
            return rows.clean_at_end.set_after(cx, TICK);
        }
        match rows.clean.time() {
            Some(before) if before <= until => Ok(()),
            _ => rows.clean.set(cx, until),
        }
    }

    /// Takes the rows out that are not kept any more, and says when the next one is not.
    fn over<T: Clone>(
        &self,
        key: &K,
        rows: &mut Value<Vec<Held<T>>>,
        side: usize,
        watermark: Timestamp,
    ) -> (Vec<Held<T>>, Option<Timestamp>) {
        let placed = self.handle.placed();
        let until = |time| self.rules.kept_until(key, time, side, &placed);
        let Some(mut held) = rows.take() else { return (Vec::new(), None) };
        let (from, to) = match self.rules.in_key {
            Some(_) if until(None).is_some_and(|until| until < watermark) => (0, held.len()),
            Some(_) => (0, 0),
            // Rows without a time come first, and are kept for ever.
            None => {
                let over = |held: &Held<T>| until(held.time).is_some_and(|until| until < watermark);
                let from = held.partition_point(|held| held.time.is_none());
                (from, held.partition_point(|held| held.time.is_none() || over(held)))
            }
        };
        let gone = held.drain(from..to).collect();
        let next = held.get(from).and_then(|held| until(held.time));
        if !held.is_empty() {
            rows.write(held);
        }
        (gone, next)
    }
}

/// Emits a row of the result at its event time.
fn emit<O: Element>(out: &mut Emitter<'_, O>, row: Option<O>, time: Option<Timestamp>) {
    if let Some(row) = row {
        out.emit_at(row, time.unwrap_or(Timestamp::MIN));
    }
}

impl<K: Key, L: Element, R: Element, S: Shape<K, L, R>> KeyedDoFn for Pairs<K, L, R, S> {
    type Key = K;
    type Value = (Option<Timestamp>, JoinSide<L, R>);
    type Output = S::Out;
    type State = Rows<L, R>;

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.tally = Tally::default();
        Ok(())
    }

    fn process(
        &mut self,
        key: &K,
        (time, row): (Option<Timestamp>, JoinSide<L, R>),
        rows: &mut Rows<L, R>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, S::Out>,
    ) -> Result {
        let (epoch, placed) = (self.handle.epoch(), self.handle.placed());
        let side = usize::from(matches!(row, JoinSide::Right(_)));
        if time.zip(placed.late(&epoch, side)).is_some_and(|(time, late)| time <= late) {
            self.tally.dropped += 1;
            out.emit_to(Self::late(), (key.clone(), row));
            return Ok(());
        }
        let until = self.rules.kept_until(key, time, side, &placed);
        let mut lefts = rows.left.take().unwrap_or_default();
        let mut rights = rows.right.take().unwrap_or_default();
        let kept = match row {
            JoinSide::Left(row) => {
                let (kept, matched) = self.left(key, (time, &row), &mut rights, out);
                if kept {
                    keep(&mut lefts, Held { time, row, matched, epoch: epoch.id });
                }
                kept
            }
            JoinSide::Right(row) => {
                let over = until.is_some_and(|until| until < epoch.watermark);
                let (kept, matched) = self.right(key, (time, &row), &mut lefts, (over, epoch.id), out);
                if kept {
                    keep(&mut rights, Held { time, row, matched, epoch: epoch.id });
                }
                kept
            }
        };
        if !lefts.is_empty() {
            rows.left.write(lefts);
        }
        if !rights.is_empty() {
            rows.right.write(rights);
        }
        if !kept {
            return Ok(());
        }
        self.tally.added += 1;
        self.tally.updated += 1;
        until.map_or(Ok(()), |until| self.clean_after(rows, until, &epoch, cx))
    }

    fn on_timer(
        &mut self,
        timer: TimerOf<Self>,
        key: &K,
        rows: &mut Rows<L, R>,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, S::Out>,
    ) -> Result {
        let epoch = self.handle.epoch();
        let at_end = timer == RowsTimer::CleanAtEnd;
        if at_end && !(epoch.phase == Phase::Closing && self.handle.placed().may_show(&epoch)) {
            return rows.clean_at_end.set_after(cx, TICK);
        }
        let watermark = cx.current_watermark().unwrap_or(Timestamp::MIN);
        let (lefts, next_left) = self.over(key, &mut rows.left, 0, watermark);
        let (rights, next_right) = self.over(key, &mut rows.right, 1, watermark);
        self.tally.removed += (lefts.len() + rights.len()) as u64;
        let how = S::HOW;
        for left in lefts.iter().filter(|left| how.keeps_left() && !left.matched) {
            emit(out, S::of(key, Some(&left.row), None), left.time);
        }
        for right in rights.iter().filter(|right| how.keeps_right() && !right.matched) {
            emit(out, S::of(key, None, Some(&right.row)), right.time);
        }
        match next_left.into_iter().chain(next_right).min() {
            Some(next) => rows.clean.set(cx, next),
            None => {
                rows.clean.clear();
                Ok(())
            }
        }
    }

    fn finish_bundle(&mut self, cx: &BundleContext<'_>, _: &mut BundleEmitter<'_, S::Out>) -> Result {
        self.tally.report(cx, &self.handle);
        Ok(())
    }

    fn allowed_timestamp_skew(&self) -> Duration {
        ANY_SKEW
    }
}
