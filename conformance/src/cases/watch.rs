//! Watching what grows. Beam's `WatchTest`. The runner should have a clock that goes on by itself when nothing can be done:
//! on the machine's it takes as long as it says.

use std::sync::{Arc, OnceLock, mpsc};

use purlin_sdk::{
    DoFnError, Duration, Element, ProcessContext, Result, RunState, Runner, Timestamp, window::FixedWindows,
};
use purlin_transforms::{PollResult, Termination, Watch};

use super::support::{Log, at, at_ms, collect, ms, run, run_to_failure, secs, span};
use crate::runners::{end_of, start};

/// The time since it was asked first, from the epoch on.
#[derive(Clone, Default)]
struct Since(Arc<OnceLock<Timestamp>>);

impl Since {
    fn at(&self, now: Timestamp) -> Timestamp {
        Timestamp::EPOCH + (now - *self.0.get_or_init(|| now))
    }
}

/// What there is of `all` at the clock's time, all of it after a second, complete after `complete` seconds; asked after
/// `fail` seconds, an error. As in Beam, what is found again has a new timestamp.
fn timed<T: Element>(
    all: Vec<T>,
    complete: i64,
    fail: i64,
) -> impl Fn(&String, &ProcessContext<'_>) -> Result<PollResult<T>> + Clone + Send + 'static {
    let since = Since::default();
    move |_, cx| {
        let at = since.at(cx.now());
        let now = at.as_millis();
        if now > fail * 1000 {
            return Err(DoFnError::msg(format!("polled after {now} ms")));
        }
        let there = all.len().min(all.len() * now as usize / 1000);
        let there = all[..there].iter().cloned();
        Ok(if now > complete * 1000 {
            PollResult::complete_at(at, there)
        } else {
            PollResult::incomplete_at(at, there).with_watermark(at)
        })
    }
}

/// One poll for each of several elements, which says that it is complete; it reads side inputs.
pub fn a_single_poll_of_several_elements(r: &dyn Runner) {
    let out = collect(r, |p| {
        let moo = p.create("Moo", ["moo".to_owned()]).view_as_singleton("View of moo");
        let zoo = p.create("Zoo", ["zoo".to_owned()]).view_as_singleton("View of zoo");
        let (a, b) = (moo.clone(), zoo.clone());
        let poll = move |element: &String, cx: &ProcessContext<'_>| {
            let outputs = [cx.side(&moo)?, cx.side(&zoo)?].map(|x| format!("{element}.{x}"));
            Ok(PollResult::complete_at(cx.now(), outputs))
        };
        let watch = Watch::growth_of(poll).with_poll_interval(Duration::ZERO).side(&a).side(&b);
        p.create("Elements", ["a", "b"].map(str::to_owned)).apply("Watch", watch)
    });
    let pairs = [("a", "a.moo"), ("a", "a.zoo"), ("b", "b.moo"), ("b", "b.zoo")];
    assert_eq!(out, pairs.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

fn watched<T>(
    r: &dyn Runner,
    poll: impl Fn(&String, &ProcessContext<'_>) -> Result<PollResult<T>> + Clone + Send + 'static,
    interval: Duration,
    termination: Termination,
) -> Vec<(T, Timestamp)>
where
    T: Element + Ord + purlin_sdk::Key,
{
    let log = Log::default();
    run(r, |p| {
        let watch =
            Watch::growth_of(poll).with_poll_interval(interval).with_termination_per_input(termination);
        let found = p.create("Elements", ["a".to_owned()]).apply("Watch", watch);
        log.note("Collect", &found.map_cx("Time", |(_, x), cx| Ok((x, cx.timestamp()))));
    });
    log.take()
}

/// Many polls, which end when one says that it is complete, by a termination before that, or when nothing new has come for
/// a while; each output once, at the time at which it was found.
pub fn many_polls(r: &dyn Runner) {
    for (complete, termination) in [
        (3, Termination::after_total_of(secs(100))),
        (3, Termination::after_total_of(secs(2))),
        (1000, Termination::after_time_since_new_output(secs(3))),
        (1000, Termination::after_iterations(8)),
    ] {
        let out = watched(r, timed((0..10).collect(), complete, 30), ms(300), termination);
        let expected = (0..10).map(|n| (n, at_ms([300, 600, 900, 1200][n.min(9) / 3])));
        assert_eq!(out, expected.collect::<Vec<_>>());
    }
}

/// Outputs are told apart by what a closure says; the first comes out.
pub fn many_polls_with_a_key(r: &dyn Runner) {
    let texts = "0 10 20 30 40 40.1 20.1 50 10.1 10.2 60 70 60.1 80 40.2 90 90.1";
    let all: Vec<String> = texts.split(' ').map(str::to_owned).collect();
    let out = collect(r, |p| {
        let watch = Watch::growth_of(timed(all.clone(), 3, 30))
            .with_output_key(|text: &String| text.split('.').next().unwrap_or_default().to_owned())
            .with_poll_interval(ms(100))
            .with_termination_per_input(Termination::after_total_of(secs(5)));
        p.create("Elements", ["a".to_owned()]).apply("Watch", watch).map("Drop", |(_, text)| text)
    });
    assert_eq!(out, ["0", "10", "20", "30", "40", "50", "60", "70", "80", "90"]);
}

/// All of a poll comes out together, with one call.
pub fn a_poll_with_many_outputs(r: &dyn Runner) {
    let polls = Log::default();
    let note = polls.clone();
    let poll = move |_: &String, _: &ProcessContext<'_>| {
        note.push(());
        Ok(PollResult::complete_at(at(0), 0..3000))
    };
    let out = watched(r, poll, ms(1), Termination::after_total_of(secs(1)));
    assert_eq!(out, (0..3000).map(|n| (n, at(0))).collect::<Vec<_>>());
    assert_eq!(polls.len(), 1);
    // Over several polls.
    let out = watched(r, timed((0..3000).collect(), 3, 30), ms(500), Termination::never());
    assert_eq!(out, (0..3000).map(|n| (n, at_ms(if n < 1500 { 500 } else { 1000 }))).collect::<Vec<_>>());
}

/// The outputs of one poll come in the order of their timestamps; two of one key are one.
pub fn outputs_come_in_the_order_of_time(r: &dyn Runner) {
    let poll = |_: &String, _: &ProcessContext<'_>| {
        Ok(PollResult::complete([(5, at(5)), (1, at(1)), (5, at(0)), (3, at(3)), (1, at(9))]))
    };
    assert_eq!(watched(r, poll, secs(1), Termination::never()), [(1, at(1)), (3, at(3)), (5, at(5))]);
}

/// The watermark is where the polls say, or at the earliest of what is new: windows close meanwhile, and nothing is late.
pub fn the_watermark_follows_the_polls(r: &dyn Runner) {
    for said in [true, false] {
        let log = Log::default();
        let since = Since::default();
        run(r, |p| {
            let clock = since.clone();
            let poll = move |_: &String, cx: &ProcessContext<'_>| {
                let now = clock.at(cx.now());
                // At each second what came in the second before.
                let new = (now - Timestamp::EPOCH).as_millis() / 1000;
                let result = PollResult::incomplete((0..new).map(|n| (n, at(n))));
                Ok(if said { result.with_watermark(now) } else { result })
            };
            let watch = Watch::growth_of(poll)
                .with_poll_interval(secs(1))
                .with_termination_per_input(Termination::after_iterations(36));
            let found = p.create("Elements", ["a".to_owned()]).apply("Watch", watch);
            let counts = found
                .window_into("Ten", FixedWindows::of(secs(10)))
                .map("Key", |(_, n)| ((), n))
                .group_by_key("Group")
                .map_cx("Window", move |((), all), cx| {
                    Ok((span(&cx.window()).0, all.len(), since.at(cx.now()).as_millis() / 1000))
                });
            log.note("Collect", &counts);
        });
        // What is found at 11 is at 10: then the first window is closed. The last ends with the last poll, at 35.
        let found = log.take_sorted();
        let windows: Vec<_> = found.iter().map(|(start, n, _)| (*start, *n)).collect();
        assert_eq!(windows, [(0, 10), (10, 10), (20, 10), (30, 5)]);
        let times: Vec<_> = found.iter().map(|(_, _, time)| *time).collect();
        let expected = if said { [10, 20, 30, 35] } else { [11, 21, 31, 35] };
        assert_eq!(times, expected, "said: {said}");
    }
}

/// The interval is kept, and begins when a poll is done.
pub fn the_interval_is_kept(r: &dyn Runner) {
    let polls = Log::default();
    let (note, since) = (polls.clone(), Since::default());
    let poll = move |_: &String, cx: &ProcessContext<'_>| {
        note.push(since.at(cx.now()).as_millis());
        Ok(PollResult::incomplete_at(at(0), [1]))
    };
    let out = watched(r, poll, ms(250), Termination::after_total_of(secs(1)));
    assert_eq!(out, [(1, at(0))]);
    assert_eq!(polls.take(), [0, 250, 500, 750, 1000, 1250]);
}

/// A watermark at the end of time says that there will be no more.
pub fn a_watermark_at_the_end_is_complete(r: &dyn Runner) {
    let polls = Log::default();
    let note = polls.clone();
    let poll = move |_: &String, _: &ProcessContext<'_>| {
        note.push(());
        Ok(PollResult::incomplete_at(at(7), [1]).with_watermark(Timestamp::MAX))
    };
    assert_eq!(watched(r, poll, secs(1), Termination::never()), [(1, at(7))]);
    assert_eq!(polls.len(), 1);
}

/// On drain polling stops, and what was found until then is there, once.
pub fn a_drain_ends_polling(r: &dyn Runner) {
    let (tell, told) = mpsc::channel();
    let log = Log::default();
    let handle = start(r, |p| {
        let poll = move |_: &String, cx: &ProcessContext<'_>| {
            // Nobody listens after the first time.
            let _ = tell.send(());
            Ok(PollResult::incomplete_at(cx.now(), [1, 2]))
        };
        let watch = Watch::growth_of(poll).with_poll_interval(ms(1));
        let found = p.create("Elements", ["a".to_owned()]).apply("Watch", watch);
        log.note("Collect", &found.map("Output", |(_, n)| n));
    });
    let handle = handle.expect("the pipeline is refused");
    (0..3).for_each(|_| told.recv().expect("the run is over before it is drained"));
    handle.drain();
    assert_eq!(end_of(&handle).expect("the run fails").state, RunState::Drained);
    assert_eq!(log.take_sorted(), [1, 2]);
}

/// A poll that fails fails the run, with the transform and the cause.
pub fn a_poll_that_fails(r: &dyn Runner) {
    let error = run_to_failure(r, |p| {
        let watch = Watch::growth_of(timed(vec![1], 1000, 2));
        p.create("Elements", ["a".to_owned()]).apply("Watch", watch);
    });
    super::support::assert_says(&error.to_string(), &["`Watch/Poll`", "polled after 3000 ms"]);
}
