//! Pipelines that are drawn from a seed, whose results depend on nothing else.
//!
//! [`random_pipeline`] draws any transforms, and keeps track of what of each collection does not depend on chance (see
//! [`Known`]); that is what is compared. [`scripted_pipeline`] draws from what has one result under a script, up to the
//! last pane.

mod scripted;
mod stateful;
mod triggered;

use fastrand::Rng;
use purlin_conformance::{Committed, OffsetSource};
use purlin_sdk::{
    Combine, CombineFn, DoFnError, Duration, Emitter, PCollection, ParDo, Partition, Pipeline,
    ProcessContext, Result, Timestamp, WindowInto,
    sdf::{Continuation, Manual, Monotonic, OffsetRange},
    window::{FixedWindows, GlobalWindows, Sessions, SlidingWindows, TimestampCombiner},
};
pub(crate) use scripted::scripted_pipeline;

/// A collection may have about this many elements.
const MOST: usize = 400;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Windows {
    Global,
    Fixed(i64),
    Sliding(i64, i64),
    /// The gap, and whether a grouping has merged them. The two kinds are not flattened together: which of a window
    /// that is merged and one that is not comes first would depend on chance.
    Sessions(i64, bool),
}

/// What of a collection is the same in every run; its values in their windows always are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// The timestamps.
    pub(crate) times: bool,
    /// The panes.
    pub(crate) panes: bool,
    /// That no element is behind the watermark. Those that may be are in the global window, which drops none.
    pub(crate) on_time: bool,
}

impl Known {
    pub(crate) const ALL: Known = Known { times: true, panes: true, on_time: true };

    fn and(self, other: Known) -> Known {
        Known {
            times: self.times && other.times,
            panes: self.panes && other.panes,
            on_time: self.on_time && other.on_time,
        }
    }
}

/// A collection that the next transforms can read.
#[derive(Clone)]
struct Made {
    pc: PCollection<i64>,
    windows: Windows,
    known: Known,
    /// Whether what is grouped has the timestamp of the window's end.
    at_end: bool,
    /// Whether any lateness is allowed.
    lateness: bool,
    /// How many elements there are at most.
    most: usize,
    read: bool,
}

#[derive(Clone, Default)]
struct Sum;

impl CombineFn for Sum {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;

    fn create(&self) -> i64 {
        0
    }

    fn add_input(&self, sum: &mut i64, x: i64) {
        *sum += x;
    }

    fn merge(&self, sum: &mut i64, other: i64) {
        *sum += other;
    }

    fn extract(&self, sum: i64) -> i64 {
        sum
    }
}

/// A pipeline and what tells of its run.
pub(crate) struct Drawn {
    pub(crate) pipeline: Pipeline,
    /// The elements of the collections that nothing reads, with the numbers of those.
    pub(crate) committed: Committed<(usize, i64)>,
    /// What is known of the collections, by number.
    pub(crate) known: Vec<Known>,
    /// The keys and sizes of the panes that came out of triggered groupings, with the numbers of those.
    pub(crate) panes: Committed<(usize, (i64, usize))>,
    /// What is known of those groupings, by number.
    pub(crate) groupings: Vec<Grouping>,
}

/// What is known of the panes of a triggered grouping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grouping {
    /// There is no late pane with anything in it.
    pub(crate) nothing_late: bool,
    /// There is a last pane for each key and window.
    pub(crate) closes: bool,
    /// Windows merge, and panes go by those that were there at the time.
    pub(crate) merges: bool,
}

/// The pipeline of `seed`.
pub(crate) fn random_pipeline(seed: u64) -> Drawn {
    let p = Pipeline::new();
    let mut draw = Draw {
        rng: Rng::with_seed(seed),
        p: p.clone(),
        made: Vec::new(),
        transforms: 0,
        panes: Committed::new(),
        groupings: Vec::new(),
    };
    let sources = draw.rng.usize(1..=3);
    (0..sources).for_each(|_| draw.source());
    let transforms = draw.rng.usize(5..=30);
    while draw.transforms < transforms {
        draw.transform();
    }
    let committed = Committed::new();
    for (i, made) in draw.made.iter().enumerate().filter(|(_, made)| !made.read) {
        // Behind a reshuffle the watermark is that of what comes in, and not that of a grouping in the same stage.
        let apart = i % 2 == 0;
        let pc = if apart { made.pc.reshuffle(&format!("Apart {i}")) } else { made.pc.clone() };
        let on_time = apart && made.known.on_time;
        let numbered = pc.map_cx(&format!("Number {i}"), move |x, cx| {
            never_past_pending_work(cx, on_time)?;
            Ok((i, x))
        });
        committed.collect(&format!("Collect {i}"), &numbered);
    }
    let known = draw.made.iter().map(|made| made.known).collect();
    Drawn { pipeline: p, committed, known, panes: draw.panes, groupings: draw.groupings }
}

/// The watermark is not behind an element that is still to be worked on, unless it may be late.
fn never_past_pending_work(cx: &ProcessContext<'_>, on_time: bool) -> Result {
    let watermark = cx.current_watermark().unwrap_or(Timestamp::MIN);
    if on_time && cx.timestamp() < watermark {
        return Err(DoFnError::msg(format!("the watermark {watermark} is past {}", cx.timestamp())));
    }
    Ok(())
}

struct Draw {
    rng: Rng,
    p: Pipeline,
    made: Vec<Made>,
    transforms: usize,
    panes: Committed<(usize, (i64, usize))>,
    groupings: Vec<Grouping>,
}

fn seconds(s: i64) -> Duration {
    Duration::from_secs(s)
}

impl Draw {
    fn name(&mut self, what: &str) -> String {
        self.transforms += 1;
        format!("{what} {}", self.transforms)
    }

    /// A collection that is as `like` is, in all that is not said.
    fn add(&mut self, pc: PCollection<i64>, like: &Made, most: usize) {
        self.made.push(Made { pc, most, read: false, ..like.clone() });
    }

    fn add_source(&mut self, pc: PCollection<i64>, most: usize, on_time: bool) {
        let known = Known { on_time, ..Known::ALL };
        self.made.push(Made {
            pc,
            windows: Windows::Global,
            known,
            at_end: true,
            lateness: false,
            most,
            read: false,
        });
    }

    /// What comes out of a grouping that fires once for each window.
    fn add_grouped(&mut self, pc: PCollection<i64>, of: &Made, most: usize) {
        let times = of.at_end || (of.known.times && of.known.on_time);
        // Where lateness is allowed, a pane is the last one when the watermark had passed that too.
        let panes = !of.lateness || of.windows == Windows::Global;
        let known = Known { times, panes, on_time: true };
        let windows = grouped(of.windows);
        self.made.push(Made { pc, windows, known, most, read: false, ..of.clone() });
    }

    /// Takes a collection; leans to those of late, so that pipelines become deep.
    fn take(&mut self) -> Made {
        let n = self.made.len();
        let i = if self.rng.bool() { self.rng.usize(n.saturating_sub(3)..n) } else { self.rng.usize(..n) };
        self.made[i].read = true;
        self.made[i].clone()
    }

    fn source(&mut self) {
        let n = self.rng.i64(0..40);
        let span = self.rng.i64(1..200);
        match self.rng.u8(..4) {
            0 => {
                let name = self.name("Create");
                let values: Vec<_> =
                    (0..n).map(|x| (x, Timestamp::from_secs(self.rng.i64(-span..span)))).collect();
                let pc = self.p.create_timestamped(&name, values);
                self.add_source(pc, n as usize, true);
            }
            1 => {
                let name = self.name("Elements");
                let elements = self.rng.i64(1..4);
                let pc = self.p.create(&name, 0..elements);
                let name = self.name("Late");
                let pc = pc.par_do_splittable(&name, self.late(n));
                self.add_source(pc, (elements * n) as usize, false);
            }
            _ => {
                let name = self.name("Elements");
                let elements = self.rng.i64(1..4);
                let pc = self.p.create(&name, 0..elements);
                let name = self.name("Source");
                let pc = pc.par_do_splittable(&name, self.splittable(n, span));
                self.add_source(pc, (elements * n) as usize, true);
            }
        }
    }

    /// `n` elements of growing time for each of its input, in pieces, with pauses now and then.
    fn splittable(
        &mut self,
        n: i64,
        span: i64,
    ) -> impl purlin_sdk::sdf::SplittableDoFn<Input = i64, Output = i64> + use<> {
        let (pause_every, pause) = (self.rng.i64(2..30), seconds(self.rng.i64(0..3)));
        let pieces = self.rng.usize(1..5);
        OffsetSource::<Monotonic, i64, i64, _>::new(
            OffsetRange::new(0, n),
            move |element, offsets, _, out: &mut Emitter<'_, i64>| {
                let mut next = offsets.range().start;
                while offsets.try_claim(next) {
                    out.emit_at(100 * element + next, Timestamp::from_secs(next * span / 40));
                    next += 1;
                    if next % pause_every == 0 {
                        return Ok(Continuation::Resume(pause));
                    }
                }
                Ok(Continuation::Stop)
            },
        )
        .pieces(move |range, _| range.split(pieces))
    }

    /// As [`splittable`](Draw::splittable), with a watermark that many elements are behind.
    fn late(&mut self, n: i64) -> impl purlin_sdk::sdf::SplittableDoFn<Input = i64, Output = i64> + use<> {
        let (pause_every, pause) = (self.rng.i64(2..30), seconds(self.rng.i64(0..3)));
        let pieces = self.rng.usize(1..5);
        OffsetSource::<Manual, i64, i64, _>::new(
            OffsetRange::new(0, n),
            move |element, offsets, _, out: &mut Emitter<'_, i64>| {
                let mut next = offsets.range().start;
                while offsets.try_claim(next) {
                    offsets.set_watermark(Timestamp::from_secs(3 * next))?;
                    out.emit_at(100 * element + next, Timestamp::from_secs(3 * next + 20 - next * 37 % 60));
                    next += 1;
                    if next % pause_every == 0 {
                        return Ok(Continuation::Resume(pause));
                    }
                }
                Ok(Continuation::Stop)
            },
        )
        .pieces(move |range, _| range.split(pieces))
    }

    fn transform(&mut self) {
        match self.rng.u8(..24) {
            0 => self.source(),
            1 => {
                let (name, input) = (self.name("Map"), self.take());
                let (a, b) = (self.rng.i64(1..9), self.rng.i64(0..100));
                let pc = input.pc.map(&name, move |x| (a * x + b).rem_euclid(1000));
                self.add(pc, &input, input.most);
            }
            2 => {
                let (name, input) = (self.name("Filter"), self.take());
                let m = self.rng.i64(2..6);
                self.add(input.pc.filter(&name, move |x| x % m != 0), &input, input.most);
            }
            3 => {
                let (name, input) = (self.name("FlatMap"), self.take());
                if 2 * input.most <= MOST {
                    let pc = input.pc.flat_map(&name, |x: i64| (0..x % 3).map(move |i| x + i));
                    self.add(pc, &input, 2 * input.most);
                }
            }
            4 => {
                let (name, input) = (self.name("Reshuffle"), self.take());
                self.add(input.pc.reshuffle(&name), &input, input.most);
            }
            5 | 6 => self.flatten(),
            7 => self.group(),
            8 => self.combine(),
            9 | 10 => self.combine_all(),
            11 | 12 => self.window(),
            13 => self.side_input(),
            14 => self.partition(),
            15..=18 => self.triggered(),
            19 | 20 => self.stateful(),
            21 => self.triggered_side_input(),
            _ => {
                let (name, input) = (self.name("Splittable"), self.take());
                let n = self.rng.i64(0..4);
                if input.most * n as usize <= MOST {
                    let pc = input.pc.par_do_splittable(&name, self.repeat(n));
                    self.add(pc, &input, input.most * n as usize);
                }
            }
        }
    }

    /// Each element `n` times, at its own time.
    fn repeat(&mut self, n: i64) -> impl purlin_sdk::sdf::SplittableDoFn<Input = i64, Output = i64> + use<> {
        OffsetSource::<Monotonic, i64, i64, _>::new(
            OffsetRange::new(0, n),
            |element, offsets, _, out: &mut Emitter<'_, i64>| {
                let mut next = offsets.range().start;
                while offsets.try_claim(next) {
                    out.emit(element + next);
                    next += 1;
                }
                Ok(Continuation::Stop)
            },
        )
        .pieces(|range, _| range.split(2))
    }

    /// Some collections in the same windows, now and then the same one twice.
    fn flatten(&mut self) {
        let (name, first) = (self.name("Flatten"), self.take());
        let mut inputs = vec![first.clone()];
        for _ in 0..self.rng.usize(1..4) {
            let next = if self.rng.u8(..4) == 0 { first.clone() } else { self.take() };
            let most: usize = inputs.iter().map(|i| i.most).sum();
            if next.windows == first.windows && most + next.most <= MOST {
                inputs.push(next);
            }
        }
        let most = inputs.iter().map(|i| i.most).sum();
        let known = inputs.iter().fold(Known::ALL, |known, i| known.and(i.known));
        let pc = self.p.flatten(&name, inputs.into_iter().map(|i| i.pc));
        self.add(pc, &Made { known, ..first }, most);
    }

    fn group(&mut self) {
        let (name, input) = (self.name("Group"), self.take());
        let keys = self.rng.i64(1..6);
        let pc = input.pc.key_by(&format!("{name} Key"), move |x| x % keys).group_by_key(&name).map(
            &format!("{name} Sum"),
            |(key, values)| {
                let values: Vec<i64> = values.into_iter().collect();
                (key + 7 * values.len() as i64 + values.iter().sum::<i64>()).rem_euclid(1000)
            },
        );
        self.add_grouped(pc, &input, input.most);
    }

    fn combine(&mut self) {
        let (name, input) = (self.name("Combine"), self.take());
        let keys = self.rng.i64(1..6);
        let pc = input
            .pc
            .key_by(&format!("{name} Key"), move |x| (x % keys).to_string())
            .combine_per_key(&name, Sum)
            .map(&format!("{name} Value"), |(key, sum)| (key.len() as i64 + sum).rem_euclid(1000));
        self.add_grouped(pc, &input, input.most);
    }

    fn combine_all(&mut self) {
        let (name, input) = (self.name("CombineAll"), self.take());
        let all = Combine::globally(Sum);
        let defaults = input.windows == Windows::Global && self.rng.bool();
        let all = if defaults { all } else { all.without_defaults() };
        let pc = input.pc.apply(&name, all).map(&format!("{name} Value"), |sum| sum.rem_euclid(1000));
        self.add_grouped(pc, &input, input.most.max(1));
    }

    fn window(&mut self) {
        let (name, input) = (self.name("Window"), self.take());
        let size = self.rng.i64(1..60);
        // What is late would be dropped, and what has one time or another lies in one window or another.
        let global = !input.known.on_time || !input.known.times;
        let (windows, into, times) = match self.rng.u8(..8) {
            _ if global => (Windows::Global, WindowInto::of(GlobalWindows), 1),
            0 => (Windows::Global, WindowInto::of(GlobalWindows), 1),
            1..=3 => (Windows::Fixed(size), WindowInto::of(FixedWindows::of(seconds(size))), 1),
            4 | 5 if 3 * input.most <= MOST => {
                let size = 3 * self.rng.i64(1..20);
                let period = size / self.rng.i64(1..4);
                let sliding = SlidingWindows::of(seconds(size), seconds(period));
                (Windows::Sliding(size, period), WindowInto::of(sliding), 3)
            }
            _ => (Windows::Sessions(size, false), WindowInto::of(Sessions::with_gap(seconds(size))), 1),
        };
        let combiner = match self.rng.u8(..4) {
            0 => TimestampCombiner::Earliest,
            1 => TimestampCombiner::Latest,
            _ => TimestampCombiner::EndOfWindow,
        };
        let at_end = combiner == TimestampCombiner::EndOfWindow;
        // No data are late, so that it changes nothing.
        let (into, lateness) = match self.rng.u8(..4) {
            0 => (into.allowed_lateness(seconds(self.rng.i64(1..50))), true),
            _ => (into, input.lateness),
        };
        let pc = input.pc.window_into(&name, into.timestamp_combiner(combiner));
        self.add(pc, &Made { windows, at_end, lateness, ..input.clone() }, times * input.most);
    }

    fn side_input(&mut self) {
        let (name, main, side) = (self.name("Side"), self.take(), self.take());
        // There is no session to look up.
        let side = match side.windows {
            Windows::Sessions(..) => side.pc.window_into(&format!("{name} Global"), GlobalWindows),
            _ => side.pc,
        };
        let view = side.view_as_list(&format!("{name} View"));
        let seen = view.clone();
        let add = ParDo::from_fn(move |x: i64, cx, out: &mut Emitter<'_, i64>| {
            let others = cx.side(&seen)?;
            out.emit((x + 3 * others.len() as i64 + others.iter().sum::<i64>()).rem_euclid(1000));
            Ok(())
        });
        let pc = main.pc.par_do_with(&name, add.side(&view)).main();
        self.add(pc, &main, main.most);
    }

    fn partition(&mut self) {
        let (name, input) = (self.name("Partition"), self.take());
        let n = self.rng.usize(1..4);
        let parts = input.pc.apply(&name, Partition::of(n, move |x: &i64| *x as usize % n));
        parts.into_iter().for_each(|pc| self.add(pc, &input, input.most));
    }
}

fn grouped(windows: Windows) -> Windows {
    match windows {
        Windows::Sessions(gap, _) => Windows::Sessions(gap, true),
        windows => windows,
    }
}
