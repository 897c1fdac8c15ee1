//! Groupings that fire more than once, of which something is the same in every run.

use purlin_sdk::{
    DoFnError, Element, Emitter, Grouped, PCollection, ParDo, ProcessContext, WindowInto,
    window::{
        ClosingBehavior, FixedWindows, GlobalWindows, OnTimeBehavior, PaneTiming, Sessions,
        TimestampCombiner, Trigger,
    },
};

use super::{Draw, Grouping, Known, Made, Sum, Windows, seconds};

/// How what does not depend on chance is got out of the panes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Resolve {
    /// All panes together, each with what is new.
    Union,
    /// The last pane, which has everything.
    Last,
    /// The pane at the window's end, which has everything when nothing is late.
    OnTime,
}

impl Draw {
    /// Fires at whatever time, and never for the last time.
    fn trigger(&mut self) -> Trigger {
        let part = self.part(2);
        match self.rng.u8(..8) {
            0 => Trigger::default(),
            1 => Trigger::never(),
            2 => Trigger::always(),
            3 => Trigger::after_each([part, Trigger::repeatedly(Trigger::after_count(2))]),
            4 => Trigger::repeatedly(Trigger::after_any([part, Trigger::after_watermark()])),
            5 => Trigger::after_watermark().late(part),
            6 => {
                let late = self.part(1);
                Trigger::after_watermark().early(part).late(late)
            }
            _ => Trigger::repeatedly(part),
        }
    }

    /// Fires before the window's end, once or more.
    fn part(&mut self, depth: usize) -> Trigger {
        let n = self.rng.u64(1..5);
        let delay = seconds(self.rng.i64(0..4));
        let time = || Trigger::after_processing_time().delay(delay);
        match self.rng.u8(..if depth == 0 { 4 } else { 8 }) {
            0 | 1 => Trigger::after_count(n),
            2 => time(),
            3 => time().align_to(seconds(2)),
            4 => Trigger::after_any([self.part(depth - 1), Trigger::after_count(n)]),
            5 => Trigger::after_all([self.part(depth - 1), time()]),
            6 => Trigger::after_each([self.part(depth - 1), self.part(depth - 1)]),
            _ => Trigger::repeatedly(Trigger::after_count(n)).or_finally(self.part(depth - 1)),
        }
    }

    /// New windows, or the same ones, with a trigger; then a grouping, of which stays what is the same in every run.
    pub(super) fn triggered(&mut self) {
        let (name, input) = (self.name("Triggered"), self.take());
        let size = self.rng.i64(1..60);
        let any = self.rng.u8(..4);
        let (windows, into) = match any {
            0 | 1 if !input.known.times => (input.windows, WindowInto::same()),
            0 => (Windows::Fixed(size), WindowInto::of(FixedWindows::of(seconds(size)))),
            1 => {
                let sessions = Sessions::with_gap(seconds(size));
                (Windows::Sessions(size, false), WindowInto::of(sessions))
            }
            _ => (input.windows, WindowInto::same()),
        };
        let merges = matches!(windows, Windows::Sessions(_, false));
        let on_time = input.known.on_time;
        // Whatever comes late still counts.
        let late = !on_time || input.lateness || self.rng.bool();
        let lateness = seconds(if late { 100_000 } else { 0 });
        let resolve = match self.rng.u8(..4) {
            0 => Resolve::Last,
            1 if on_time => Resolve::OnTime,
            _ => Resolve::Union,
        };
        let trigger = match resolve {
            Resolve::OnTime => {
                let early = self.part(2);
                Trigger::after_watermark().early(early).late(Trigger::always())
            }
            _ => self.trigger(),
        };
        let closing = match resolve {
            Resolve::Union if self.rng.bool() => ClosingBehavior::FireIfNonEmpty,
            _ => ClosingBehavior::FireAlways,
        };
        let behavior = match resolve {
            Resolve::Union if self.rng.bool() => OnTimeBehavior::FireIfNonEmpty,
            _ => OnTimeBehavior::FireAlways,
        };
        let into = into.trigger(trigger).allowed_lateness(lateness).closing(closing).on_time(behavior);
        let into = if resolve == Resolve::Union { into.discarding() } else { into.accumulating() };
        let combiner = match self.rng.u8(..3) {
            0 => TimestampCombiner::Earliest,
            1 => TimestampCombiner::Latest,
            _ => TimestampCombiner::EndOfWindow,
        };
        let keys = self.rng.i64(1..5);
        let windowed = input
            .pc
            .window_into(&name, into.timestamp_combiner(combiner))
            .key_by(&format!("{name} Key"), move |x| x % keys);
        let number = self.groupings.len();
        let nothing_late = on_time && resolve == Resolve::Union;
        self.groupings.push(Grouping {
            nothing_late,
            closes: closing == ClosingBehavior::FireAlways,
            merges,
        });
        let parts = self.rng.bool();
        let pairs = if parts {
            let sums = windowed.combine_per_key(&format!("{name} Parts"), Sum);
            self.panes.collect(
                &format!("{name} Panes"),
                &sums.map(&format!("{name} Fired"), move |(key, _)| (number, (key, 0))),
            );
            resolved(&sums, &name, resolve)
        } else {
            let groups = windowed.group_by_key(&format!("{name} Group"));
            let fired = groups
                .map(&format!("{name} Fired"), move |(key, all)| (number, (key, all.into_iter().count())));
            self.panes.collect(&format!("{name} Panes"), &fired);
            resolved(&groups, &name, resolve)
                .flat_map(&format!("{name} Each"), |(key, all): (i64, Grouped<i64>)| {
                    all.into_iter().map(move |x| (key, x)).collect::<Vec<_>>()
                })
        };
        // The elements of a session that fired before it had grown lie in the one that it was then, and what is late
        // may be too late for any window but the global one.
        let global = late || (merges && resolve == Resolve::Union);
        let end = TimestampCombiner::EndOfWindow;
        let after = if global { WindowInto::of(GlobalWindows) } else { WindowInto::same() };
        let after = after
            .trigger(Trigger::default())
            .discarding()
            .closing(ClosingBehavior::FireIfNonEmpty)
            .on_time(OnTimeBehavior::FireAlways)
            .timestamp_combiner(end);
        let pairs = pairs.window_into(&format!("{name} After"), after);
        let known = Known { times: combiner == end && !global, panes: false, on_time: !late };
        let windows = if global { Windows::Global } else { super::grouped(windows) };
        // Sums of one pane each are a part of a whole.
        let add_up = parts && resolve == Resolve::Union;
        let pairs = if add_up { pairs.combine_per_key(&format!("{name} Whole"), Sum) } else { pairs };
        let pc = pairs.map(&format!("{name} Value"), |(key, x)| (7 * key + x).rem_euclid(1000));
        let lateness = late || input.lateness;
        let made =
            Made { pc: pc.clone(), windows, known, at_end: true, lateness, most: input.most, read: false };
        if add_up { self.add_grouped(pc, &made, made.most) } else { self.made.push(made) }
    }

    /// A side input of which there is more and more; what is the same in every run is that a part of it is there.
    pub(super) fn triggered_side_input(&mut self) {
        let (name, main, side) = (self.name("TriggeredSide"), self.take(), self.take());
        let windows = WindowInto::of(GlobalWindows)
            .trigger(Trigger::repeatedly(Trigger::after_count(self.rng.u64(1..4))))
            .closing(ClosingBehavior::FireIfNonEmpty)
            .on_time(OnTimeBehavior::FireIfNonEmpty);
        let windows = if self.rng.bool() { windows.discarding() } else { windows.accumulating() };
        let view =
            side.pc.window_into(&format!("{name} Windows"), windows).view_as_list(&format!("{name} View"));
        let (seen, most) = (view.clone(), side.most);
        let check = ParDo::from_fn(move |x: i64, cx, out: &mut Emitter<'_, i64>| {
            let others = cx.side(&seen)?;
            if others.len() > most || others.iter().any(|x| !(-1000..10_000).contains(x)) {
                return Err(DoFnError::msg(format!("{others:?} is more than there is of it")));
            }
            out.emit(x);
            Ok(())
        });
        let pc = main.pc.par_do_with(&name, check.side(&view)).main();
        self.add(pc, &main, main.most);
    }
}

/// The panes that are asked for.
fn resolved<T: Element>(panes: &PCollection<T>, name: &str, resolve: Resolve) -> PCollection<T> {
    let keep = ParDo::from_fn(move |x: T, cx: &ProcessContext<'_>, out: &mut Emitter<'_, T>| {
        let kept = match resolve {
            Resolve::Union => true,
            Resolve::Last => cx.pane().is_last,
            Resolve::OnTime => cx.pane().timing == PaneTiming::OnTime,
        };
        if kept {
            out.emit(x);
        }
        Ok(())
    });
    panes.par_do_with(&format!("{name} Resolve"), keep).main()
}
