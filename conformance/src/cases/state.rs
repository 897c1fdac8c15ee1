//! State: every kind of cell, per key and window, whatever fails. Beam's `StateTests`.

mod cells;
mod sorted;

use std::{
    fmt::Debug,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use purlin_derive::KeyedState;
use purlin_sdk::{
    DoFnError, Emitter, Key, KeyedDoFn, KeyedParDo, PCollection, Pipeline, ProcessContext, Result, Runner,
    Tag, TimerContext, WindowInto,
    metrics::{DROPPED_DUE_TO_LATENESS, LATE_DATA_OUTPUT},
    state::{Bag, Combining, Map, Multimap, OrderedList, Set, Timer, TimerFamily, Value},
    testing::TestStream,
    window::{FixedWindows, Sessions, Window},
};

use super::{
    probe::{Keyed, Probe, k, outputs, values},
    support::{Log, Numbers, assert_nothing, assert_says, at, build_errors, collect, run, secs, span},
};

pub use cells::{
    Mean, b079_sequences_on_a_map, b081_a_large_set, bags, combining_state, combining_state_with_a_parameter,
    maps, multimaps, ordered_lists, sets, values_of_a_key,
};
pub use sorted::{
    b088_sorted_input_that_is_late_but_allowed, time_sorted_input, time_sorted_input_with_allowed_lateness,
    time_sorted_input_with_late_data, time_sorted_input_with_timers,
    timers_between_sorted_elements_with_lateness,
};

fn stream() -> Keyed {
    TestStream::new()
}

/// Counts elements, and emits the count before each.
fn counting() -> Probe {
    Probe::new(|key, _, s, _, out| {
        out.emit(format!("{key}{}", s.count() - 1));
        Ok(())
    })
}

fn keyed(key: &str, value: i64) -> (String, i64) {
    (key.to_owned(), value)
}

/// A value that is unset reads as none, and is there for the next element of the key.
pub fn value_state(r: &dyn Runner) {
    let out = collect(r, |p| {
        let elements = (0..3).flat_map(|i| [keyed("a", i), keyed("b", i)]);
        p.create("Values", elements).par_do_keyed("Count", counting())
    });
    assert_eq!(out, ["a0", "a1", "a2", "b0", "b1", "b2"]);
}

/// Fifty keys with fifteen duplicates each, in any order: one output a key.
pub fn value_state_drops_duplicates(r: &dyn Runner) {
    let probe = Probe::new(|key, _, s, _, out| {
        if s.count() == 1 {
            out.emit(key.to_owned());
        }
        Ok(())
    });
    let out = collect(r, |p| {
        let mut numbers = Numbers::of(7);
        let mut all: Vec<_> = (0..750).map(|i| (numbers.below(1_000_000), i % 50)).collect();
        all.sort();
        p.create("Values", all.into_iter().map(|(_, i)| keyed(&format!("{i:02}"), 1)))
            .par_do_keyed("Dedup", probe)
    });
    assert_eq!(out, (0..50).map(|i| format!("{i:02}")).collect::<Vec<_>>());
}

/// State is per window, and an element in several windows is in the state of each.
pub fn state_is_per_window(r: &dyn Runner) {
    let elements = || (0..10).map(|i| (k(i), at(i)));
    let fixed = collect(r, |p| {
        p.create_timestamped("Values", elements())
            .window_into("Five", FixedWindows::of(secs(5)))
            .par_do_keyed("Count", counting())
            .map_cx("Window", |x, cx| Ok((span(&cx.window()).0, x)))
    });
    let expected: Vec<_> =
        [0, 5].into_iter().flat_map(|w| (0..5).map(move |n| (w, format!("k{n}")))).collect();
    assert_eq!(fixed, expected);
    let sliding = collect(r, |p| {
        p.create_timestamped("Values", elements())
            .window_into("Slide", purlin_sdk::window::SlidingWindows::of(secs(10), secs(5)))
            .par_do_keyed("Count", counting())
            .map_cx("Window", |x, cx| Ok((span(&cx.window()).0, x)))
    });
    let windows = [(-5, 5), (0, 10), (5, 5)];
    let expected: Vec<_> =
        windows.into_iter().flat_map(|(w, n)| (0..n).map(move |i| (w, format!("k{i}")))).collect();
    assert_eq!(sliding, expected);
}

/// Two DoFns with state of the same name, one behind the other, and one DoFn applied twice, share nothing.
pub fn state_of_one_name_in_two_transforms(r: &dyn Runner) {
    let (first, second, other) = (Log::default(), Log::default(), Log::default());
    run(r, |p| {
        let values = p.create("Values", (0..3).map(k));
        let counted = values.par_do_keyed("First", counting());
        first.note("NoteFirst", &counted);
        let again = counted.map("Again", |_| k(1)).par_do_keyed("Second", counting());
        second.note("NoteSecond", &again);
        other.note("NoteOther", &values.par_do_keyed("Other", counting()));
    });
    for log in [first, second, other] {
        assert_eq!(log.take_sorted(), ["k0", "k1", "k2"]);
    }
}

/// A cell of every kind.
#[derive(KeyedState, Debug)]
#[keyed_state(crate = "purlin_sdk")]
struct Kinds {
    value: Value<i64>,
    bag: Bag<i64>,
    mean: Combining<Mean>,
    map: Map<String, i64>,
    set: Set<i64>,
    list: OrderedList<char>,
    multi: Multimap<Vec<u8>, i64>,
    #[timer(event)]
    alarm: Timer,
    #[timer(event)]
    alarms: TimerFamily,
    #[timer(processing)]
    flush: Timer,
}

type Step = fn(&mut Kinds) -> String;

/// Does a step with the state for each element, and emits what it says.
#[derive(Clone)]
struct Steps(&'static [Step]);

impl KeyedDoFn for Steps {
    type Key = String;
    type Value = i64;
    type Output = String;
    type State = Kinds;
    fn process(
        &mut self,
        _: &String,
        step: i64,
        s: &mut Kinds,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        out.emit(self.0[usize::try_from(step)?](s));
        Ok(())
    }
}

/// No two bundles have a key at once: ten keys counted by many threads in small bundles.
pub fn b083_a_key_is_in_one_bundle_at_a_time(r: &dyn Runner) {
    #[derive(Clone, Default)]
    struct At(Arc<Mutex<Vec<String>>>);
    let busy = At::default();
    let probe = Probe::new(move |key, _, s, _, out| {
        let enter = |key: &str| {
            let mut busy = busy.0.lock().unwrap_or_else(PoisonError::into_inner);
            assert!(!busy.iter().any(|k| k == key), "two bundles have {key}");
            busy.push(key.to_owned());
        };
        enter(key);
        let n = s.n.read().copied().unwrap_or(0);
        thread::yield_now();
        s.n.write(n + 1);
        busy.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|k| k != key);
        if n + 1 == 1000 {
            out.emit(key.to_owned());
        }
        Ok(())
    });
    let out = collect(r, |p| {
        let parts = (0..20)
            .map(|part| p.create(&format!("Part{part}"), (0..500).map(|i| keyed(&(i % 10).to_string(), i))));
        let parts: Vec<PCollection<(String, i64)>> = parts.collect();
        parts[0].flatten_with("All", parts[1..].to_vec()).par_do_keyed("Count", probe)
    });
    assert_eq!(out, (0..10).map(|i| i.to_string()).collect::<Vec<_>>());
}

/// What one bundle of the transform before emits for a key comes in that order.
pub fn b084_elements_of_a_bundle_keep_their_order(r: &dyn Runner) {
    let probe = Probe::new(|_, i, s, _, out| {
        s.bag.add(i);
        if s.bag.len() == 3000 {
            out.emit(format!("{}", s.bag.read().is_sorted()));
        }
        Ok(())
    });
    let out = collect(r, |p| {
        p.create_timestamped("One", [(1_i64, at(7))])
            .flat_map("Many", |_| (0..3000).flat_map(|i| [k(i), keyed("other", -i)]))
            .par_do_keyed("Order", probe)
    });
    assert_eq!(out, ["false", "true"]);
}

/// Values that were seen less than ten seconds before, by event time, are dropped. One that comes later extends the
/// time, and one that is older does not shorten it.
pub fn b086_duplicates_by_event_time(r: &dyn Runner) {
    let dedup = Probe::new(|_, _, s, cx, out| {
        let until = cx.timestamp() + secs(10);
        if !s.a.is_set() {
            out.emit(format!("{}", cx.timestamp().as_millis() / 1000));
        }
        let until = s.a.time().map_or(until, |set| set.max(until));
        s.a.with_output_timestamp(cx.timestamp()).set(cx, until)
    })
    .when_due(|_, _, _, _, _| Ok(()));
    let element = |s: Keyed, t: i64| s.element_at(k(1), at(t));
    let run = |first: i64, second: i64| {
        let stream = element(element(stream().advance_watermark_to(at(0)), first), second);
        let stream = element(stream.advance_watermark_to(at(12)), 12).advance_watermark_to(at(40));
        values(outputs(r, &element(stream, 41), |pc| pc.par_do_keyed("Dedup", dedup.clone())))
    };
    assert_eq!(run(10, 1), ["10", "41"]);
    assert_eq!(run(1, 10), ["1", "41"]);
}

/// Batches and counts a key, whatever the key is.
#[derive(Clone)]
struct Batches<K>(std::marker::PhantomData<fn() -> K>);

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Batch {
    all: Bag<i64>,
    #[timer(event)]
    end: Timer,
}

impl<K: Key + Debug> KeyedDoFn for Batches<K> {
    type Key = K;
    type Value = i64;
    type Output = String;
    type State = Batch;
    fn process(
        &mut self,
        _: &K,
        x: i64,
        s: &mut Batch,
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, String>,
    ) -> Result {
        s.all.add(x);
        s.end.set(cx, cx.window().max_timestamp())
    }
    fn on_timer(
        &mut self,
        _: BatchTimer,
        key: &K,
        s: &mut Batch,
        _: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        let mut all = s.all.take();
        all.sort();
        out.emit(format!("{key:?} {all:?}"));
        Ok(())
    }
}

/// Keys that are nothing, empty, or take no bytes are keys like others.
pub fn b090_keys_of_nothing(r: &dyn Runner) {
    fn of<K: Key + Debug>(r: &dyn Runner, keys: Vec<K>) -> (Vec<String>, Vec<String>) {
        let (batches, groups) = (Log::default(), Log::default());
        run(r, |p| {
            let all = keys.into_iter().zip(0_i64..);
            let values = p.create("Values", all);
            batches.note("Batches", &values.par_do_keyed("Batch", Batches(std::marker::PhantomData)));
            let grouped = values.group_by_key("Group").map("List", |(key, group)| {
                let mut all: Vec<i64> = group.into_iter().collect();
                all.sort();
                format!("{key:?} {all:?}")
            });
            groups.note("Groups", &grouped);
        });
        (batches.take_sorted(), groups.take_sorted())
    }
    let options = || vec![None, Some(String::new()), None, Some("a".to_owned()), Some(String::new())];
    let expected = ["None [0, 2]", "Some(\"\") [1, 4]", "Some(\"a\") [3]"];
    assert_eq!(of(r, options()), (expected.map(Into::into).to_vec(), expected.map(Into::into).to_vec()));
    assert_eq!(of(r, vec![(), ()]), (vec!["() [0, 1]".into()], vec!["() [0, 1]".into()]));
    assert_eq!(of(r, vec![Vec::<u8>::new(), vec![]]), (vec!["[] [0, 1]".into()], vec!["[] [0, 1]".into()]));
}

/// Elements for a window that has expired go where they are wanted, or are dropped and counted.
pub fn late_elements(r: &dyn Runner) {
    const LATE: Tag<(String, i64)> = Tag::new("late");
    let stream = stream().element_at(k(1), at(1)).advance_watermark_to(at(13)).element_at(k(2), at(2));
    let stream = stream.advance_watermark_to(at(16)).elements([(k(3), at(3)), (k(17), at(17))]);
    for has_output in [false, true] {
        let (log, late) = (Log::default(), Log::default());
        let outcome = run(r, |p| {
            let windows = WindowInto::of(FixedWindows::of(secs(10))).allowed_lateness(secs(5));
            let values = p.apply("Stream", stream.clone()).window_into("Ten", windows);
            let par_do = KeyedParDo::of(counting());
            let par_do = if has_output { par_do.late_data(LATE) } else { par_do };
            let parts = values.par_do_keyed_with("Count", par_do);
            log.note("Collect", &parts.main());
            if has_output {
                let late_data = parts.tagged(LATE);
                let with_time =
                    late_data.map_cx("Time", |(_, i), cx| Ok((i, cx.timestamp(), span(&cx.window()))));
                late.note("CollectLate", &with_time);
            }
        });
        assert_eq!(log.take(), ["k0", "k1", "k0"]);
        let expected = if has_output { vec![(3, at(3), (0, 10))] } else { vec![] };
        assert_eq!(late.take(), expected);
        let counted = |metric| outcome.metrics.committed.counter("Count", metric);
        assert_eq!(counted(DROPPED_DUE_TO_LATENESS), i64::from(!has_output));
        assert_eq!(counted(LATE_DATA_OUTPUT), i64::from(has_output));
    }
}

const EVEN: Tag<i64> = Tag::new("even");

/// Side inputs and further outputs, in `process` and in timers: state that goes to all of them.
pub fn state_with_side_inputs_and_tagged_outputs(r: &dyn Runner) {
    let (main, even) = (Log::default(), Log::default());
    run(r, |p| {
        let windowed = |name: &str, values: Vec<(i64, i64)>| {
            p.create_timestamped(name, values.into_iter().map(|(x, t)| (x, at(t))))
                .window_into(&format!("{name}Tens"), FixedWindows::of(secs(10)))
        };
        let limit = windowed("Limits", vec![(2, 3), (3, 15)]).view_as_singleton("Limit");
        let view = limit.clone();
        let in_timer = limit.clone();
        let probe = Probe::new(move |_, i, s, cx, out| {
            if i % 2 == 0 {
                out.emit_to(EVEN, i);
            }
            s.bag.add(i);
            if s.bag.len() as i64 == cx.side(&view)? {
                let mut all = s.bag.take();
                all.sort();
                out.emit(format!("{all:?}"));
            }
            s.a.set(cx, cx.window().max_timestamp())
        });
        let probe = probe.when_due(move |_, _, s, cx, out| {
            out.emit_to(EVEN, 1000 + cx.side(&in_timer)?);
            out.emit(format!("{} left of {}", s.bag.len(), cx.side(&in_timer)?));
            Ok(())
        });
        let values = windowed("Values", vec![(1, 1), (1, 2), (4, 3), (5, 11), (5, 12), (5, 13), (6, 14)]);
        let parts =
            values.map("Key", k).par_do_keyed_with("Probe", KeyedParDo::of(probe).side(&limit).tag(EVEN));
        main.note("Main", &parts.main());
        even.note("Even", &parts.tagged(EVEN));
    });
    let mut main = main.take_sorted();
    // Which elements come together depends on the order.
    main.retain(|x| x.contains("left"));
    assert_eq!(main, ["1 left of 2", "1 left of 3"]);
    assert_eq!(even.take_sorted(), [4, 6, 1002, 1003]);
}

/// Fails the first times that it is asked to, and then no more.
#[derive(Clone)]
struct FailFirst {
    fail: bool,
    times: Arc<AtomicUsize>,
    log: Log<String>,
}

impl KeyedDoFn for FailFirst {
    type Key = String;
    type Value = i64;
    type Output = String;
    type State = Kinds;

    fn process(
        &mut self,
        _: &String,
        i: i64,
        s: &mut Kinds,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        s.value.write(s.value.read().copied().unwrap_or(0) + i);
        s.bag.add(i);
        s.mean.add(i);
        s.map.put((i % 3).to_string(), i);
        if i % 4 == 0 {
            s.map.remove("1");
            s.set.remove(&2);
        }
        s.set.add(i % 5);
        s.list.add(at(-i), 'x');
        s.multi.put(vec![(i % 2) as u8], i);
        s.alarm.set(cx, at(100 - i))?;
        s.alarms.tag(&(i % 3).to_string()).set(cx, at(50 + i))?;
        if i % 6 == 5 {
            s.alarms.clear("0");
        }
        s.flush.set_after(cx, secs(i))?;
        out.emit(format!("element {i}"));
        self.maybe(i == 7)
    }

    fn on_timer(
        &mut self,
        timer: KindsTimer,
        _: &String,
        s: &mut Kinds,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        out.emit(format!("{timer:?} at {}: {s:?}", cx.fire_timestamp().as_millis() / 1000));
        let first = timer == KindsTimer::Alarms("1".to_owned());
        if first {
            s.alarms.tag("again").set(cx, cx.fire_timestamp() + secs(1))?;
        }
        s.bag.clear();
        s.mean.clear();
        s.value.take();
        self.maybe(first)
    }
}

impl FailFirst {
    fn maybe(&self, here: bool) -> Result {
        if self.fail && here && self.times.fetch_add(1, Ordering::SeqCst) % 3 < 2 {
            self.log.push("failed".to_owned());
            return Err(DoFnError::msg("not now").retryable());
        }
        Ok(())
    }
}

/// A bundle that fails, in an element or in a timer, leaves no trace in any kind of state, in timers, holds, elements
/// that wait, or output. To be run with two retries or more.
pub fn a_failed_bundle_leaves_no_trace_in_state(r: &dyn Runner) {
    let result = |fail: bool, sorted: bool| {
        let (seen, failures) = (Log::default(), Log::default());
        let committed = crate::Committed::new();
        let outcome = crate::runners::run(r, |p| {
            let dofn = FailFirst { fail, times: Arc::default(), log: failures.clone() };
            let stream = (0..4).fold(stream(), |s, block| {
                s.elements((0..3).map(move |i| (k(3 * block + i), at(3 * block + i))))
            });
            let stream = stream.advance_watermark_to(at(30)).advance_processing_time(secs(60));
            let par_do = KeyedParDo::of(dofn);
            let par_do = if sorted { par_do.time_sorted() } else { par_do };
            let out = p.apply("Stream", stream).par_do_keyed_with("FailFirst", par_do).main();
            let hundreds = out.map_cx("Time", |x, cx| Ok((cx.timestamp().as_millis(), x)));
            committed.collect("Collect", &hundreds);
            // What holds the watermark shows in what is late here.
            let grouped = out
                .window_into("Tens", FixedWindows::of(secs(10)))
                .map("One", |x| ((), x))
                .group_by_key("Group")
                .map_cx("Size", |(_, v), cx| Ok((cx.timestamp().as_millis(), v.len().to_string())));
            seen.note("Sizes", &grouped);
        });
        if let Err(e) = outcome {
            panic!("the run failed: {e}");
        }
        (committed.sorted(), seen.take_sorted(), failures.len())
    };
    for sorted in [false, true] {
        let (expected, sizes, _) = result(false, sorted);
        let (found, found_sizes, failures) = result(true, sorted);
        assert_eq!((&found, &found_sizes), (&expected, &sizes));
        assert_eq!(failures, 4, "it did not fail where it should");
        assert!(expected.len() > 15, "{expected:?}");
    }
}

/// State cannot merge as windows do; what a cell holds must have an encoding; outputs have different names.
pub fn state_that_cannot_be(_: &dyn Runner) {
    let sessions = build_errors(|p| {
        p.create("Values", [k(1)])
            .window_into("Sessions", Sessions::with_gap(secs(5)))
            .par_do_keyed("Count", counting());
    });
    assert_says(&sessions, &["`Count`", "state", "merge", "Group before it"]);
    let twice = build_errors(|p| {
        const LATE: Tag<(String, i64)> = Tag::new("even");
        let par_do = KeyedParDo::of(counting()).tag(EVEN).late_data(LATE);
        p.create("Values", [k(1)]).par_do_keyed_with("Count", par_do);
    });
    assert_says(&twice, &["`Count`", "`even` is declared twice"]);

    #[derive(KeyedState)]
    #[keyed_state(crate = "purlin_sdk")]
    struct Opaque {
        any: Value<serde_json::Value>,
    }
    #[derive(Clone)]
    struct Keeps;
    impl KeyedDoFn for Keeps {
        type Key = String;
        type Value = i64;
        type Output = ();
        type State = Opaque;
        fn process(
            &mut self,
            _: &String,
            _: i64,
            s: &mut Opaque,
            _: &ProcessContext<'_>,
            _: &mut Emitter<'_, ()>,
        ) -> Result {
            s.any.clear();
            Ok(())
        }
    }
    let opaque = build_errors(|p| {
        p.create("Values", [k(1)]).par_do_keyed("Keeps", Keeps);
    });
    assert_says(&opaque, &["`Keeps`", "state `any` cannot be encoded"]);
}

/// Behind a grouping, sessions no longer merge, and may have state.
pub fn state_in_sessions_that_were_grouped(r: &dyn Runner) {
    let out = collect(r, |p| {
        p.create_timestamped("Values", [1, 3, 20].map(|t| (k(t), at(t))))
            .window_into("Sessions", Sessions::with_gap(secs(5)))
            .group_by_key("Group")
            .flat_map("Each", |(key, group)| group.into_iter().map(|i| (key.clone(), i)).collect::<Vec<_>>())
            .par_do_keyed("Count", counting())
            .map_cx("Window", |x, cx| Ok((span(&cx.window()), x)))
    });
    let expected = [((1, 8), "k0"), ((1, 8), "k1"), ((20, 25), "k0")];
    assert_eq!(out, expected.map(|(w, x)| (w, x.to_owned())));
}

/// A DoFn without state and timers is a DoFn too.
pub fn a_keyed_dofn_without_state(r: &dyn Runner) {
    #[derive(Clone)]
    struct Swap;
    impl KeyedDoFn for Swap {
        type Key = String;
        type Value = i64;
        type Output = (i64, String, Window);
        type State = ();
        fn process(
            &mut self,
            key: &String,
            x: i64,
            (): &mut (),
            cx: &ProcessContext<'_>,
            out: &mut Emitter<'_, Self::Output>,
        ) -> Result {
            out.emit((x, key.clone(), cx.window()));
            Ok(())
        }
    }
    let out = collect(r, |p| p.create("Values", [keyed("a", 2), keyed("b", 1)]).par_do_keyed("Swap", Swap));
    assert_eq!(out, [(1, "b".to_owned(), Window::Global), (2, "a".to_owned(), Window::Global)]);
    assert_nothing(collect(r, |p| p.create("None", Vec::<(String, i64)>::new()).par_do_keyed("Swap", Swap)));
}

/// What the graph knows of state and timers: their names, kinds and coders are in its JSON, and tell graphs apart.
pub fn the_graph_declares_state(_: &dyn Runner) {
    let build = |sorted: bool| {
        let p = Pipeline::new();
        let par_do = KeyedParDo::of(Steps(&[]));
        let par_do = if sorted { par_do.time_sorted() } else { par_do };
        p.create("Values", [k(1)]).par_do_keyed_with("Steps", par_do);
        p.build().unwrap_or_else(|e| panic!("it is refused: {e}"))
    };
    let spec = build(false).spec();
    let step = spec.transforms.iter().find(|t| t.path == "Steps");
    let (urn, payload) = step.map_or_else(Default::default, |t| (t.urn.clone(), t.payload.to_string()));
    assert_eq!(urn, "beam:transform:pardo:v1");
    assert_says(
        &payload,
        &[
            r#"{"coders":["varint"],"kind":"value","name":"value"}"#,
            r#"{"coders":["kv<varint, varint>"],"kind":"combining","name":"mean"}"#,
            r#"{"coders":["bytes","varint"],"kind":"multimap","name":"multi"}"#,
            r#"{"kind":"timer","name":"alarm","time":"event"}"#,
            r#"{"kind":"timer_family","name":"alarms","time":"event"}"#,
            r#"{"kind":"timer","name":"flush","time":"processing"}"#,
        ],
    );
    assert_eq!(build(false).fingerprint(), build(false).fingerprint());
    assert_ne!(build(false).fingerprint(), build(true).fingerprint());
}
