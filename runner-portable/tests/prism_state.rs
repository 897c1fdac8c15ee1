//! State, timers, side inputs and combines on Prism, with the same output as on the direct runner.

#[path = "support/prism.rs"]
mod prism;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    thread,
};

use prism::Prism;
use purlin_derive::KeyedState;
use purlin_runner_direct::DirectRunner;
use purlin_runner_portable::PortableRunner;
use purlin_sdk::{
    Combine, CombineFn, DoFn, Duration, Element, Emitter, KeyedDoFn, PCollection, ParDo, Pipeline,
    ProcessContext, Result, Runner, TimerContext, Timestamp, View,
    state::{Bag, Combining, Map, OrderedList, Set, Timer, TimerFamily, Value},
    testing::TestStream,
    window::{FixedWindows, Sessions},
};

/// What a pipeline makes on a runner, sorted.
fn gathered<T: Element + Ord>(build: &dyn Fn(&Pipeline) -> PCollection<T>, runner: &dyn Runner) -> Vec<T> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = seen.clone();
    let p = Pipeline::new();
    build(&p).map("Gather", move |element| into.lock().unwrap().push(element));
    p.run_on(runner).unwrap().wait().unwrap();
    let mut all = std::mem::take(&mut *seen.lock().unwrap());
    all.sort();
    all
}

/// Runs a pipeline on both.
fn same<T: Element + Ord + std::fmt::Debug>(build: impl Fn(&Pipeline) -> PCollection<T>) {
    let Some(prism) = Prism::start() else { return };
    let ours = gathered(&build, &DirectRunner::default());
    assert!(!ours.is_empty());
    assert_eq!(gathered(&build, &PortableRunner::to(prism.endpoint())), ours);
}

fn at(s: i64) -> Timestamp {
    Timestamp::from_secs(s)
}

/// A sum.
#[derive(Clone, Default)]
struct Sum;

impl CombineFn for Sum {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;
    fn create(&self) -> i64 {
        0
    }
    fn add_input(&self, acc: &mut i64, x: i64) {
        *acc += x;
    }
    fn merge(&self, acc: &mut i64, other: i64) {
        *acc += other;
    }
    fn extract(&self, acc: i64) -> i64 {
        acc
    }
}

/// Every kind of cell, and what it comes to when the window ends.
#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Kept {
    last: Value<i64>,
    all: Bag<i64>,
    sum: Combining<Sum>,
    times: Map<i64, u64>,
    odd: Set<i64>,
    list: OrderedList<i64>,
}

#[derive(Clone)]
struct Keep;

impl KeyedDoFn for Keep {
    type Key = String;
    type Value = i64;
    type Output = String;
    type State = Kept;
    const ON_WINDOW_EXPIRATION: bool = true;

    fn process(
        &mut self,
        _: &String,
        x: i64,
        s: &mut Kept,
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, String>,
    ) -> Result {
        let largest = s.last.read().copied().unwrap_or(i64::MIN).max(x);
        s.last.write(largest);
        s.all.add(x);
        s.sum.add(x);
        let n = s.times.get(&(x % 3)).copied().unwrap_or(0);
        s.times.put(x % 3, n + 1);
        if x % 2 == 1 {
            s.odd.add(x);
        }
        s.list.add(cx.timestamp(), x);
        Ok(())
    }

    fn on_window_expiration(
        &mut self,
        key: &String,
        s: &mut Kept,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        let (mut all, mut times) = (s.all.take(), s.times.take());
        all.sort_unstable();
        times.sort_unstable();
        let odd: BTreeSet<i64> = s.odd.iter().copied().collect();
        out.emit(format!(
            "{key} {} {:?} {all:?} {} {times:?} {odd:?} {:?}",
            cx.window(),
            s.last.read(),
            s.sum.read(),
            s.list.read()
        ));
        Ok(())
    }
}

fn amounts(p: &Pipeline) -> PCollection<(String, i64)> {
    named_amounts(p, "Amounts")
}

fn named_amounts(p: &Pipeline, name: &str) -> PCollection<(String, i64)> {
    p.create_timestamped(name, (0..40_i64).map(|n| ((format!("k{}", n % 3), n), at(n))))
}

#[test]
fn state_of_every_kind_until_its_window_ends() {
    same(|p| {
        amounts(p).window_into("Tens", FixedWindows::of(Duration::from_secs(10))).par_do_keyed("Keep", Keep)
    });
}

#[test]
fn state_in_the_global_window() {
    same(|p| amounts(p).par_do_keyed("Keep", Keep));
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Set3 {
    seen: Bag<i64>,
    #[timer(event)]
    end: Timer,
    #[timer(event)]
    per: TimerFamily,
    #[timer(processing)]
    flush: Timer,
}

/// Timers that are set, moved, cleared, and set by each other.
#[derive(Clone)]
struct Alarms;

impl KeyedDoFn for Alarms {
    type Key = String;
    type Value = i64;
    type Output = String;
    type State = Set3;

    fn process(
        &mut self,
        _: &String,
        x: i64,
        s: &mut Set3,
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, String>,
    ) -> Result {
        s.seen.add(x);
        s.end.set(cx, cx.window().max_timestamp())?;
        s.per.tag(&(x % 4).to_string()).set(cx, cx.window().max_timestamp() - Duration::from_secs(x % 4))?;
        if x % 4 == 2 {
            s.per.clear("2");
        }
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: Set3Timer,
        key: &String,
        s: &mut Set3,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        let mut seen = s.seen.read().to_vec();
        seen.sort_unstable();
        out.emit(format!("{key} {timer:?} {} {} {seen:?}", cx.fire_timestamp(), cx.window()));
        if timer == Set3Timer::Per("3".to_owned()) {
            s.per.tag("next").set(cx, cx.fire_timestamp() + Duration::from_secs(1))?;
        }
        Ok(())
    }
}

#[test]
fn timers_that_are_moved_and_cleared_and_set_by_each_other() {
    same(|p| {
        amounts(p)
            .window_into("Tens", FixedWindows::of(Duration::from_secs(10)))
            .par_do_keyed("Alarms", Alarms)
    });
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Waiting {
    all: Bag<i64>,
    #[timer(processing)]
    flush: Timer,
}

/// Lets elements wait for a minute.
#[derive(Clone)]
struct Wait;

impl KeyedDoFn for Wait {
    type Key = String;
    type Value = i64;
    type Output = String;
    type State = Waiting;

    fn process(
        &mut self,
        _: &String,
        x: i64,
        s: &mut Waiting,
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, String>,
    ) -> Result {
        if s.all.is_empty() {
            s.flush.set_after(cx, Duration::from_secs(60))?;
        }
        s.all.add(x);
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: WaitingTimer,
        key: &String,
        s: &mut Waiting,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        let mut all = s.all.take();
        all.sort_unstable();
        out.emit(format!("{key} {timer:?} {} {all:?}", cx.window()));
        Ok(())
    }
}

#[test]
fn a_batch_waits_in_processing_time_and_holds_the_watermark() {
    same(|p| {
        let pair = |n: i64| ("k".to_owned(), n);
        let script = TestStream::new()
            .elements((1..=3).map(|n| (pair(n), at(n))))
            .advance_watermark_to(at(100))
            .advance_processing_time(Duration::from_secs(70))
            .element_at(pair(200), at(200));
        // What came out late would be dropped behind the grouping.
        p.apply("Script", script)
            .par_do_keyed("Wait", Wait)
            .window_into("Tens", FixedWindows::of(Duration::from_secs(10)))
            .key_by("ByText", |text| text.clone())
            .group_by_key("Group")
            .map("Text", |(text, _)| text)
    });
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Known {
    seen: Value<bool>,
    #[timer(processing)]
    over: Timer,
}

/// Passes what it has not seen for a minute.
#[derive(Clone)]
struct Once;

impl KeyedDoFn for Once {
    type Key = String;
    type Value = i64;
    type Output = i64;
    type State = Known;

    fn process(
        &mut self,
        _: &String,
        x: i64,
        s: &mut Known,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result {
        if s.seen.is_empty() {
            s.seen.write(true);
            out.emit(x);
            s.over.without_output_timestamp().set_after(cx, Duration::from_secs(60))?;
        }
        Ok(())
    }

    fn on_timer(
        &mut self,
        _: KnownTimer,
        _: &String,
        s: &mut Known,
        _: &TimerContext<'_>,
        _: &mut Emitter<'_, i64>,
    ) -> Result {
        s.seen.clear();
        Ok(())
    }
}

#[test]
fn a_timer_that_emits_nothing_fires_in_processing_time() {
    same(|p| {
        let pair = |n: i64| ("k".to_owned(), n);
        let script = TestStream::new()
            .element_at(pair(1), at(1))
            // Prism lets elements of a keyed DoFn wait until the watermark has come to them.
            .advance_watermark_to(at(10))
            .advance_processing_time(Duration::from_secs(50))
            .element_at(pair(12), at(12))
            .advance_watermark_to(at(20))
            .advance_processing_time(Duration::from_secs(20))
            .element_at(pair(23), at(23));
        p.apply("Script", script).par_do_keyed("Once", Once)
    });
}

#[test]
fn a_window_that_ends_lets_nothing_wait() {
    same(|p| {
        amounts(p).window_into("Tens", FixedWindows::of(Duration::from_secs(10))).par_do_keyed("Wait", Wait)
    });
}

/// Reads all shapes of side inputs.
#[derive(Clone)]
struct Look {
    rate: View<i64>,
    none: View<i64>,
    all: View<i64>,
}

impl DoFn for Look {
    type Input = (String, i64);
    type Output = String;
    fn process(
        &mut self,
        (key, x): (String, i64),
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        let (rate, none, all) = (cx.side(&self.rate)?, cx.side(&self.none)?, cx.side(&self.all)?);
        out.emit(format!("{key} {x} {rate} {none} {all}"));
        Ok(())
    }
}

#[test]
fn side_inputs_of_a_window_and_of_nothing() {
    same(|p| {
        let tens = FixedWindows::of(Duration::from_secs(10));
        let rate = p.create("Rate", [7_i64]).view_as_singleton("AsRate");
        let none = p.create("None", [1_i64]).filter("Nothing", |_| false).view_as_singleton_or("AsNone", -1);
        let sums = amounts(p).map("Value", |(_, x)| x).window_into("SideTens", tens);
        let all = sums.apply("Sum", Combine::globally(Sum).without_defaults()).view_as_singleton("AsAll");
        let look = ParDo::of(Look { rate: rate.clone(), none: none.clone(), all: all.clone() });
        let look = look.side(&rate).side(&none).side(&all);
        let main = p.create_timestamped("Main", (0..40_i64).map(|n| (("m".to_owned(), n), at(n))));
        main.window_into("MainTens", tens).par_do_with("Look", look).main()
    });
}

#[test]
fn combines_globally_with_and_without_anything() {
    same(|p| {
        let sum = p.create("Numbers", 0..100_i64).combine_globally("Sum", Sum);
        let nothing = p.create("Few", [1_i64]).filter("None", |_| false).combine_globally("Zero", Sum);
        sum.flatten_with("Both", [nothing])
    });
}

#[test]
fn combines_per_key_in_sessions_and_with_a_fan_out() {
    same(|p| {
        let sessions = amounts(p)
            .filter("Gaps", |(_, x)| x % 10 < 7)
            .window_into("Sessions", Sessions::with_gap(Duration::from_secs(4)))
            .apply("Sum", Combine::per_key(Sum));
        let fanned = named_amounts(p, "More")
            .window_into("Tens", FixedWindows::of(Duration::from_secs(10)))
            .apply("Fanned", Combine::per_key(Sum).with_hot_key_fanout(3));
        let global = |p: PCollection<(String, i64)>, name: &str| {
            p.window_into(name, purlin_sdk::window::GlobalWindows)
        };
        global(sessions, "A").flatten_with("Both", [global(fanned, "B")])
    });
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Counted {
    n: Value<i64>,
}

/// Numbers the elements of each key, and takes so long for some that the engine would have another worker help.
#[derive(Clone)]
struct Numbered;

impl KeyedDoFn for Numbered {
    type Key = String;
    type Value = i64;
    type Output = (String, i64);
    type State = Counted;
    fn process(
        &mut self,
        key: &String,
        x: i64,
        s: &mut Counted,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, (String, i64)>,
    ) -> Result {
        if x % 97 == 0 {
            thread::sleep(std::time::Duration::from_millis(230));
        }
        let n = s.n.read().copied().unwrap_or(0) + 1;
        s.n.write(n);
        out.emit((key.clone(), n));
        Ok(())
    }
}

/// Prism cuts a bundle that makes no progress for 100 ms, and would give what is left of a key to another one at once.
#[test]
fn a_key_is_in_one_bundle_however_slow_it_is() {
    same(|p| {
        let numbers = |part: i64| (0..500).map(move |i| ((i % 10).to_string(), part * 500 + i));
        let parts: Vec<_> = (0..4).map(|part| p.create(&format!("Part {part}"), numbers(part))).collect();
        parts[0].flatten_with("All", parts[1..].to_vec()).par_do_keyed("Count", Numbered)
    });
}
