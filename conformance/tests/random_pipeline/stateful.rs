//! DoFns with state and timers, whose results are the same in any order of elements.

use purlin_derive::KeyedState;
use purlin_sdk::{
    Duration, Emitter, KeyedDoFn, KeyedParDo, ProcessContext, Result, TimerContext, Timestamp,
    state::{Bag, Combining, Map, Set, Timer, TimerFamily, Value},
};

use super::{Draw, Known, Made, Sum, Windows, seconds};

/// What a DoFn does.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Sums up, and says so at the window's end.
    SumAtEnd,
    /// Says at the window's end which different values there were.
    DistinctAtEnd,
    /// Sums by remainder, each with a timer of its own for the window's end.
    SumsByTag,
    /// Keeps everything until a moment has passed by the clock, or the window expires.
    Flush(Duration),
    /// Needs elements in order: how long after the first one each came.
    SinceFirst,
    /// Needs elements in order: batches of some event time.
    Batches(Duration),
}

impl Work {
    fn is_sorted(self) -> bool {
        matches!(self, Work::SinceFirst | Work::Batches(_))
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Cells {
    sum: Combining<Sum>,
    all: Bag<i64>,
    distinct: Set<i64>,
    sums: Map<String, i64>,
    first: Value<Timestamp>,
    #[timer(event)]
    end: Timer,
    #[timer(event)]
    tags: TimerFamily,
    #[timer(processing)]
    flush: Timer,
}

#[derive(Clone)]
struct Stateful(Work);

impl KeyedDoFn for Stateful {
    type Key = i64;
    type Value = i64;
    type Output = i64;
    type State = Cells;

    fn process(
        &mut self,
        _: &i64,
        x: i64,
        s: &mut Cells,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result {
        let end = cx.window().max_timestamp();
        match self.0 {
            Work::SumAtEnd => {
                s.sum.add(x);
                s.end.set(cx, end)
            }
            Work::DistinctAtEnd => {
                s.distinct.add(x);
                s.end.set(cx, end)
            }
            Work::SumsByTag => {
                let tag = (x % 3).to_string();
                let sum = s.sums.get(&tag).copied().unwrap_or(0);
                s.sums.put(tag.clone(), sum + x);
                s.tags.tag(&tag).set(cx, end)
            }
            Work::Flush(after) => {
                s.all.add(x);
                if s.flush.is_set() { Ok(()) } else { s.flush.set_after(cx, after) }
            }
            Work::SinceFirst => {
                let first = *s.first.read().unwrap_or(&cx.timestamp());
                s.first.write(first);
                out.emit((x + (cx.timestamp() - first).as_millis() / 1000).rem_euclid(1000));
                Ok(())
            }
            Work::Batches(length) => {
                s.sum.add(x);
                if s.end.is_set() { Ok(()) } else { s.end.set(cx, end.min(cx.timestamp() + length)) }
            }
        }
    }

    fn on_timer(
        &mut self,
        timer: CellsTimer,
        key: &i64,
        s: &mut Cells,
        _: &TimerContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result {
        match timer {
            CellsTimer::Tags(tag) => out.emit((key + s.sums.remove(&tag).unwrap_or(-1)).rem_euclid(1000)),
            CellsTimer::Flush => s.all.take().into_iter().for_each(|x| out.emit(x)),
            CellsTimer::End => {
                let values = s.distinct.take();
                let distinct = 7 * values.len() as i64 + values.iter().sum::<i64>();
                out.emit((key + s.sum.read() + distinct).rem_euclid(1000));
                s.sum.clear();
            }
        }
        Ok(())
    }
}

/// Keeps everything until the window expires.
#[derive(Clone)]
struct UntilExpired;

impl KeyedDoFn for UntilExpired {
    type Key = i64;
    type Value = i64;
    type Output = i64;
    type State = Cells;
    const ON_WINDOW_EXPIRATION: bool = true;

    fn process(
        &mut self,
        _: &i64,
        x: i64,
        s: &mut Cells,
        _: &ProcessContext<'_>,
        _: &mut Emitter<'_, i64>,
    ) -> Result {
        s.all.add(x);
        Ok(())
    }

    fn on_window_expiration(
        &mut self,
        _: &i64,
        s: &mut Cells,
        _: &TimerContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result {
        s.all.take().into_iter().for_each(|x| out.emit(x));
        Ok(())
    }
}

impl Draw {
    pub(super) fn stateful(&mut self) {
        let (name, input) = (self.name("Stateful"), self.take());
        if matches!(input.windows, Windows::Sessions(_, false)) {
            // State does not merge.
            return self.made.push(input);
        }
        let keys = self.rng.i64(1..5);
        let keyed = input.pc.key_by(&format!("{name} Key"), move |x| x % keys);
        let in_order = input.known.times && input.known.on_time;
        let length = seconds(self.rng.i64(1..20));
        let work = match self.rng.u8(..if in_order { 7 } else { 5 }) {
            0 => Work::SumAtEnd,
            1 => Work::DistinctAtEnd,
            2 => Work::SumsByTag,
            3 => Work::Flush(length),
            4 => {
                let pc = keyed.par_do_keyed(&name, UntilExpired);
                let known = Known { panes: false, ..Known::ALL };
                return self.add(pc, &Made { known, ..input.clone() }, input.most);
            }
            5 => Work::SinceFirst,
            _ => Work::Batches(length),
        };
        let par_do = KeyedParDo::of(Stateful(work));
        let par_do = if work.is_sorted() { par_do.time_sorted() } else { par_do };
        let pc = keyed.par_do_keyed_with(&name, par_do).main();
        let known = match work {
            // The timestamp is that of the element that set the timer, whichever came first.
            Work::Flush(_) => Known { times: false, panes: false, ..input.known },
            Work::SinceFirst => input.known,
            _ => Known { panes: false, ..Known::ALL },
        };
        self.add(pc, &Made { known, ..input.clone() }, input.most);
    }
}
