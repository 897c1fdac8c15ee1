//! A watermark estimator of one's own, in a source without an end: a file that others append lines to.
//!
//! Lines are `SECONDS TEXT`. The pipeline counts them in windows of ten seconds, and prints a window as soon as the
//! watermark has passed it. How far event time has come is the estimator's business:
//!
//! - `manual`: the source says it, line by line;
//! - `monotonic`: the highest time so far; it observes the times of all outputs;
//! - `confirmed`: the one written here. A single clock that runs ahead would close windows for all others; so a time
//!   counts only once a second line was as late: the watermark is the second highest time.
//!
//! ```text
//! cargo run -p purlin-examples --bin own_estimator -- --file=log.txt --estimator=confirmed &
//! for s in 1 5 12 14 40 41; do echo "$s hello" >> log.txt; done
//! kill %1    # SIGTERM drains: what is in the file is counted, open windows are printed
//! ```

use std::{
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    marker::PhantomData,
};

use purlin::{
    prelude::*,
    sdf::{
        Boundedness, Claims, Continuation, Manual, ManualWatermark, Monotonic, Observing, OffsetRange,
        OffsetRangeTracker, SdfContext, SplittableDoFn, TimestampObserving, Unsplittable, WatermarkEstimator,
    },
};

/// Counts the lines of a growing file in windows of event time
#[derive(clap::Args, Clone)]
struct Options {
    /// The file, which others append lines `SECONDS TEXT` to
    #[arg(long)]
    file: String,

    /// How it is known how far event time has come
    #[arg(long, value_enum, default_value_t = Kind::Confirmed)]
    estimator: Kind,
}

#[derive(clap::ValueEnum, Clone, Copy)]
enum Kind {
    /// The source says it
    Manual,
    /// It is the highest time so far
    Monotonic,
    /// It is the second highest time so far
    Confirmed,
}

/// The second highest time so far.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Confirmed {
    highest: Timestamp,
    second: Timestamp,
}

impl WatermarkEstimator for Confirmed {
    // All that it knows: it goes on from here after a pause, or on another worker.
    type State = (Timestamp, Timestamp);
    // Says that it is given the time of every output; the compiler then asks for `TimestampObserving`.
    type Kind = Observing;

    fn current_watermark(&mut self) -> Timestamp {
        self.second
    }

    fn state(&self) -> (Timestamp, Timestamp) {
        (self.highest, self.second)
    }
}

impl TimestampObserving for Confirmed {
    fn observe_timestamp(&mut self, ts: Timestamp) {
        self.second = self.second.max(ts.min(self.highest));
        self.highest = self.highest.max(ts);
    }
}

/// What the source needs of an estimator, so that it works with each of the three.
trait Follow: WatermarkEstimator + Sync {
    fn start() -> Self::State;
    fn go_on(state: Self::State) -> Self;
    /// A line with this time was emitted. Estimators that observe know it already.
    fn emitted(&mut self, _: Timestamp) -> Result {
        Ok(())
    }
}

impl Follow for Manual {
    fn start() -> Timestamp {
        Timestamp::MIN
    }
    fn go_on(state: Timestamp) -> Manual {
        Manual::new(state)
    }
    fn emitted(&mut self, ts: Timestamp) -> Result {
        let now = self.current_watermark();
        Ok(self.set_watermark(now.max(ts))?)
    }
}

impl Follow for Monotonic {
    fn start() -> Timestamp {
        Timestamp::MIN
    }
    fn go_on(state: Timestamp) -> Monotonic {
        Monotonic::new(state)
    }
}

impl Follow for Confirmed {
    fn start() -> (Timestamp, Timestamp) {
        (Timestamp::MIN, Timestamp::MIN)
    }
    fn go_on((highest, second): (Timestamp, Timestamp)) -> Confirmed {
        Confirmed { highest, second }
    }
}

/// Reads the lines of files that grow. A line belongs to the range that its first byte lies in.
struct Tail<E>(PhantomData<fn() -> E>);

impl<E> Clone for Tail<E> {
    fn clone(&self) -> Self {
        Tail(PhantomData)
    }
}

impl<E: Follow> SplittableDoFn for Tail<E> {
    type Input = String;
    type Output = String;
    type Tracker = Unsplittable<OffsetRangeTracker>;
    type Estimator = E;

    fn boundedness(&self) -> Boundedness {
        Boundedness::Unbounded
    }

    fn initial_restriction(&self, _: &String, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::endless(0))
    }

    /// On drain, all whole lines that are there are still read.
    fn truncate(&self, file: &String, r: OffsetRange, _: &SdfContext<'_>) -> Result<Option<OffsetRange>> {
        let mut lines = BufReader::new(File::open(file)?);
        let (mut whole, mut line) = (0, Vec::new());
        while lines.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            whole += line.len() as i64;
            line.clear();
        }
        let left = OffsetRange::new(r.start, r.end.min(whole).max(r.start));
        Ok((left.start < left.end).then_some(left))
    }

    fn new_tracker(&self, _: &String, r: OffsetRange, _: &SdfContext<'_>) -> Result<Self::Tracker> {
        Ok(Unsplittable::new(OffsetRangeTracker::new(r)))
    }

    fn initial_watermark_state(&self, _: &String, _: &OffsetRange, _: &SdfContext<'_>) -> Result<E::State> {
        Ok(E::start())
    }

    fn new_watermark_estimator(
        &self,
        state: E::State,
        _: &String,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<E> {
        Ok(E::go_on(state))
    }

    fn process(
        &mut self,
        file: &String,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result<Continuation> {
        let start = claims.restriction().start;
        let mut lines = BufReader::new(File::open(file)?);
        // From the byte before: when that ends a line, one begins at `start`, and else the first whole one later.
        let mut at = (start - 1).max(0);
        lines.seek(SeekFrom::Start(at.try_into()?))?;
        let mut line = Vec::new();
        let mut skip = start > 0;
        loop {
            line.clear();
            let read = lines.read_until(b'\n', &mut line)? as i64;
            if !line.ends_with(b"\n") {
                // No whole line is there now; one that begins here, or behind here, may come.
                let begins = if skip { at + read } else { at };
                if begins < claims.restriction().end {
                    return Ok(Continuation::Resume(POLL));
                }
                at = begins;
            } else if skip {
                skip = false;
                at += read;
                continue;
            }
            if !claims.try_claim(at) {
                return Ok(Continuation::Stop);
            }
            let text = String::from_utf8(line.clone())?;
            let secs = text.split_whitespace().next().unwrap_or_default().parse()?;
            out.emit_at(text, Timestamp::from_secs(secs));
            claims.with_estimator(|estimator| estimator.emitted(Timestamp::from_secs(secs)))?;
            at += read;
        }
    }
}

/// How often the file is looked at.
const POLL: Duration = Duration::from_millis(50);

fn build(p: &Pipeline, options: &Options) {
    let file = p.create("File", [options.file.clone()]);
    let lines = match options.estimator {
        Kind::Manual => file.par_do_splittable("Tail", Tail::<Manual>(PhantomData)),
        Kind::Monotonic => file.par_do_splittable("Tail", Tail::<Monotonic>(PhantomData)),
        Kind::Confirmed => file.par_do_splittable("Tail", Tail::<Confirmed>(PhantomData)),
    };
    lines
        .window_into("Windows", FixedWindows::of(Duration::from_secs(10)))
        .apply("Count", Count::globally().without_defaults())
        .map_cx("Format", |n, cx| Ok(format!("{}: {n}", cx.window())))
        .map("Print", |line| println!("{line}"));
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}

#[cfg(test)]
mod tests {
    use purlin::sdf::check_estimator_laws;

    use super::*;

    #[test]
    fn one_clock_that_runs_ahead_changes_nothing() {
        let mut estimator = Confirmed::go_on(Confirmed::start());
        let seen = [5, 1000, 7, 8].map(|secs| {
            estimator.observe_timestamp(Timestamp::from_secs(secs));
            estimator.current_watermark()
        });
        let at = Timestamp::from_secs;
        assert_eq!(seen, [Timestamp::MIN, at(5), at(7), at(8)]);
    }

    #[test]
    fn the_estimator_obeys_the_laws() {
        let times = [3, 1, 9, 9, 4, 100].map(Timestamp::from_secs);
        let observe = TimestampObserving::observe_timestamp;
        check_estimator_laws(Confirmed::go_on, Confirmed::start(), &times, observe).unwrap();
    }
}
