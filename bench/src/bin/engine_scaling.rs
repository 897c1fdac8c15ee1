//! What the engine's lock allows: a diamond of twelve stages whose elements take about a microsecond each.
//!
//! Workers share an engine behind one lock, as those of the threaded runner do, and note how long they hold it. Where
//! there are few cores contention cannot be seen; what the lock bounds can be computed: with `w` of work and `h` of
//! lock a bundle, no number of threads is faster than `(w + h) / h` of them.

use std::{
    fmt::Write as _,
    hint::black_box,
    io::{self, Write as _},
    process::ExitCode,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use clap::Parser;
use purlin_bench::Failure;
use purlin_engine::{Engine, EngineConfig, Finished, Next};
use purlin_sdk::{
    Clock, Partition, Pipeline, SystemClock,
    exec::{Checks, RunEnv},
    graph::Graph,
};

/// How often each element is worked on: twice a diamond, and once at the end.
const VISITS: usize = 7;
const STAGES: usize = 12;

/// Measure how long the engine's lock is held
#[derive(Debug, Parser)]
#[command(name = "engine_scaling")]
struct Args {
    /// How many elements go through the diamonds
    #[arg(long, default_value_t = 100_000)]
    elements: usize,
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4])]
    threads: Vec<usize>,
    /// Most elements of a bundle
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100, 1_000, 10_000])]
    bundles: Vec<usize>,
    /// How long an element takes, in nanoseconds
    #[arg(long, default_value_t = 1_000)]
    work: u64,
}

fn main() -> ExitCode {
    match measure(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Nothing is left to tell if stderr is gone too.
            let _ = writeln!(io::stderr(), "engine_scaling: {why}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &Args) -> Result<(), Failure> {
    let rounds = rounds_for(Duration::from_nanos(args.work));
    let mut table = format!(
        "{:>7} {:>7} {:>7} {:>9} {:>11} {:>9} {:>9} {:>9} {:>7} {:>8} {:>14}\n",
        "threads",
        "most",
        "mean",
        "bundles/s",
        "elements/s",
        "work us",
        "commit us",
        "next us",
        "lock %",
        "bound",
        "16: elements/s"
    );
    for &most in &args.bundles {
        for &threads in &args.threads {
            let counted = run(args.elements, rounds, threads.max(1), most)?;
            counted.row(args.elements, threads, most, &mut table)?;
        }
    }
    io::stdout().write_all(table.as_bytes())?;
    Ok(())
}

/// Works without touching memory.
fn spin(seed: u64, rounds: u64) -> u64 {
    let mut x = seed | 1;
    for _ in 0..rounds {
        x = black_box(x.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17));
    }
    x
}

/// How many rounds of [`spin`] take this long.
fn rounds_for(time: Duration) -> u64 {
    const TRIED: u64 = 4_000_000;
    // The fastest of a few: the others were disturbed.
    let least = (0..5).map(|_| {
        let start = Instant::now();
        black_box(spin(1, TRIED));
        start.elapsed()
    });
    let tried = least.min().unwrap_or(time).as_secs_f64();
    (time.as_secs_f64() / tried * TRIED as f64) as u64
}

fn diamonds(elements: usize, rounds: u64) -> Result<Graph, Failure> {
    let p = Pipeline::new();
    let work = move |x: u64| {
        black_box(spin(x, rounds));
        x
    };
    let mut all = p.create("Elements", 0..elements as u64);
    for n in 0..3 {
        let halves = all.apply(&format!("Part {n}"), Partition::of(2, |x: &u64| (*x % 2) as usize));
        let sides = halves.iter().enumerate().map(|(side, half)| {
            half.reshuffle(&format!("Spread {n} {side}")).map(&format!("Work {n} {side}"), work)
        });
        all = p.flatten(&format!("Join {n}"), sides.collect::<Vec<_>>()).map(&format!("Work {n}"), work);
    }
    all.reshuffle("Spread").map("Work", work);
    Ok(p.build()?)
}

/// What the threads share.
struct Shared {
    engine: Mutex<Engine>,
    news: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the threads counted.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    bundles: u64,
    work: Duration,
    commit: Duration,
    next: Duration,
    wall: Duration,
}

fn run(elements: usize, rounds: u64, threads: usize, most: usize) -> Result<Counted, Failure> {
    let graph = diamonds(elements, rounds)?;
    let env = RunEnv {
        options: graph.options.clone(),
        clock: Arc::new(SystemClock),
        parallelism: threads,
        atomic: false,
        checks: Checks::default(),
    };
    let config = EngineConfig { parallelism: threads, bundle_elements: most, ..EngineConfig::default() };
    let engine = Engine::new(&graph, env, config)?;
    let stages = graph.nodes.iter().filter(|n| engine.watermarks(n.step.path()).is_some()).count();
    if stages != STAGES {
        return Err(format!("the pipeline has {stages} stages and not {STAGES}").into());
    }
    let shared = Shared { engine: Mutex::new(engine), news: Condvar::new() };
    let start = Instant::now();
    let counted = thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(|| work(&shared))).collect();
        all.into_iter().map(|t| t.join()).collect::<Result<Vec<_>, _>>()
    });
    let counted = counted.map_err(|_| "a worker panicked")?;
    let wall = start.elapsed();
    if let Some(error) = shared.lock().failure() {
        return Err(error.to_string().into());
    }
    let sum = counted.into_iter().fold(Counted::default(), Counted::plus);
    Ok(Counted { wall, ..sum })
}

/// Commits, takes what is next and runs it, until the run is over.
fn work(shared: &Shared) -> Counted {
    let mut counted = Counted::default();
    let mut finished: Option<Finished> = None;
    loop {
        let now = SystemClock.now();
        let mut engine = shared.lock();
        let locked = Instant::now();
        if let Some(finished) = finished.take() {
            engine.commit(finished, now);
        }
        let committed = Instant::now();
        let next = engine.next(now);
        let ready = engine.has_ready_work();
        counted.commit += committed - locked;
        counted.next += committed.elapsed();
        match next {
            Next::Task(task) => {
                drop(engine);
                if ready {
                    shared.news.notify_one();
                }
                let start = Instant::now();
                finished = Some(task.run());
                counted.work += start.elapsed();
                counted.bundles += 1;
            }
            // Woken when another thread commits something, or soon: nothing is parked here.
            Next::Wait(_) | Next::Idle => drop(shared.news.wait_timeout(engine, Duration::from_millis(1))),
            Next::Over => {
                drop(engine);
                shared.news.notify_all();
                return counted;
            }
        }
    }
}

impl Counted {
    fn plus(self, o: Counted) -> Counted {
        Counted {
            bundles: self.bundles + o.bundles,
            work: self.work + o.work,
            commit: self.commit + o.commit,
            next: self.next + o.next,
            wall: self.wall + o.wall,
        }
    }

    /// Adds a row to the table.
    fn row(&self, elements: usize, threads: usize, most: usize, table: &mut String) -> std::fmt::Result {
        let (bundles, wall) = (self.bundles.max(1) as f64, self.wall.as_secs_f64());
        let each = |d: Duration| d.as_secs_f64() / bundles;
        let held = each(self.commit) + each(self.next);
        let visits = (elements * VISITS) as f64;
        // How many threads the lock feeds when each is away for as long as a bundle works.
        let bound = (each(self.work) + held) / held;
        let of_16 = bound.min(16.0) * visits / bundles / (each(self.work) + held);
        writeln!(
            table,
            "{threads:>7} {most:>7} {:>7.1} {:>9.0} {:>11.0} {:>9.2} {:>9.2} {:>9.2} {:>7.2} {bound:>8.1} {of_16:>14.0}",
            visits / bundles,
            bundles / wall,
            visits / wall,
            each(self.work) * 1e6,
            each(self.commit) * 1e6,
            each(self.next) * 1e6,
            held * bundles / wall * 100.0,
        )
    }
}
