//! What an element does to the result that a reader keeps: it is carried with the element.

use purlin_sdk::{
    AsyncContext, AsyncDoFn, AsyncParDo, DoFn, Emitter, KeyedParDo, PCollection, Partition, Pipeline,
    ProcessContext, Result, Runner, WindowInto,
    window::{FixedWindows, SlidingWindows, ValueKind},
};

use super::{
    probe::Probe,
    support::{Log, at, collect, run, secs},
};

const KINDS: [ValueKind; 4] =
    [ValueKind::Insert, ValueKind::UpdateBefore, ValueKind::UpdateAfter, ValueKind::Delete];

fn kind_of(n: i64) -> ValueKind {
    KINDS[n.rem_euclid(4) as usize]
}

/// Emits each number with the kind that it stands for.
#[derive(Clone)]
struct Mark;

impl DoFn for Mark {
    type Input = i64;
    type Output = i64;
    fn process(&mut self, n: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        out.emit_with_kind(n, kind_of(n));
        Ok(())
    }
}

const MANY: i64 = 5000;

fn marked(p: &Pipeline, n: i64) -> PCollection<i64> {
    p.create_timestamped("Numbers", (0..n).map(|n| (n, at(n % 60)))).par_do("Mark", Mark)
}

/// Fails the bundle when a number has another kind than it stands for.
fn check(name: &str, pc: &PCollection<i64>, seen: &Log<i64>) {
    let seen = seen.clone();
    pc.map_cx(name, move |n, cx| {
        assert_eq!(cx.value_kind(), kind_of(n), "{n}");
        seen.push(n);
        Ok(())
    });
}

/// What no DoFn said otherwise of is inserted, and so is what groupings and timers make of anything.
pub fn elements_are_inserted(r: &dyn Runner) {
    let kinds = collect(r, |p| {
        let none =
            p.create("Plain", [1_i64]).map_cx("Kind", |_, cx| Ok(cx.value_kind() == ValueKind::Insert));
        let numbers = marked(p, 8).key_by("Key", |n| n.to_string());
        let grouped = numbers
            .group_by_key("Group")
            .map_cx("GroupKind", |_, cx| Ok(cx.value_kind() == ValueKind::Insert));
        let probe = Probe::new(|_, _, s, cx, _| s.a.set(cx, cx.timestamp()));
        let timers = numbers
            .par_do_keyed("Timers", probe)
            .map_cx("TimerKind", |_, cx| Ok(cx.value_kind() == ValueKind::Insert));
        p.flatten("All", [none, grouped, timers])
    });
    assert_eq!(kinds, [true; 17]);
}

/// A kind goes along with its element through everything that makes elements of elements.
pub fn kinds_go_along(r: &dyn Runner) {
    let seen = Log::default();
    let outcome = run(r, |p| {
        let numbers = marked(p, MANY);
        check("Itself", &numbers, &seen);
        let through =
            numbers.map("Map", |n| n + 4).filter("Filter", |n| *n >= 0).flat_map("FlatMap", |n| [n, n]);
        check("Closures", &through, &seen);
        check("Reshuffled", &numbers.reshuffle("Reshuffle"), &seen);
        let sliding = numbers.window_into("Sliding", SlidingWindows::of(secs(10), secs(5)));
        check("Windowed", &sliding, &seen);
        let both = p.flatten("Flatten", [numbers.clone(), numbers.reshuffle("Apart")]);
        check("Flattened", &both, &seen);
        for (i, part) in numbers.apply("Parts", Partition::of(2, |n| (*n % 2) as usize)).iter().enumerate() {
            check(&format!("Part {i}"), part, &seen);
        }
        check(
            "Fused",
            &numbers.fused("Steps", |s| s.map("Same", |n| n).filter("All", |_: &i64| true)),
            &seen,
        );
    });
    drop(outcome);
    // Itself, twice, reshuffled, in two windows, two flattened, in a part, fused.
    assert_eq!(seen.len() as i64, MANY * 10);
}

#[derive(Clone)]
struct Later;

impl AsyncDoFn for Later {
    type Input = i64;
    type Output = i64;
    async fn process(&self, n: i64, cx: AsyncContext<i64>) -> Result {
        assert_eq!(cx.value_kind(), kind_of(n));
        cx.emit(n);
        Ok(())
    }
}

/// Keyed and async DoFns see it, also of elements that waited for their turn, and what they emit has it.
pub fn kinds_in_keyed_and_async_dofns(r: &dyn Runner) {
    let seen = Log::default();
    run(r, |p| {
        let numbers = marked(p, 400).window_into("Ten", WindowInto::of(FixedWindows::of(secs(10))));
        check("Async", &numbers.par_do_async("Later", AsyncParDo::of(Later)).main(), &seen);
        let keyed = numbers.key_by("Key", |n| (n % 7).to_string());
        for time_sorted in [false, true] {
            let probe = Probe::new(|_, n, _, cx, out| {
                assert_eq!(cx.value_kind(), kind_of(n));
                out.emit(n.to_string());
                Ok(())
            });
            let par_do = KeyedParDo::of(probe);
            let par_do = if time_sorted { par_do.time_sorted() } else { par_do };
            let texts = keyed.par_do_keyed_with(&format!("Keyed {time_sorted}"), par_do).main();
            let back = texts.map(&format!("Back {time_sorted}"), |text| text.parse().unwrap_or(-1));
            check(&format!("Check {time_sorted}"), &back, &seen);
        }
    });
    assert_eq!(seen.len(), 1200);
}

/// Emits some things with a kind, some with a time, some with nothing.
#[derive(Clone)]
struct Mixed;

impl DoFn for Mixed {
    type Input = i64;
    type Output = (i64, bool, i64);
    fn process(&mut self, n: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, Self::Output>) -> Result {
        let later = cx.timestamp() + secs(1);
        let seconds = |t: purlin_sdk::Timestamp| t.as_millis() / 1000;
        match n % 5 {
            0 => out.emit_with_kind((n, true, seconds(cx.timestamp())), ValueKind::Delete),
            1 => out.emit_at((n, false, seconds(later)), later),
            2 => {
                out.emit((n, false, seconds(cx.timestamp())));
                out.emit_with_kind((n, true, seconds(cx.timestamp())), ValueKind::Delete);
                out.emit((n, false, seconds(cx.timestamp())));
            }
            _ => out.emit((n, false, seconds(cx.timestamp()))),
        }
        Ok(())
    }
}

/// Elements with a kind of their own beside others, in batches that overflow: each keeps its kind and its time.
pub fn kinds_beside_other_elements(r: &dyn Runner) {
    for windows in [None, Some(FixedWindows::of(secs(7)))] {
        let seen = Log::default();
        let noted = seen.clone();
        run(r, |p| {
            let numbers = p.create_timestamped("Numbers", (0..MANY).map(|n| (n, at(n % 60))));
            let numbers = match windows {
                Some(windows) => numbers.window_into("Windows", windows),
                None => numbers,
            };
            numbers.par_do("Mixed", Mixed).map_cx("Check", move |(n, deleted, time), cx| {
                assert_eq!(
                    (cx.value_kind() == ValueKind::Delete, cx.timestamp()),
                    (deleted, at(time)),
                    "{n}"
                );
                noted.push(n);
                Ok(())
            });
        });
        assert_eq!(seen.len() as i64, MANY * 7 / 5);
    }
}
