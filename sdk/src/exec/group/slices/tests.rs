//! Slices against a table per window, on random elements, windows and bundles.

use std::{collections::BTreeMap, panic::Location};

use super::*;
use crate::{
    Step,
    batch::{Batch, Column, Meta, WindowSet, Windows},
    coder_slot::CoderSlot,
    exec::{
        AnyTable, Shard,
        group::{ListFold, WindowTables, root::WindowRoot},
    },
    window::{AssignContext, PaneInfo, WindowFn},
};

type Tables = WindowTables<u8, ListFold<u32>>;
type Closed = BTreeMap<u8, (Vec<u32>, Option<Timestamp>)>;

fn ms(ms: i64) -> Timestamp {
    Timestamp::saturating_from_millis(ms)
}

fn sliding(size: i64, period: i64, offset: i64) -> SlidingWindows {
    SlidingWindows::of(Duration::from_millis(size), Duration::from_millis(period))
        .offset(Duration::from_millis(offset))
}

fn assigned(windows: SlidingWindows, ts: Timestamp) -> Vec<Window> {
    let mut out = Vec::new();
    windows.assign(&AssignContext::at(ts), &mut out).unwrap();
    out
}

type Elements = Vec<(u8, u32, Timestamp)>;

/// A run: what comes, bundle by bundle, and how far the watermark is before each.
#[derive(Debug)]
struct Case {
    windows: SlidingWindows,
    combiner: TimestampCombiner,
    bundles: Vec<(Timestamp, Elements)>,
}

impl Case {
    fn random(rng: &mut fastrand::Rng) -> Case {
        let period = rng.i64(1..9);
        let size = period + rng.i64(1..30);
        let windows = sliding(size, period, rng.i64(-20..20));
        let combiner = *rng
            .choice(&[TimestampCombiner::EndOfWindow, TimestampCombiner::Earliest, TimestampCombiner::Latest])
            .unwrap();
        // Around zero, and at both ends of time.
        let from = *rng
            .choice(&[-50, -50, Timestamp::MIN.as_millis(), Timestamp::MAX.as_millis() - 90, 1 << 40])
            .unwrap();
        let (mut id, mut watermark, mut now) = (0, Timestamp::MIN, from);
        let late = rng.i64(0..30);
        let bundles = (0..rng.usize(1..20)).map(|_| {
            let elements = (0..rng.usize(0..12)).map(|_| {
                id += 1;
                (rng.u8(0..3), id, ms((now + rng.i64(-late - 1..10)).max(from)))
            });
            let bundle = (watermark, elements.collect());
            now += rng.i64(0..9);
            if rng.bool() {
                watermark = watermark.max(ms(now - rng.i64(0..10)));
            }
            bundle
        });
        Case { windows, combiner, bundles: bundles.collect() }
    }

    fn tables(&self) -> Tables {
        Tables::new(ListFold::default(), self.combiner)
    }

    /// Elements with the windows that they are in, said element by element or once and for all.
    fn batch(&self, elements: &[(u8, u32, Timestamp)], derived: bool) -> Batch<(u8, u32)> {
        let times = elements.iter().map(|(.., ts)| *ts);
        let windows = if derived {
            Windows::Sliding(self.windows)
        } else {
            Windows::Each(times.clone().map(|ts| WindowSet::of(&assigned(self.windows, ts))).collect())
        };
        let meta = Meta {
            times: Column::Each(times.collect()),
            windows,
            panes: Column::Const(PaneInfo::NO_FIRING.into()),
        };
        Batch { values: elements.iter().map(|(key, id, _)| (*key, *id)).collect(), meta }
    }

    fn root(&self) -> WindowRoot<u8, ListFold<u32>> {
        let coder = CoderSlot::default_of_type();
        WindowRoot::new(&Step::new("Tested", Location::caller()), ListFold::default(), None, &coder)
    }

    fn merged(root: &mut WindowRoot<u8, ListFold<u32>>, tables: Vec<Box<dyn AnyTable>>) -> Closed {
        let Some((mut table, _)) = root.merge(tables).unwrap() else { return Closed::new() };
        let times = std::mem::take(&mut table.times);
        let groups = table.accs.drain().map(|(key, mut ids)| {
            ids.sort_unstable();
            (key, (ids, times.get(&key).copied()))
        });
        groups.collect()
    }

    /// Runs a table per window and slices side by side; how many windows came out.
    fn check(&self, rng: &mut fastrand::Rng) -> usize {
        let lateness = Duration::ZERO;
        let (mut plain, mut sliced) = (self.tables(), self.tables().sliced(self.windows));
        let mut root = self.root();
        let mut holds: [BTreeMap<(Timestamp, Window), Timestamp>; 2] = Default::default();
        let mut closed = 0;
        let end = (Timestamp::MAX, Vec::new());
        for (watermark, elements) in self.bundles.iter().chain([&end]) {
            // Closing comes before the bundle that sees the new watermark.
            while let Some(entry) = holds[0].first_entry().filter(|e| e.key().0 < *watermark) {
                let (key, _) = entry.remove_entry();
                assert!(holds[1].remove(&key).is_some(), "{} was not reported", key.1);
                let expected = Self::merged(&mut root, plain.take(&key.1).into_iter().collect());
                let mut got = sliced.take(&key.1);
                if let Some(table) = got.as_mut().filter(|_| rng.bool()) {
                    *table = if rng.bool() { table.copy() } else { reloaded(self.combiner, &**table) };
                }
                assert_eq!(Self::merged(&mut root, got.into_iter().collect()), expected, "{}", key.1);
                closed += 1;
            }
            let late = plain.fold(&mut self.batch(elements, false), *watermark, lateness);
            let derived = rng.bool();
            assert_eq!(sliced.fold(&mut self.batch(elements, derived), *watermark, lateness), late);
            for (tables, holds) in [&mut plain, &mut sliced].into_iter().zip(&mut holds) {
                for report in tables.report(0) {
                    let hold = holds.entry((report.window.max_timestamp(), report.window));
                    hold.and_modify(|h| *h = report.hold.min(*h)).or_insert(report.hold);
                }
            }
            assert_eq!(holds[0], holds[1], "what holds the watermark in {self:?}");
            if rng.u8(0..4) == 0 {
                let mut bytes = Vec::new();
                sliced.save(&mut bytes).unwrap();
                let mut rest = bytes.as_slice();
                sliced = self.tables().sliced(self.windows).load(&mut rest).unwrap();
                assert!(rest.is_empty());
            }
        }
        assert!(plain.is_empty() && sliced.is_empty(), "{} and {} are left", plain.len(), sliced.len());
        closed
    }
}

fn reloaded(combiner: TimestampCombiner, table: &dyn AnyTable) -> Box<dyn AnyTable> {
    let mut bytes = Vec::new();
    table.save(&mut bytes).unwrap();
    Box::new(WindowTable::<u8, ListFold<u32>>::load(combiner, &mut bytes.as_slice()).unwrap())
}

#[test]
fn slices_give_what_a_table_per_window_gives() {
    let mut closed = 0;
    for seed in 0..400 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let case = Case::random(&mut rng);
        closed += case.check(&mut rng);
    }
    assert!(closed > 4000, "{closed}");
}

#[test]
fn every_time_is_in_one_slice_whose_windows_are_those_that_are_assigned() {
    let ends = [Timestamp::MIN.as_millis(), Timestamp::MAX.as_millis()];
    for (size, period, offset) in [(10, 1, 0), (10, 3, 2), (7, 5, -4), (11, 10, 3), (12, 4, 1), (100, 99, 7)]
    {
        let windows = sliding(size, period, offset).as_sliding().unwrap();
        for ts in (-150..150).chain(ends[0]..ends[0] + 120).chain(ends[1] - 120..=ends[1]).map(ms) {
            let expected = assigned(windows, ts);
            assert_eq!(windows.set_of(ts), WindowSet::of(&expected), "{windows:?} at {ts}");
            let slice = windows.slice_of(ts.as_millis());
            assert!((slice.start..slice.end).contains(&ts.as_millis()), "{slice:?} at {ts}");
            assert!(slice.end - slice.start >= windows.shortest_slice());
            if let Some(found) = windows.slice_in(&expected) {
                assert_eq!(found, slice, "{windows:?} at {ts}");
            } else {
                assert!(expected[0].as_interval().unwrap().start() == Timestamp::MIN);
            }
        }
    }
}

#[test]
fn windows_with_gaps_or_side_by_side_have_no_slices() {
    assert!(sliding(5, 10, 0).as_sliding().is_none());
    assert!(sliding(10, 10, 0).as_sliding().is_none());
    assert!(SlidingWindows::of(Duration::MAX, Duration::from_millis(1)).as_sliding().is_none());
}

#[test]
fn other_windows_are_no_slice() {
    let windows = sliding(10, 5, 0);
    let [a, b, c] = [0, 5, 1].map(|s| Window::interval(ms(s), ms(s + 10)));
    assert!(windows.slice_in(&[b.clone(), a.clone()]).is_some());
    for set in [vec![a.clone(), b.clone()], vec![b], vec![c, a.clone()], vec![Window::Global, a], vec![]] {
        assert!(windows.slice_in(&set).is_none(), "{set:?}");
    }
}

#[test]
fn an_element_is_kept_once_and_a_window_takes_no_copy() {
    let windows = sliding(100, 1, 0);
    let case = Case { windows, combiner: TimestampCombiner::EndOfWindow, bundles: Vec::new() };
    let mut tables = case.tables().sliced(windows);
    for ts in 0..1000 {
        tables.fold(&mut case.batch(&[(1, 1, ms(ts))], true), Timestamp::MIN, Duration::ZERO);
    }
    assert_eq!(tables.len(), 1000);
    // The first element's windows close, the first one first.
    for window in assigned(windows, ms(0)).iter().rev() {
        assert_eq!(tables.len(), 1000);
        assert!(tables.take(window).is_some(), "{window}");
    }
    assert_eq!(tables.len(), 999);
}
