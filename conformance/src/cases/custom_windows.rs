//! Windows of a user's own: Beam's `testMergingCustomWindows`, `test_custom_merging_window`, `test_custom_window_type`.

use purlin_sdk::{
    Combine, Emitter, ParDo, ProcessContext, Result, Runner, Timestamp, WindowInto,
    testing::TestStream,
    window::{AssignContext, CustomWindow, FixedWindows, MergedWindow, TimestampCombiner, Window, WindowFn},
};

use super::support::{Sum, assert_says, at, collect, ms, run_to_failure, secs, span, span_ms};

/// Thirty seconds for what is called big, five seconds for all else; a big window swallows what is in it.
#[derive(Debug)]
struct BigOnes;

const BIG: i64 = 30;

impl WindowFn for BigOnes {
    fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
        let big = |text: &String| text.starts_with("big");
        let is_big = cx.element::<String>().is_some_and(big)
            || cx.element::<(String, String)>().is_some_and(|(_, text)| big(text));
        out.push(Window::interval(cx.timestamp(), cx.timestamp() + secs(if is_big { BIG } else { 5 })));
        Ok(())
    }

    fn is_merging(&self) -> bool {
        true
    }

    fn merge(&self, windows: &[Window]) -> Result<Vec<MergedWindow>> {
        let is_big = |w: &&Window| w.as_interval().is_some_and(|i| i.end() >= i.start() + secs(BIG));
        let Some(big) = windows.iter().find(is_big).and_then(Window::as_interval) else { return Ok(vec![]) };
        let inside =
            |w: &&Window| w.as_interval().is_some_and(|i| big.start() <= i.start() && i.end() <= big.end());
        let sources: Vec<Window> = windows.iter().filter(inside).cloned().collect();
        // Merged with nothing it stays as it is.
        if sources.len() < 2 {
            return Ok(vec![]);
        }
        Ok(vec![MergedWindow { result: Window::Interval(big), sources }])
    }
}

/// A big window swallows a small one inside it, and not the one behind it; the windows are made of the elements.
pub fn merging_custom_windows(r: &dyn Runner) {
    let texts = || [("big", 0), ("small1", 4), ("small2", 39)].map(|(s, t)| (s.to_owned(), at(t)));
    let counts = collect(r, |p| {
        p.create_timestamped("Texts", texts())
            .window_into("Big", BigOnes)
            .map("One", |_| ((), 1_i64))
            .combine_per_key("Count", Sum)
            .map_cx("Bounds", |(_, n), cx| Ok((span(&cx.window()), n)))
    });
    assert_eq!(counts, [((0, 30), 2), ((39, 44), 1)]);
    // Of a collection with keys, per key.
    let keyed = collect(r, |p| {
        let keyed = [("a", "big", 0), ("a", "small1", 4), ("b", "small2", 4), ("a", "small3", 39)];
        p.create_timestamped("Texts", keyed.map(|(k, s, t)| ((k.to_owned(), s.to_owned()), at(t))))
            .window_into("Big", BigOnes)
            .group_by_key("Group")
            .map_cx("Bounds", |(k, texts), cx| Ok((k, span(&cx.window()), texts.len())))
    });
    let row = |key: &str, span, n| (key.to_owned(), span, n);
    assert_eq!(keyed, [row("a", (0, 30), 2), row("a", (39, 44), 1), row("b", (4, 9), 1)]);
}

/// Windows of which nothing merges fire as they are.
pub fn merging_windows_that_do_not_merge(r: &dyn Runner) {
    let counts = collect(r, |p| {
        let texts = [("s1", 0), ("s2", 4), ("s3", 39)].map(|(s, t)| (s.to_owned(), at(t)));
        p.create_timestamped("Texts", texts)
            .window_into("Big", BigOnes)
            .map("One", |_| ((), 1_i64))
            .combine_per_key("Count", Sum)
            .map_cx("Bounds", |(_, n), cx| Ok((span(&cx.window()), n)))
    });
    assert_eq!(counts, [((0, 5), 1), ((4, 9), 1), ((39, 44), 1)]);
}

/// One window a weekday of sorts, told apart by a value, not by an interval.
#[derive(Debug)]
struct Named;

impl WindowFn for Named {
    fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
        let n = cx.timestamp().as_millis();
        let name = if n % 2 == 0 { "even" } else { "odd" };
        out.push(Window::Custom(CustomWindow::new(at(100), &name.to_owned())?));
        Ok(())
    }
}

/// A window may be of another type than an interval: it goes through groupings and reshuffles.
pub fn custom_window_types(r: &dyn Runner) {
    let sums = collect(r, |p| {
        let windows = WindowInto::of(Named).timestamp_combiner(TimestampCombiner::EndOfWindow);
        p.create_timestamped("Numbers", (0..10_i64).map(|n| (n, super::support::at_ms(n))))
            .window_into("Named", windows)
            .reshuffle("Spread")
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum)
            .reshuffle("Again")
            .map_cx("Name", |(_, sum), cx| {
                let Window::Custom(window) = cx.window() else {
                    return Ok(("none".to_owned(), sum, cx.timestamp()));
                };
                Ok((window.value::<String>()?, sum, cx.timestamp()))
            })
    });
    assert_eq!(sums, [("even".to_owned(), 20, at(100)), ("odd".to_owned(), 25, at(100))]);
}

/// A reshuffle keeps windows of a user's own as they are, before and after a grouping.
pub fn a_reshuffle_after_custom_windows(r: &dyn Runner) {
    let windows = collect(r, |p| {
        p.create_timestamped("Texts", [("big".to_owned(), at(0)), ("small".to_owned(), at(40))])
            .window_into("Big", BigOnes)
            .reshuffle("Spread")
            .map_cx("Bounds", |text, cx| Ok((span_ms(&cx.window()), text)))
    });
    assert_eq!(windows, [((0, 30_000), "big".to_owned()), ((40_000, 45_000), "small".to_owned())]);
}

/// 1 to 9 at one a second, as Go's `TestWindowSums`: a magic square whose rows, columns and windows are known.
pub fn window_sums(r: &dyn Runner) {
    use purlin_sdk::window::{FixedWindows, Sessions, SlidingWindows};
    let sums = |windows: WindowInto, lifted: bool| {
        collect(r, |p| {
            let square = [4_i64, 9, 2, 3, 5, 7, 8, 1, 6];
            let keyed = p
                .create_timestamped("Square", square.into_iter().zip(0..).map(|(n, t)| (n, at(t))))
                .window_into("Windows", windows)
                .key_by("Key", |_| ());
            let sums = if lifted {
                keyed.combine_per_key("Sum", Sum)
            } else {
                keyed.group_by_key("Group").map("Add", |(k, values)| (k, values.into_iter().sum()))
            };
            sums.map_cx("Start", |(_, n), cx| Ok((span(&cx.window()).0, n)))
        })
        .into_iter()
        .map(|(_, n)| n)
        .collect::<Vec<_>>()
    };
    for lifted in [false, true] {
        assert_eq!(sums(FixedWindows::of(secs(3)).into(), lifted), [15, 15, 15]);
        assert_eq!(sums(SlidingWindows::of(secs(6), secs(3)).into(), lifted), [15, 30, 30, 15]);
        assert_eq!(sums(SlidingWindows::of(secs(9), secs(3)).into(), lifted), [15, 30, 45, 30, 15]);
        assert_eq!(sums(Sessions::with_gap(ms(1500)).into(), lifted), [45]);
    }
}

/// Windows of ten seconds, and one of thirteen, that merge as they must not.
#[derive(Clone, Copy, Debug)]
enum Breaks {
    CoversTooLittle,
    StartsTooLate,
    MergesTwice,
    MergesOne,
    MergesAnother,
    IntoOneThatIsThere,
    IntoOneTwice,
}

impl WindowFn for Breaks {
    fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
        let start = if cx.timestamp() == at(3) { at(0) } else { cx.timestamp() };
        out.push(Window::interval(start, cx.timestamp() + secs(10)));
        Ok(())
    }

    fn is_merging(&self) -> bool {
        true
    }

    fn merge(&self, windows: &[Window]) -> Result<Vec<MergedWindow>> {
        let [a, b, c, d] = windows else { return Ok(vec![]) };
        let merged = |sources: &[&Window], start: i64, end: i64| MergedWindow {
            result: Window::interval(at(start), at(end)),
            sources: sources.iter().map(|w| (*w).clone()).collect(),
        };
        Ok(match self {
            Breaks::CoversTooLittle => vec![merged(&[a, b], 0, 10)],
            Breaks::StartsTooLate => vec![merged(&[a, b], 1, 11)],
            Breaks::MergesTwice => vec![merged(&[a, b], 0, 11), merged(&[b, c], 1, 12)],
            Breaks::MergesOne => vec![merged(&[a], 0, 11)],
            Breaks::MergesAnother => vec![merged(&[a, &Window::interval(at(5), at(7))], 0, 10)],
            Breaks::IntoOneThatIsThere => vec![merged(&[a, b], 0, 13)],
            Breaks::IntoOneTwice => vec![merged(&[a, b], 0, 20), merged(&[c, d], 0, 20)],
        })
    }
}

/// What a window function says of merging is looked at: the bundle fails, and the error says what is wrong and where.
pub fn merges_that_cannot_be(r: &dyn Runner) {
    for (breaks, what) in [
        (Breaks::CoversTooLittle, "which does not cover it"),
        (Breaks::StartsTooLate, "which does not cover it"),
        (Breaks::MergesTwice, "twice"),
        (Breaks::MergesOne, "two or more windows are merged"),
        (Breaks::MergesAnother, "which is none of"),
        (Breaks::IntoOneThatIsThere, "which is there already"),
        (Breaks::IntoOneTwice, "which is there already"),
    ] {
        // Each twice, so that both parts of a fan-out have all.
        let stream = || TestStream::new().elements((0..8_i64).map(|n| (n, at(n / 2))));
        let error = run_to_failure(r, |p| {
            p.apply("Values", stream())
                .window_into("Ten", breaks)
                .key_by("Key", |_| ())
                .group_by_key("Group");
        });
        assert_says(&error.to_string(), &["`Group`", &format!("{breaks:?}"), what]);
        let error = run_to_failure(r, |p| {
            let keyed = p.apply("Values", stream()).window_into("Ten", breaks).key_by("Key", |_| ());
            keyed.apply("Sum", Combine::per_key(Sum).with_hot_key_fanout(2));
        });
        assert_says(&error.to_string(), &["`Sum/PreCombine`", &format!("{breaks:?}"), what]);
    }
}

/// What a function for windows of ten seconds says that there cannot be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    OutputTimeBeforeTheElement,
    SideWindowBackwards,
}

#[derive(Debug)]
struct Tens(Says);

impl WindowFn for Tens {
    fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
        out.push(FixedWindows::of(secs(10)).window_of(cx.timestamp()).into());
        Ok(())
    }

    fn side_window(&self, main_max: Timestamp) -> Result<Window> {
        let window = FixedWindows::of(secs(10)).window_of(main_max);
        let backwards = self.0 == Says::SideWindowBackwards;
        Ok(if backwards { Window::interval(window.end(), window.start()) } else { window.into() })
    }

    fn output_time(&self, ts: Timestamp, _: &Window) -> Timestamp {
        match self.0 {
            Says::OutputTimeBeforeTheElement => ts - ms(1),
            Says::SideWindowBackwards => ts,
        }
    }
}

/// An output time before the element, and a side window that ends before it starts, fail the bundle.
pub fn times_and_side_windows_that_cannot_be(r: &dyn Runner) {
    let error = run_to_failure(r, |p| {
        let tens = WindowInto::of(Tens(Says::OutputTimeBeforeTheElement))
            .timestamp_combiner(TimestampCombiner::EarliestTransformed);
        let pairs = p.create_timestamped("Pairs", [((0, 1_i64), at(3))]).window_into("Tens", tens);
        pairs.combine_per_key("Sum", Sum);
    });
    assert_says(&error.to_string(), &["`Sum", "window", "output time", "an element at 1970-01-01T00:00:03Z"]);
    let error = run_to_failure(r, |p| {
        let side = p.create_timestamped("Side", [(1_i64, at(3))]);
        let view = side.window_into("Tens", Tens(Says::SideWindowBackwards)).view_as_list("View");
        let given = view.clone();
        let read = move |x: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, usize>| -> Result {
            out.emit(cx.side(&view)?.len() + x as usize);
            Ok(())
        };
        let main = p.create_timestamped("Main", [(1_i64, at(3))]);
        let main = main.window_into("MainTens", FixedWindows::of(secs(10)));
        main.par_do_with("Read", ParDo::from_fn(read).side(&given));
    });
    assert_says(&error.to_string(), &["`Read`", "does not end after it starts"]);
}
