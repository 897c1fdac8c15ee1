//! Side inputs.

use purlin_sdk::{
    Combine, Element, Emitter, ListView, PCollection, ParDo, ProcessContext, Result, Runner, View,
    metrics::DROPPED_DUE_TO_LATENESS,
    testing::TestStream,
    window::{FixedWindows, GlobalWindows, Sessions, SlidingWindows, WindowFn},
};

use super::support::{
    Log, Sum, assert_nothing, assert_says, at, build_errors, collect, run, run_to_failure, secs, span,
};

/// Applies `f` to each element and the value of `view` for it.
#[track_caller]
fn with_side<T: Element, V: Clone + Send + Sync + 'static, O: Element>(
    main: &PCollection<T>,
    name: &str,
    view: &View<V>,
    f: impl Fn(T, V, &ProcessContext<'_>) -> O + Clone + Send + 'static,
) -> PCollection<O> {
    let read = view.clone();
    main.par_do_with(
        name,
        ParDo::from_fn(move |x, cx: &ProcessContext<'_>, out: &mut Emitter<'_, O>| -> Result {
            let value = cx.side(&read)?;
            out.emit(f(x, value, cx));
            Ok(())
        })
        .side(view),
    )
    .main()
}

fn total(list: &ListView<i64>) -> i64 {
    list.iter().sum()
}

/// A side window that closed without data is ready: an empty list, an empty map, the default, or a clear error.
pub fn b129_an_empty_side_window(r: &dyn Runner) {
    let fixed = || FixedWindows::of(secs(10));
    // The side input has data, but none in the main element's window.
    let empty_list = collect(r, |p| {
        let side = p.create_timestamped("Side", [(7_i64, at(15))]).window_into("SideWindows", fixed());
        let main = p.create_timestamped("Main", [(5_i64, at(5))]).window_into("MainWindows", fixed());
        with_side(&main, "Read", &side.view_as_list("View"), |x, list, _| (x, list.len()))
    });
    assert_eq!(empty_list, [(5, 0)]);
    let empty_maps = collect(r, |p| {
        let side =
            p.create_timestamped("Side", [((1_i64, 2_i64), at(15))]).window_into("SideWindows", fixed());
        let main = p.create_timestamped("Main", [(5_i64, at(5))]).window_into("MainWindows", fixed());
        let one = with_side(&main, "ReadMap", &side.view_as_map("Map"), |_, map, _| map.len());
        let many = with_side(&main, "ReadMulti", &side.view_as_multimap("Multi"), |_, map, _| map.len());
        p.flatten("Both", [one, many])
    });
    assert_eq!(empty_maps, [0, 0]);
    let default = collect(r, |p| {
        let side = p.create_timestamped("Side", [(7_i64, at(15))]).window_into("SideWindows", fixed());
        let main = p.create_timestamped("Main", [(5_i64, at(5))]).window_into("MainWindows", fixed());
        with_side(&main, "Read", &side.view_as_singleton_or("View", 42), |x, one, _| (x, one))
    });
    assert_eq!(default, [(5, 42)]);
    let error = run_to_failure(r, |p| {
        let side = p.create_timestamped("Side", [(7_i64, at(15))]).window_into("SideWindows", fixed());
        let main = p.create_timestamped("Main", [(5_i64, at(5))]).window_into("MainWindows", fixed());
        with_side(&main, "Read", &side.view_as_singleton("TheRate"), |x, one, _| (x, one));
    });
    assert_says(&error.to_string(), &["`Read`", "`TheRate`", "empty", "view_as_singleton_or"]);
}

/// The empty side window is ready as soon as the side input's watermark has passed it, not only at the end.
pub fn b129_an_empty_side_window_is_ready_at_once(r: &dyn Runner) {
    let log = Log::default();
    run(r, |p| {
        let stream = TestStream::new()
            .element_at((true, 5_i64), at(5))
            .advance_watermark_to(at(20))
            .element_at((true, 25), at(25));
        let all = p.apply("Stream", stream).window_into("Windows", FixedWindows::of(secs(10)));
        let seen = log.clone();
        let main = all.filter("Main", |(main, _)| *main).map("Arrive", move |(_, x)| {
            seen.push(format!("{x} arrives"));
            x
        });
        let view = all.filter("Side", |(main, _)| !*main).map("Value", |(_, x)| x).view_as_list("View");
        let log = log.clone();
        with_side(&main, "Read", &view, move |x, list, _| log.push(format!("{x} sees {}", list.len())));
    });
    assert_eq!(log.take(), ["5 arrives", "5 sees 0", "25 arrives", "25 sees 0"]);
}

/// A main element waits for its own side window only, and holds the watermark of what follows while it does.
pub fn b130_elements_wait_for_their_own_side_window(r: &dyn Runner) {
    let log = Log::default();
    run(r, |p| {
        let fixed = || FixedWindows::of(secs(10));
        // The first stream is over, its watermark at the end, before the second begins.
        let main = p
            .apply("Main", TestStream::new().element_at(5_i64, at(5)).element_at(-5, at(-5)))
            .window_into("MainWindows", fixed());
        let stream = TestStream::new()
            .element_at(100_i64, at(-3))
            .advance_watermark_to(at(0))
            .element_at(200, at(3))
            .advance_watermark_to(at(10));
        let arrived = log.clone();
        let side = p
            .apply("Side", stream)
            .map("Arrive", move |x| {
                arrived.push(format!("side {x}"));
                x
            })
            .window_into("SideWindows", fixed());
        let read = log.clone();
        let sums = with_side(&main, "Read", &side.view_as_list("View"), move |x, list, _| {
            read.push(format!("{x} sees {list:?}"));
            x + total(&list)
        });
        let log = log.clone();
        sums.key_by("Key", |_| ()).combine_per_key("Sum", Sum).map_cx("Fired", move |(_, sum), cx| {
            log.push(format!("{:?} gives {sum}", span(&cx.window())));
            Ok(())
        });
    });
    let expected =
        ["side 100", "-5 sees [100]", "(-10, 0) gives 95", "side 200", "5 sees [200]", "(0, 10) gives 205"];
    assert_eq!(log.take(), expected);
}

/// Sessions read a slowly ticking side input in fixed windows, each soon after its side window is ready.
pub fn b132_a_slow_side_input_of_sessions(r: &dyn Runner) {
    const HOUR: i64 = 3600;
    let log = Log::default();
    run(r, |p| {
        let mut stream = TestStream::new();
        for hour in 0..6_i64 {
            if hour % 2 == 0 {
                stream = stream.element_at((false, hour), at(hour * HOUR));
            }
            stream = stream
                .element_at((true, hour), at(hour * HOUR + 60))
                .advance_watermark_to(at((hour + 1) * HOUR));
        }
        let all = p.apply("Stream", stream);
        let view = all
            .filter("Ticks", |(main, _)| !*main)
            .map("Rate", |(_, hour)| ((), hour * 10))
            .window_into("TwoHours", FixedWindows::of(secs(2 * HOUR)))
            .view_as_multimap("Rates");
        let arrived = log.clone();
        let sessions = all
            .filter("Main", |(main, _)| *main)
            .map("Visit", move |(_, hour)| {
                arrived.push(format!("visit {hour}"));
                ((), hour)
            })
            .window_into("Sessions", Sessions::with_gap(secs(300)))
            .combine_per_key("Session", Sum);
        let log = log.clone();
        with_side(&sessions, "Read", &view, move |(_, hour), rates, _| {
            log.push(format!("session {hour} at {:?}", rates.get(&())));
        });
    });
    // A side window of two hours is ready at its end: the sessions of both hours come out then.
    let notes = log.take();
    let mut expected = Vec::new();
    for half in 0..3 {
        let (first, second) = (2 * half, 2 * half + 1);
        let group = [
            format!("visit {first}"),
            format!("visit {second}"),
            format!("session {first} at [{}]", first * 10),
            format!("session {second} at [{}]", first * 10),
        ];
        let mut got = notes[4 * half..4 * half + 4].to_vec();
        got[2..].sort();
        assert_eq!(got, group);
        expected.extend(group);
    }
    assert_eq!(notes.len(), expected.len());
}

/// A collection is a side input of what is made from itself; fusion must not make a stage wait for its own output.
pub fn b134_a_side_input_of_the_same_source(r: &dyn Runner) {
    let seen = collect(r, |p| {
        let numbers = p.create("Numbers", 1..=4_i64).map("Same", |x| x);
        with_side(&numbers, "Read", &numbers.view_as_list("View"), |x, list, _| (x, list.len(), total(&list)))
    });
    assert_eq!(seen, [(1, 4, 10), (2, 4, 10), (3, 4, 10), (4, 4, 10)]);
    let seen = collect(r, |p| {
        let numbers = p.create("Numbers", 1..=4_i64).map("Same", |x| x);
        let view = numbers.combine_globally("Sum", Sum).view_as_singleton("View");
        with_side(&numbers, "Read", &view, |x, sum, _| (x, sum))
    });
    assert_eq!(seen, [(1, 10), (2, 10), (3, 10), (4, 10)]);
}

/// Side inputs in sessions, and of unbounded collections in the global window, are refused before anything runs.
pub fn b136_side_inputs_that_cannot_be(_: &dyn Runner) {
    let text = build_errors(|p| {
        let side = p.create("Side", [1]).window_into("Sessions", Sessions::with_gap(secs(5)));
        side.view_as_list("View");
    });
    assert_says(&text, &["`View`", "Sessions", "fixed windows"]);
    let text = build_errors(|p| {
        p.apply("Stream", TestStream::new().element(1_i64)).view_as_list("View");
    });
    assert_says(&text, &["`View`", "unbounded", "never ready", "window_into"]);
}

/// Chains of side inputs: each is ready before what reads it.
pub fn side_inputs_of_side_inputs(r: &dyn Runner) {
    let sums = collect(r, |p| {
        let mut main = p.create("Main", [1_i64]);
        for i in 0..5 {
            let view = main.view_as_singleton(&format!("View{i}"));
            let next = p.create(&format!("Next{i}"), [10_i64.pow(i + 1)]);
            main = with_side(&next, &format!("Read{i}"), &view, |x, one, _| x + one);
        }
        main
    });
    assert_eq!(sums, [111_111]);
}

/// List, singleton, map and multimap in one DoFn; the calls of `side` add up.
pub fn several_side_inputs_in_one_dofn(r: &dyn Runner) {
    let seen = collect(r, |p| {
        let list = p.create("L", [1_i64, 2, 3]).view_as_list("List");
        let one = p.create("O", ["one".to_owned()]).view_as_singleton("One");
        let map = p.create("M", [("a".to_owned(), 1_u8), ("b".to_owned(), 2)]).view_as_map("Map");
        let pairs = [("a".to_owned(), 1_u64), ("a".to_owned(), 2)];
        let multi = p.create("MM", pairs).view_as_multimap("Multi");
        let unread = p.create("U", [0.5_f64]).view_as_list("Unread");
        let (l, o, m, mm) = (list.clone(), one.clone(), map.clone(), multi.clone());
        let read = move |x: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, String>| -> Result {
            let mut all: Vec<u64> = cx.side(&mm)?.get("a").to_vec();
            all.sort_unstable();
            let mut listed = cx.side(&l)?.to_vec();
            listed.sort_unstable();
            let map = cx.side(&m)?;
            let none = cx.side(&mm)?.get("z").len();
            out.emit(format!(
                "{x} {listed:?} {} {:?} {:?} {all:?} {none}",
                cx.side(&o)?,
                map.get("b"),
                map.get("c")
            ));
            Ok(())
        };
        let par_do = ParDo::from_fn(read).side(&list).side(&one).side(&map).side(&multi).side(&unread);
        p.create("Main", [7_i64]).par_do_with("Read", par_do).main()
    });
    assert_eq!(seen, ["7 [1, 2, 3] one Some(2) None [1, 2] 0"]);
}

/// A list reads the same each time.
pub fn a_list_keeps_its_order(r: &dyn Runner) {
    let same = collect(r, |p| {
        let view = p.create("Side", 0..100_i64).view_as_list("View");
        let read = view.clone();
        p.create("Main", [0_i64])
            .par_do_with(
                "Read",
                ParDo::from_fn(
                    move |_, cx: &ProcessContext<'_>, out: &mut Emitter<'_, (bool, usize)>| -> Result {
                        let (one, two) = (cx.side(&read)?, cx.side(&read)?);
                        out.emit((one[..] == two[..], one.len()));
                        Ok(())
                    },
                )
                .side(&view),
            )
            .main()
    });
    assert_eq!(same, [(true, 100)]);
}

/// Side inputs that are not what they should be: errors that name the view.
pub fn broken_views_are_errors(r: &dyn Runner) {
    let error = run_to_failure(r, |p| {
        let view = p.create("Side", [1_i64, 2]).view_as_singleton("TheOne");
        with_side(&p.create("Main", [0_i64]), "Read", &view, |_, one, _| one);
    });
    assert_says(&error.to_string(), &["`Read`", "`TheOne`", "2 elements", "view_as_list"]);
    let error = run_to_failure(r, |p| {
        let view = p.create("Side", Vec::<i64>::new()).view_as_singleton("TheOne");
        with_side(&p.create("Main", [0_i64]), "Read", &view, |_, one, _| one);
    });
    assert_says(&error.to_string(), &["`Read`", "`TheOne`", "empty"]);
    let error = run_to_failure(r, |p| {
        let view = p.create("Side", [(1_i64, 1_i64), (1, 2)]).view_as_map("TheMap");
        with_side(&p.create("Main", [0_i64]), "Read", &view, |_, map, _| map.len());
    });
    assert_says(&error.to_string(), &["`Read`", "`TheMap`", "same key twice", "view_as_multimap"]);
    let error = run_to_failure(r, |p| {
        let view = p.create("Side", [1_i64]).view_as_singleton("NotGiven");
        p.create("Main", [0_i64]).flat_map_cx("Read", move |_, cx, out: &mut Emitter<'_, i64>| {
            out.emit(cx.side(&view)?);
            Ok(())
        });
    });
    assert_says(&error.to_string(), &["`Read`", "`NotGiven`", ".side(&view)"]);
}

/// A view that nobody reads, or whose readers have no input, does not fail.
pub fn views_that_are_not_read(r: &dyn Runner) {
    let seen = collect(r, |p| {
        p.create("Side", [1_i64, 2]).view_as_singleton("Unread");
        let view = p.create("Other", [1_i64, 2]).view_as_singleton("Broken");
        with_side(&p.create("Main", Vec::<i64>::new()), "Read", &view, |x, _, _| x)
    });
    assert_nothing(seen);
}

/// An element in several windows is processed once in each, with the side input of each.
pub fn b142_several_windows_several_side_inputs(r: &dyn Runner) {
    let seen = collect(r, |p| {
        let sliding = SlidingWindows::of(secs(5), secs(1));
        let main = p.create_timestamped("Main", [(1_i64, at(10))]).window_into("MainWindows", sliding);
        let side = p
            .create_timestamped("Side", (0..20_i64).map(|t| (t, at(t))))
            .window_into("SideWindows", FixedWindows::of(secs(5)));
        with_side(&main, "Read", &side.view_as_list("View"), |_, list, cx| (span(&cx.window()), total(&list)))
    });
    // The last timestamps of [6, 11) to [10, 15) all lie in [10, 15).
    let side = 10 + 11 + 12 + 13 + 14;
    assert_eq!(seen, [6, 7, 8, 9, 10].map(|s| ((s, s + 5), side)));
}

fn by_window(r: &dyn Runner, main: impl WindowFn, side: impl WindowFn) -> Vec<i64> {
    collect(r, |p| {
        let times = || [1_i64, 2, 3].map(|t| (t, at(t)));
        let main = p.create_timestamped("Main", times()).window_into("MainWindows", main);
        let side = p.create_timestamped("Side", times()).window_into("SideWindows", side);
        with_side(&main, "Read", &side.view_as_list("View"), |x, list, _| x + total(&list))
    })
}

/// Which side window a main window looks at, as Beam's Go tests `ValidateWindowedSideInputs`.
pub fn main_windows_map_to_side_windows(r: &dyn Runner) {
    let fixed = |n| FixedWindows::of(secs(n));
    let sliding = SlidingWindows::of(secs(2), secs(1));
    assert_eq!(by_window(r, fixed(1), GlobalWindows), [7, 8, 9]);
    assert_eq!(by_window(r, fixed(1), fixed(1)), [2, 4, 6]);
    // Sides [0, 2): 1 and [2, 4): 2 + 3.
    assert_eq!(by_window(r, fixed(1), fixed(2)), [2, 7, 8]);
    // Of the sliding windows that contain the main window's last timestamp, the earliest.
    assert_eq!(by_window(r, fixed(1), sliding), [2, 5, 8]);
    assert_eq!(by_window(r, sliding, fixed(1)), [2, 3, 3, 4, 5, 6]);
    assert_eq!(by_window(r, GlobalWindows, GlobalWindows), [7, 8, 9]);
}

/// A global combine per window as a side input gives its value for nothing where a window is empty.
pub fn a_combine_as_windowed_side_input(r: &dyn Runner) {
    let seen = collect(r, |p| {
        let fixed = FixedWindows::of(secs(10));
        let main =
            p.create_timestamped("Main", [(1_i64, at(1)), (2, at(11))]).window_into("MainWindows", fixed);
        let side =
            p.create_timestamped("Side", [(5_i64, at(2)), (6, at(3))]).window_into("SideWindows", fixed);
        let sum = side.apply("Sum", Combine::globally(Sum).without_defaults());
        with_side(&main, "Read", &sum.view_as_singleton_or("View", 0), |x, sum, _| (x, sum))
    });
    assert_eq!(seen, [(1, 11), (2, 0)]);
}

/// An element that is too late for one of its windows is processed in the others; only the expired one is dropped.
pub fn b115_a_late_element_with_a_side_input(r: &dyn Runner) {
    let log = Log::default();
    let outcome = run(r, |p| {
        let stream = TestStream::new()
            .element_at((false, 1_i64), at(93))
            .element_at((false, 2), at(99))
            .advance_watermark_to(at(103))
            .element_at((true, 97), at(97))
            .advance_watermark_to(at(200));
        let all = p.apply("Stream", stream).window_into("Windows", SlidingWindows::of(secs(10), secs(5)));
        let main = all.filter("Main", |(main, _)| *main).map("MainValue", |(_, x)| x);
        let view = all.filter("Side", |(main, _)| !*main).map("SideValue", |(_, x)| x).view_as_list("View");
        let seen = with_side(&main, "Read", &view, |x, list, cx| (x, span(&cx.window()), total(&list)));
        log.note("Collect", &seen);
    });
    // The side window of [95, 105) is the earliest that contains 104.999: itself.
    assert_eq!(log.take(), [(97, (95, 105), 2)]);
    assert_eq!(outcome.metrics.committed.counter("Read", DROPPED_DUE_TO_LATENESS), 1);
}
