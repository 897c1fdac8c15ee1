//! The laws of a [`WindowFn`], as functions for the tests of whoever writes one.

use std::collections::BTreeSet;

use fastrand::Rng;

use crate::window::{AssignContext, MergedWindow, Window, WindowFn, check_assigned, check_merges};

/// How many of the orders are tried in which elements may arrive.
const TRIES: u64 = 300;

/// At most so many elements arrive in one try.
const MOST: usize = 8;

/// Whether a collection in a function's windows may be a side input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideWindows {
    /// There is a window for each main window.
    Total,
    /// It is refused, as by functions whose windows merge.
    Refused,
}

/// Checks a window function against its laws, by these elements, and returns the first that is broken, in words;
/// `make` builds the function, each time with the same parameters.
///
/// The laws:
/// - its parameters are valid, and functions that are built alike have equal [`spec`](WindowFn::spec)s;
/// - an element gets the same windows each time, none of them twice; each ends after it starts, and not before the
///   element's timestamp, so that nothing is late because of the function;
/// - `output_time` lies neither before the element nor after its window;
/// - a function that does not merge does not;
/// - one that does merges two or more of the windows that it was given, each at most once, into one that covers them;
///   what is left has nothing more to merge; and in whatever order and portions elements arrive, the same windows come
///   out with the same elements in them;
/// - `side_window` gives one for every main window, the same each time, that does not end before it, or none at all, as
///   `side` says.
///
/// ```
/// use purlin_sdk::{Duration, Timestamp};
/// use purlin_sdk::testing::{SideWindows, check_window_fn_laws};
/// use purlin_sdk::window::{AssignContext, FixedWindows, Sessions};
///
/// let minute = Duration::from_minutes(1);
/// let elements = [0, 10, 59, 60, 130].map(|s| AssignContext::at(Timestamp::from_secs(s)));
/// check_window_fn_laws(|| FixedWindows::of(minute), &elements, SideWindows::Total).unwrap();
/// check_window_fn_laws(|| Sessions::with_gap(minute), &elements, SideWindows::Refused).unwrap();
/// ```
/// For a function that looks at elements, give them with [`AssignContext::of`]. See also [`check_window_fn_specs`].
///
/// # Errors
/// When a law is broken: the elements, and what came out. An error of the function itself.
pub fn check_window_fn_laws<F: WindowFn>(
    make: impl Fn() -> F,
    elements: &[AssignContext<'_>],
    side: SideWindows,
) -> Result<(), String> {
    let (f, again) = (make(), make());
    f.validate().map_err(|e| format!("{f:?} is not valid: {e}"))?;
    if f.spec() != again.spec() {
        return Err(format!("built twice, its specs are {:?} and {:?}", f.spec(), again.spec()));
    }
    let mut windows = Vec::new();
    for cx in elements {
        let assigned = check_windows_of(&f, cx)?;
        for other in [&f, &again] {
            let found = assigned_by(other, cx)?;
            if found != assigned {
                return Err(format!(
                    "an element at {} is put into {assigned:?}, and another time into {found:?}",
                    cx.timestamp()
                ));
            }
        }
        windows.push(assigned.into_iter().collect());
    }
    check_merging(&f, &windows)?;
    check_side(&f, &windows, side)
}

/// Checks that functions which put some of these elements into other windows have different
/// [`spec`](WindowFn::spec)s: those with equal ones may be flattened, and read as side inputs, as if they were one.
///
/// ```
/// use purlin_sdk::{Duration, Timestamp, testing::check_window_fn_specs, window::{AssignContext, FixedWindows}};
/// let [a, b] = [1, 2].map(|n| FixedWindows::of(Duration::from_secs(n)));
/// check_window_fn_specs(&[&a, &b], &[AssignContext::at(Timestamp::from_secs(3))]).unwrap();
/// ```
///
/// # Errors
/// Two functions with one spec, and an element that they put into different windows. An error of a function.
pub fn check_window_fn_specs(
    functions: &[&dyn WindowFn],
    elements: &[AssignContext<'_>],
) -> Result<(), String> {
    for (i, a) in functions.iter().enumerate() {
        for b in functions[..i].iter().filter(|b| b.spec() == a.spec()) {
            for cx in elements {
                let (of_a, of_b) = (assigned_by(*a, cx)?, assigned_by(*b, cx)?);
                if of_a != of_b {
                    return Err(format!(
                        "{b:?} and {a:?} have one spec, {:?}, and put an element at {} into {of_b:?} and {of_a:?}",
                        a.spec(),
                        cx.timestamp()
                    ));
                }
            }
        }
    }
    Ok(())
}

/// In order: the order in which they are given means nothing.
fn assigned_by(f: &dyn WindowFn, cx: &AssignContext<'_>) -> Result<BTreeSet<Window>, String> {
    let mut windows = Vec::new();
    match f.assign(cx, &mut windows) {
        Ok(()) => Ok(windows.into_iter().collect()),
        Err(e) => Err(format!("{f:?} fails for an element at {}: {e}", cx.timestamp())),
    }
}

fn check_windows_of<F: WindowFn>(f: &F, cx: &AssignContext<'_>) -> Result<BTreeSet<Window>, String> {
    let at = cx.timestamp();
    let mut windows = Vec::new();
    f.assign(cx, &mut windows).map_err(|e| format!("{f:?} fails for an element at {at}: {e}"))?;
    check_assigned(f, &windows)?;
    for window in &windows {
        let end = window.max_timestamp();
        if end < at {
            return Err(format!(
                "{f:?} puts an element at {at} into {window}, which is over before: it may be late before it is there"
            ));
        }
        let out = f.output_time(at, window);
        if out < at || out > end {
            return Err(format!(
                "{f:?} gives an element at {at} in {window} the output time {out}: it must lie from there to {end}"
            ));
        }
    }
    Ok(windows.into_iter().collect())
}

/// A live window with the numbers of the elements in it.
type Live = Vec<(Window, BTreeSet<usize>)>;

fn check_merging<F: WindowFn>(f: &F, windows: &[Vec<Window>]) -> Result<(), String> {
    if !f.is_merging() {
        let mut all: Vec<Window> = windows.concat();
        all.sort_unstable();
        all.dedup();
        let merged = f.merge(&all).map_err(|e| format!("{f:?} fails to merge {all:?}: {e}"))?;
        return match merged.first() {
            None => Ok(()),
            Some(m) => Err(format!("{f:?} says that it does not merge, and merges {:?}", m.sources)),
        };
    }
    for seed in 0..TRIES {
        let mut rng = Rng::with_seed(seed);
        let mut chosen: Vec<usize> = (0..windows.len()).collect();
        rng.shuffle(&mut chosen);
        chosen.truncate(rng.usize(1..=MOST));
        let mut in_order = chosen.clone();
        in_order.sort_unstable();
        let want = arrive(f, windows, &[in_order])?;
        let mut portions: Vec<Vec<usize>> = Vec::new();
        for i in chosen {
            match portions.last_mut() {
                Some(portion) if rng.bool() => portion.push(i),
                _ => portions.push(vec![i]),
            }
        }
        let got = arrive(f, windows, &portions)?;
        if got != want {
            return Err(format!(
                "{f:?} makes {want:?} of elements that arrive together, and {got:?} when they arrive as {portions:?} \
                 (numbers are positions of the elements)"
            ));
        }
    }
    Ok(())
}

/// What is live when these elements have arrived, portion by portion.
fn arrive<F: WindowFn>(f: &F, windows: &[Vec<Window>], portions: &[Vec<usize>]) -> Result<Live, String> {
    let mut live: Live = Vec::new();
    for portion in portions {
        for i in portion {
            for window in &windows[*i] {
                put(&mut live, window, BTreeSet::from([*i]));
            }
        }
        for merged in merges(f, &live)? {
            let mut elements = BTreeSet::new();
            live.retain(|(window, of)| {
                let kept = !merged.sources.contains(window);
                if !kept {
                    elements.extend(of);
                }
                kept
            });
            put(&mut live, &merged.result, elements);
        }
        if let Some(more) = merges(f, &live)?.first() {
            return Err(format!(
                "{f:?} has merged, and of what is left it would merge {:?} again",
                more.sources
            ));
        }
    }
    Ok(live)
}

fn put(live: &mut Live, window: &Window, elements: BTreeSet<usize>) {
    match live.iter_mut().find(|(w, _)| w == window) {
        Some((_, there)) => there.extend(elements),
        None => live.push((window.clone(), elements)),
    }
    live.sort_unstable();
}

/// What it merges, if that may be.
fn merges<F: WindowFn>(f: &F, live: &Live) -> Result<Vec<MergedWindow>, String> {
    let given: Vec<Window> = live.iter().map(|(window, _)| window.clone()).collect();
    let merged = f.merge(&given).map_err(|e| format!("{f:?} fails to merge {given:?}: {e}"))?;
    check_merges(f, &given, &merged)?;
    Ok(merged)
}

fn check_side<F: WindowFn>(f: &F, windows: &[Vec<Window>], side: SideWindows) -> Result<(), String> {
    let ends = windows.iter().flatten().map(Window::max_timestamp);
    for main in ends.chain([Window::Global.max_timestamp()]) {
        match (f.side_window(main), side) {
            (Err(_), SideWindows::Refused) => {}
            (Ok(window), SideWindows::Refused) => {
                return Err(format!("{f:?} should refuse to be a side input, and gives {window} for {main}"));
            }
            (Err(e), SideWindows::Total) => {
                return Err(format!("{f:?} has no side window for a main window that ends at {main}: {e}"));
            }
            (Ok(window), SideWindows::Total) => {
                check_assigned(f, std::slice::from_ref(&window))?;
                if window.max_timestamp() < main {
                    return Err(format!(
                        "{f:?} gives the side window {window} for a main window that ends at {main}, after it"
                    ));
                }
                match f.side_window(main) {
                    Ok(again) if again == window => {}
                    other => {
                        return Err(format!(
                            "{f:?} gives the side window {window} for {main}, and another time {other:?}"
                        ));
                    }
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DoFnError, Duration, Result, Timestamp,
        window::{FixedWindows, GlobalWindows, IntervalWindow, Sessions, SlidingWindows, WindowFnSpec},
    };

    fn at(s: i64) -> Timestamp {
        Timestamp::from_secs(s)
    }

    fn secs(n: i64) -> Duration {
        Duration::from_secs(n)
    }

    fn elements() -> Vec<AssignContext<'static>> {
        [-7, 0, 1, 4, 5, 6, 11, 19, 20, 23].map(|s| AssignContext::at(at(s))).to_vec()
    }

    #[test]
    fn the_window_functions_here_obey() {
        let elements = elements();
        check_window_fn_laws(|| GlobalWindows, &elements, SideWindows::Total).unwrap();
        check_window_fn_laws(|| FixedWindows::of(secs(5)), &elements, SideWindows::Total).unwrap();
        check_window_fn_laws(|| SlidingWindows::of(secs(9), secs(4)), &elements, SideWindows::Total).unwrap();
        check_window_fn_laws(|| Sessions::with_gap(secs(4)), &elements, SideWindows::Refused).unwrap();
        let (fives, sixes) = (FixedWindows::of(secs(5)), FixedWindows::of(secs(6)));
        let sessions = Sessions::with_gap(secs(5));
        check_window_fn_specs(&[&fives, &sixes, &sessions, &GlobalWindows], &elements).unwrap();
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fault {
        None,
        EndsBefore,
        Empty,
        Twice,
        Chance,
        EarlyOutput,
        MergesUnasked,
        Another,
        MergesOne,
        NotCovered,
        Unmerged,
        FirstComes,
        WaitsForThree,
        AnySide,
        GapsInSide,
    }

    thread_local! {
        static CHANCE: std::cell::Cell<i64> = const { std::cell::Cell::new(0) };
    }

    /// Sessions of ten seconds, or fixed windows where a fault is about those.
    #[derive(Debug)]
    struct Faulty(Fault);

    impl Faulty {
        fn is_fixed(&self) -> bool {
            matches!(self.0, Fault::MergesUnasked | Fault::GapsInSide)
        }
    }

    impl WindowFn for Faulty {
        fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
            let ts = cx.timestamp();
            let ten = secs(10);
            out.push(match self.0 {
                _ if self.is_fixed() => {
                    let start = at(ts.as_millis().div_euclid(10_000) * 10);
                    Window::interval(start, start + ten)
                }
                Fault::EndsBefore => Window::interval(ts - ten, ts),
                Fault::Empty => Window::interval(ts + ten, ts),
                Fault::Chance => {
                    CHANCE.with(|c| c.set(c.get() + 1));
                    Window::interval(ts, ts + secs(CHANCE.with(std::cell::Cell::get)))
                }
                _ => Window::interval(ts, ts + ten),
            });
            if self.0 == Fault::Twice {
                out.push(out[0].clone());
            }
            Ok(())
        }

        fn is_merging(&self) -> bool {
            !self.is_fixed()
        }

        fn merge(&self, windows: &[Window]) -> Result<Vec<MergedWindow>> {
            let spans: Vec<IntervalWindow> = windows.iter().filter_map(Window::as_interval).collect();
            let pair = |a: IntervalWindow, b: IntervalWindow, result: IntervalWindow| MergedWindow {
                result: Window::Interval(result),
                sources: vec![Window::Interval(a), Window::Interval(b)],
            };
            let first_two = spans.first().zip(spans.get(1)).map(|(a, b)| (*a, *b));
            match (self.0, first_two) {
                (Fault::MergesUnasked, Some((a, b))) => Ok(vec![pair(a, b, a.span(b))]),
                (Fault::Another, Some((a, _))) => {
                    let other = IntervalWindow::new(at(900), at(901));
                    Ok(vec![pair(a, other, a.span(other))])
                }
                (Fault::MergesOne, Some((a, _))) => {
                    let one = Window::Interval(a);
                    Ok(vec![MergedWindow { result: one.clone(), sources: vec![one] }])
                }
                (Fault::NotCovered, Some((a, b))) => Ok(vec![pair(a, b, a)]),
                // One pair at a time.
                (Fault::Unmerged, _) => {
                    let two = spans.windows(2).find(|w| w[0].intersects(w[1]));
                    Ok(two.map(|w| pair(w[0], w[1], w[0].span(w[1]))).into_iter().collect())
                }
                // The first two windows, if nothing has been merged yet.
                (Fault::FirstComes, Some((a, b))) => {
                    let grown = spans.iter().any(|w| w.end() - w.start() > secs(10));
                    Ok(if grown { vec![] } else { vec![pair(a, b, a.span(b))] })
                }
                // Nothing while there are only two.
                (Fault::WaitsForThree, Some(_)) => {
                    let long = spans.len() > 2;
                    let inner = Sessions::with_gap(secs(10)).merge(windows)?;
                    Ok(if long { inner } else { vec![] })
                }
                _ => Sessions::with_gap(secs(10)).merge(windows),
            }
        }

        fn side_window(&self, main_max: Timestamp) -> Result<Window> {
            match self.0 {
                Fault::AnySide => Ok(Window::Global),
                Fault::GapsInSide if main_max < at(10) => Ok(Window::interval(at(0), at(10))),
                _ => Err(DoFnError::msg("sessions")),
            }
        }

        fn output_time(&self, ts: Timestamp, _: &Window) -> Timestamp {
            if self.0 == Fault::EarlyOutput { ts - secs(1) } else { ts }
        }
    }

    #[test]
    fn each_broken_law_is_found() {
        let check = |fault, side| check_window_fn_laws(|| Faulty(fault), &elements(), side);
        check(Fault::None, SideWindows::Refused).unwrap();
        for (fault, words) in [
            (Fault::EndsBefore, "which is over before"),
            (Fault::Empty, "does not end after it starts"),
            (Fault::Twice, "twice"),
            (Fault::Chance, "another time into"),
            (Fault::EarlyOutput, "the output time"),
            (Fault::MergesUnasked, "says that it does not merge"),
            (Fault::Another, "which is none of"),
            (Fault::MergesOne, "two or more windows"),
            (Fault::NotCovered, "does not cover"),
            (Fault::Unmerged, "it would merge"),
            (Fault::FirstComes, "when they arrive as"),
            (Fault::WaitsForThree, "when they arrive as"),
            (Fault::AnySide, "should refuse"),
        ] {
            let said = check(fault, SideWindows::Refused).unwrap_err();
            assert!(said.contains(words), "{fault:?}: {said}");
        }
        let said = check(Fault::GapsInSide, SideWindows::Total).unwrap_err();
        assert!(said.contains("has no side window") || said.contains("after it"), "{said}");
        let said = check(Fault::None, SideWindows::Total).unwrap_err();
        assert!(said.contains("has no side window"), "{said}");
    }

    /// Fixed windows that call themselves all the same.
    #[derive(Debug)]
    struct Alike(Duration);

    impl WindowFn for Alike {
        fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
            FixedWindows::of(self.0).assign(cx, out)
        }

        fn spec(&self) -> WindowFnSpec {
            WindowFnSpec { urn: "test:alike".into(), parameters: String::new() }
        }
    }

    #[test]
    fn one_spec_for_two_functions_is_found() {
        let said = check_window_fn_specs(&[&Alike(secs(1)), &Alike(secs(2))], &elements()).unwrap_err();
        assert!(said.contains("Alike") && said.contains("have one spec"), "{said}");
        check_window_fn_specs(&[&Alike(secs(1)), &Alike(secs(1))], &elements()).unwrap();
        // Each time another one, which is no spec.
        let specs = std::cell::Cell::new(0);
        let make = || {
            specs.set(specs.get() + 1);
            FixedWindows::of(secs(specs.get()))
        };
        let said = check_window_fn_laws(make, &elements(), SideWindows::Total).unwrap_err();
        assert!(said.starts_with("built twice, its specs are"), "{said}");
    }
}
