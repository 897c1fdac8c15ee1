//! Pipelines that are drawn from a seed, whose results depend on nothing else.

use fastrand::Rng;
use purlin_conformance::{Committed, OffsetSource};
use purlin_sdk::{
    Combine, CombineFn, Duration, Emitter, PCollection, ParDo, Partition, Pipeline, Timestamp, WindowInto,
    sdf::{Continuation, Monotonic, OffsetRange},
    window::{FixedWindows, GlobalWindows, Sessions, SlidingWindows, TimestampCombiner},
};

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

/// A collection that the next transforms can read.
#[derive(Clone)]
struct Made {
    pc: PCollection<i64>,
    windows: Windows,
    /// How many elements there are at most.
    most: usize,
    read: bool,
}

#[derive(Clone)]
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

/// The pipeline of `seed`; what comes out of collections that nothing reads goes to `committed`, with their numbers.
pub(crate) fn random_pipeline(seed: u64, committed: &Committed<(usize, i64)>) -> Pipeline {
    let p = Pipeline::new();
    let mut draw = Draw { rng: Rng::with_seed(seed), p: p.clone(), made: Vec::new(), transforms: 0 };
    let sources = draw.rng.usize(1..=3);
    (0..sources).for_each(|_| draw.source());
    let transforms = draw.rng.usize(5..=30);
    while draw.transforms < transforms {
        draw.transform();
    }
    for (i, made) in draw.made.iter().enumerate().filter(|(_, made)| !made.read) {
        let numbered = made.pc.map(&format!("Number {i}"), move |x| (i, x));
        committed.collect(&format!("Collect {i}"), &numbered);
    }
    p
}

struct Draw {
    rng: Rng,
    p: Pipeline,
    made: Vec<Made>,
    transforms: usize,
}

fn seconds(s: i64) -> Duration {
    Duration::from_secs(s)
}

impl Draw {
    fn name(&mut self, what: &str) -> String {
        self.transforms += 1;
        format!("{what} {}", self.transforms)
    }

    fn add(&mut self, pc: PCollection<i64>, windows: Windows, most: usize) {
        self.made.push(Made { pc, windows, most, read: false });
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
        match self.rng.u8(..3) {
            0 => {
                let name = self.name("Create");
                let values: Vec<_> =
                    (0..n).map(|x| (x, Timestamp::from_secs(self.rng.i64(-span..span)))).collect();
                let pc = self.p.create_timestamped(&name, values);
                self.add(pc, Windows::Global, n as usize);
            }
            _ => {
                let name = self.name("Elements");
                let elements = self.rng.i64(1..4);
                let pc = self.p.create(&name, 0..elements);
                let name = self.name("Source");
                let pc = pc.par_do_splittable(&name, self.splittable(n, span));
                self.add(pc, Windows::Global, (elements * n) as usize);
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

    fn transform(&mut self) {
        match self.rng.u8(..16) {
            0 => self.source(),
            1 => {
                let (name, input) = (self.name("Map"), self.take());
                let (a, b) = (self.rng.i64(1..9), self.rng.i64(0..100));
                let pc = input.pc.map(&name, move |x| (a * x + b).rem_euclid(1000));
                self.add(pc, input.windows, input.most);
            }
            2 => {
                let (name, input) = (self.name("Filter"), self.take());
                let m = self.rng.i64(2..6);
                self.add(input.pc.filter(&name, move |x| x % m != 0), input.windows, input.most);
            }
            3 => {
                let (name, input) = (self.name("FlatMap"), self.take());
                if 2 * input.most <= MOST {
                    let pc = input.pc.flat_map(&name, |x: i64| (0..x % 3).map(move |i| x + i));
                    self.add(pc, input.windows, 2 * input.most);
                }
            }
            4 => {
                let (name, input) = (self.name("Reshuffle"), self.take());
                self.add(input.pc.reshuffle(&name), input.windows, input.most);
            }
            5 | 6 => self.flatten(),
            7 => self.group(),
            8 => self.combine(),
            9 | 10 => self.combine_all(),
            11 | 12 => self.window(),
            13 => self.side_input(),
            14 => self.partition(),
            _ => {
                let (name, input) = (self.name("Splittable"), self.take());
                let n = self.rng.i64(0..4);
                if input.most * n as usize <= MOST {
                    let pc = input.pc.par_do_splittable(&name, self.repeat(n));
                    self.add(pc, input.windows, input.most * n as usize);
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
        let pc = self.p.flatten(&name, inputs.into_iter().map(|i| i.pc));
        self.add(pc, first.windows, most);
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
        self.add(pc, grouped(input.windows), input.most);
    }

    fn combine(&mut self) {
        let (name, input) = (self.name("Combine"), self.take());
        let keys = self.rng.i64(1..6);
        let pc = input
            .pc
            .key_by(&format!("{name} Key"), move |x| (x % keys).to_string())
            .combine_per_key(&name, Sum)
            .map(&format!("{name} Value"), |(key, sum)| (key.len() as i64 + sum).rem_euclid(1000));
        self.add(pc, grouped(input.windows), input.most);
    }

    fn combine_all(&mut self) {
        let (name, input) = (self.name("CombineAll"), self.take());
        let all = Combine::globally(Sum);
        let defaults = input.windows == Windows::Global && self.rng.bool();
        let all = if defaults { all } else { all.without_defaults() };
        let pc = input.pc.apply(&name, all).map(&format!("{name} Value"), |sum| sum.rem_euclid(1000));
        self.add(pc, grouped(input.windows), input.most.max(1));
    }

    fn window(&mut self) {
        let (name, input) = (self.name("Window"), self.take());
        let size = self.rng.i64(1..60);
        let (windows, into, times) = match self.rng.u8(..8) {
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
        let into = match self.rng.u8(..4) {
            0 => into.timestamp_combiner(TimestampCombiner::Earliest),
            1 => into.timestamp_combiner(TimestampCombiner::Latest),
            _ => into.timestamp_combiner(TimestampCombiner::EndOfWindow),
        };
        let pc = input.pc.window_into(&name, into);
        self.add(pc, windows, times * input.most);
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
        self.add(pc, main.windows, main.most);
    }

    fn partition(&mut self) {
        let (name, input) = (self.name("Partition"), self.take());
        let n = self.rng.usize(1..4);
        let parts = input.pc.apply(&name, Partition::of(n, move |x: &i64| *x as usize % n));
        parts.into_iter().for_each(|pc| self.add(pc, input.windows, input.most));
    }
}

fn grouped(windows: Windows) -> Windows {
    match windows {
        Windows::Sessions(gap, _) => Windows::Sessions(gap, true),
        windows => windows,
    }
}
