//! A pipeline that may be killed at any moment and goes on: windows, state, timers and a side input, from a file to files.
//!
//! With `--checkpoint-dir` the run writes down every now and then what it knows. Started again with `--restore`, it goes
//! on from there; the files that it writes are the same as if nothing had happened, and each of them is whole from the
//! moment it is there. Try it: make purchases, start it, kill it by `kill -9`, start it again.
//!
//! ```text
//! for i in $(seq 0 9999); do printf '%10d %4d %6d\n' $((i * 10)) $((i % 7)) $((i % 100)); done > /tmp/purchases
//! cargo run -p purlin-examples --bin resumed -- --purchases=/tmp/purchases --output=/tmp/bought --pace=5ms \
//!     --checkpoint-dir=/tmp/checkpoints --checkpoint-every=100ms --restore
//! ```

use std::{
    fs::{self, File},
    io::{BufReader, Read, Seek, SeekFrom},
};

use purlin::{
    io::TextIo,
    prelude::*,
    sdf::{
        Claims, Continuation, Monotonic, OffsetRange, OffsetRangeTracker, SdfContext, SplittableDoFn,
        WatermarkStateOf,
    },
    state::{Bag, Timer, Value},
};

/// Adds up purchases by user and by time
#[derive(clap::Args, Clone)]
struct Options {
    /// A file of purchases: lines of milliseconds, user and amount, in the order of time, each 23 bytes long
    #[arg(long)]
    purchases: String,

    /// What the names of the files begin with that it writes
    #[arg(long)]
    output: String,

    /// How long to wait after each 20 purchases, as if they came in by and by
    #[arg(long, default_value = "0ms")]
    pace: Duration,
}

/// Bytes of a line.
const LENGTH: u64 = 23;

/// Reads the purchases of a file, each at its time.
#[derive(Clone)]
struct ReadPurchases {
    pace: Duration,
}

impl SplittableDoFn for ReadPurchases {
    type Input = String;
    type Output = (u32, i64);
    type Tracker = OffsetRangeTracker;
    type Estimator = Monotonic;

    fn initial_restriction(&self, file: &String, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, (fs::metadata(file)?.len() / LENGTH).try_into()?))
    }

    fn split(
        &self,
        _: &String,
        r: OffsetRange,
        desired: usize,
        _: &SdfContext<'_>,
    ) -> Result<Vec<OffsetRange>> {
        Ok(r.split(desired))
    }

    fn new_tracker(&self, _: &String, r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(r))
    }

    fn initial_watermark_state(&self, _: &String, _: &OffsetRange, cx: &SdfContext<'_>) -> Result<Timestamp> {
        Ok(cx.timestamp())
    }

    fn new_watermark_estimator(
        &self,
        state: WatermarkStateOf<Self>,
        _: &String,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Monotonic> {
        Ok(Monotonic::new(state))
    }

    fn process(
        &mut self,
        file: &String,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, (u32, i64)>,
    ) -> Result<Continuation> {
        let first = claims.restriction().start;
        let mut reader = BufReader::new(File::open(file)?);
        reader.seek(SeekFrom::Start(u64::try_from(first)? * LENGTH))?;
        let mut line = String::new();
        for number in first.. {
            if !claims.try_claim(number) {
                return Ok(Continuation::Stop);
            }
            line.clear();
            reader.by_ref().take(LENGTH).read_to_string(&mut line)?;
            let mut words = line.split_whitespace();
            let mut next = || words.next().ok_or_else(|| DoFnError::msg(format!("no purchase: `{line}`")));
            let (at, user, amount) = (next()?.parse()?, next()?.parse()?, next()?.parse()?);
            out.emit_at((user, amount), Timestamp::from_millis(at)?);
            if number % 20 == 19 && self.pace > Duration::ZERO {
                break;
            }
        }
        Ok(Continuation::Resume(self.pace))
    }
}

/// Gives purchases the price of their user's rate.
#[derive(Clone)]
struct Price {
    rates: View<MapView<u32, i64>>,
}

impl DoFn for Price {
    type Input = (u32, i64);
    type Output = (u32, i64);

    fn process(
        &mut self,
        (user, amount): (u32, i64),
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, (u32, i64)>,
    ) -> Result {
        let rate = cx.side(&self.rates)?.get(&(user % 2)).copied().unwrap_or(1);
        out.emit((user, amount * rate));
        Ok(())
    }
}

/// What is known of a user in a window.
#[derive(KeyedState)]
struct Account {
    amounts: Bag<i64>,
    most: Value<i64>,
    #[timer(event)]
    end: Timer,
}

/// Tells at each window's end what each user bought.
#[derive(Clone)]
struct Accounts;

impl KeyedDoFn for Accounts {
    type Key = u32;
    type Value = i64;
    type Output = String;
    type State = Account;

    fn process(
        &mut self,
        _: &u32,
        amount: i64,
        account: &mut Account,
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, String>,
    ) -> Result {
        account.amounts.add(amount);
        let most = account.most.read().copied().unwrap_or(amount).max(amount);
        account.most.write(most);
        account.end.set(cx, cx.window().max_timestamp())
    }

    fn on_timer(
        &mut self,
        _: AccountTimer,
        user: &u32,
        account: &mut Account,
        _: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        let amounts = account.amounts.take();
        let most = account.most.take().unwrap_or_default();
        out.emit(format!("{user}: {} for {}, at most {most}", amounts.len(), amounts.iter().sum::<i64>()));
        Ok(())
    }
}

fn build(p: &Pipeline, options: &Options) {
    let Options { purchases, output, pace } = options.clone();
    let rates = p.create("RatesOfUsers", [(0, 2), (1, 3)]).view_as_map("Rates");
    let seconds = FixedWindows::of(Duration::from_secs(2));
    let bought = p
        .create("File", [purchases])
        .par_do_splittable("Read", ReadPurchases { pace })
        .par_do_with("Price", ParDo::of(Price { rates: rates.clone() }).side(&rates))
        .main();
    let windowed = bought.window_into("Window", seconds);
    windowed
        .par_do_keyed("Accounts", Accounts)
        .apply("WriteAccounts", TextIo::write(format!("{output}-accounts")).shards(1));
    let totals =
        windowed.apply("Totals", Sum::per_key()).map("Total", |(user, total)| format!("{user}: {total}"));
    let visits = bought
        .window_into("Visits", Sessions::with_gap(Duration::from_millis(65)))
        .apply("Purchases", Count::per_key())
        .map("Visit", |(user, n)| format!("{user} bought {n} times"))
        .window_into("VisitsBySeconds", seconds);
    totals
        .flatten_with("Lines", [visits])
        .apply("WriteTotals", TextIo::write(format!("{output}-totals")).shards(2));
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}
