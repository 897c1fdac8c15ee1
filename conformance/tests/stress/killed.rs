//! The engine driven by a process that is killed now and then: several bundles at work at once, snapshots at any moment
//! while they are, and what is not in the last one that came to disk is gone. What came out is what comes out
//! undisturbed, each element once, and so is what was counted.

use fastrand::Rng;
use purlin_engine::{Cut, Snapshot, Task};

use super::*;

/// How often the process is killed at most, so that it comes to an end.
const KILLS: usize = 15;

struct Process {
    graph: Graph,
    clock: ManualClock,
    rng: Rng,
    config: EngineConfig,
    engine: Engine,
    /// Bundles at work.
    running: Vec<Task>,
    /// A cut that is being encoded.
    cut: Option<Cut>,
    /// The newest snapshot on disk.
    on_disk: Option<Vec<u8>>,
    kills: usize,
    /// Snapshots that were made while bundles were at work.
    amidst: usize,
}

impl Process {
    fn env(clock: &ManualClock, config: &EngineConfig, atomic: bool) -> RunEnv {
        RunEnv {
            options: Arc::new(()),
            clock: clock.handle(),
            parallelism: config.parallelism,
            atomic,
            checks: Checks::default(),
        }
    }

    fn start(graph: Graph, seed: u64, parallelism: usize) -> Process {
        let mut rng = Rng::with_seed(seed);
        let config = EngineConfig {
            parallelism,
            seed: Some(seed),
            bundle_elements: 16,
            checkpoints: true,
            ..EngineConfig::default()
        };
        let clock = ManualClock::default();
        let env = Process::env(&clock, &config, rng.bool());
        let engine = Engine::new(&graph, env, config.clone()).unwrap();
        let (running, cut, on_disk) = (Vec::new(), None, None);
        Process { graph, clock, rng, config, engine, running, cut, on_disk, kills: 0, amidst: 0 }
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(..n) == 0
    }

    /// The process is gone, and another one goes on.
    fn kill(&mut self) {
        self.kills += 1;
        self.running.clear();
        self.cut = None;
        // Often with another number of threads.
        self.config.parallelism = self.rng.usize(1..5);
        self.config.seed = Some(self.rng.u64(..));
        let env = Process::env(&self.clock, &self.config, self.rng.bool());
        let config = self.config.clone();
        let next = match &self.on_disk {
            Some(bytes) => {
                let snapshot = Snapshot::from_bytes(bytes).unwrap();
                Engine::restore(&self.graph, env, config, &snapshot).unwrap()
            }
            None => Engine::new(&self.graph, env, config).unwrap(),
        };
        let mut gone = std::mem::replace(&mut self.engine, next);
        gone.shut_down().into_iter().for_each(|teardown| teardown.run().unwrap());
    }

    fn now(&self) -> Timestamp {
        self.engine.stream_clock().unwrap_or(&self.clock).now()
    }

    fn begin_snapshot(&mut self) {
        self.amidst += usize::from(!self.running.is_empty());
        self.cut = Some(self.engine.begin_snapshot().unwrap());
    }

    /// Encodes another part of the cut; whether it is on disk then.
    fn encode_next(&mut self) -> bool {
        let Some(cut) = &mut self.cut else { return false };
        match cut.encode_next().unwrap() {
            Some(lent) => {
                self.engine.give_back(lent);
                false
            }
            None => self.end_snapshot(),
        }
    }

    /// Makes a snapshot, and says whether it came to disk before the process was killed.
    fn snapshot(&mut self) -> bool {
        let kills = self.kills;
        if self.cut.is_none() {
            self.begin_snapshot();
        }
        while !self.encode_next() {
            if self.kills > kills {
                return false;
            }
        }
        true
    }

    fn end_snapshot(&mut self) -> bool {
        let Some(cut) = self.cut.take() else { return false };
        let bytes = cut.finish().unwrap().to_bytes();
        if self.kills < KILLS && self.one_in(4) {
            // Before it was on disk.
            self.kill();
            return false;
        }
        self.on_disk = Some(bytes);
        let now = self.now();
        self.engine.snapshot_is_durable().into_iter().for_each(|finalizer| finalizer.run(now));
        true
    }

    fn finish_one(&mut self) {
        let n = self.rng.usize(..self.running.len());
        let finished = self.running.swap_remove(n).run();
        let now = self.now();
        assert!(self.engine.commit(finished, now).is_empty(), "a finalizer does not wait for a checkpoint");
    }

    fn run(&mut self) {
        loop {
            if self.kills < KILLS && self.one_in(60) {
                self.kill();
            }
            if self.one_in(12) {
                self.engine.request_snapshot();
            }
            if self.cut.is_some() && self.rng.bool() {
                self.encode_next();
            }
            if self.engine.is_snapshot_requested()
                && self.cut.is_none()
                && self.engine.can_snapshot()
                && self.rng.bool()
            {
                self.begin_snapshot();
            }
            if !self.running.is_empty() && (self.running.len() >= self.config.parallelism || self.one_in(3)) {
                self.finish_one();
                continue;
            }
            match self.engine.next(self.now()) {
                Next::Task(task) => self.running.push(*task),
                Next::Wait(_) if !self.running.is_empty() => self.finish_one(),
                Next::Wait(_) if self.cut.is_some() => drop(self.snapshot()),
                Next::Wait(_)
                    if self.engine.waits_for_checkpoint() || self.engine.is_snapshot_requested() =>
                {
                    self.engine.request_snapshot();
                    self.snapshot();
                }
                Next::Wait(until) => self.clock.set(until.unwrap()),
                // One that was begun before the end.
                Next::Over if self.cut.is_some() => drop(self.snapshot()),
                Next::Idle => unreachable!("nothing is live here"),
                Next::Over => {
                    assert!(self.engine.failure().is_none(), "{:?}", self.engine.failure());
                    if self.snapshot() {
                        return;
                    }
                }
            }
        }
    }
}

/// The results, how often it was killed, and how many snapshots were made while bundles were at work.
pub(super) fn results_of_killed_engine(draw: Draw, seed: u64, parallelism: usize) -> (Results, usize, usize) {
    let Ran { drawn, graph } = built(draw, seed);
    let mut process = Process::start(graph, seed, parallelism);
    process.run();
    let dropped = process.engine.metrics().snapshot().committed.counter_total(DROPPED_DUE_TO_LATENESS);
    process.engine.shut_down().into_iter().for_each(|teardown| teardown.run().unwrap());
    (results(&drawn, dropped), process.kills, process.amidst)
}

fn check_killed(draw: Draw, pipelines: Range<u64>) {
    let (mut kills, mut amidst) = (0, 0);
    for seed in pipelines {
        let _seed = SeedOnPanic(seed);
        let expected = results_on(&DirectRunner::new().seed(0), draw, seed);
        for parallelism in [1, 4] {
            let (found, killed, among) = results_of_killed_engine(draw, seed, parallelism);
            assert_same(&expected, &found, || format!("a killed engine, {parallelism} bundles at once"));
            (kills, amidst) = (kills + killed, amidst + among);
        }
    }
    assert!(kills >= 100 && amidst >= 100, "killed {kills} times, {amidst} snapshots amidst bundles");
}

#[test]
fn killed_and_restored_0() {
    check_killed(random_pipeline, 0..30);
}

#[test]
fn killed_and_restored_1() {
    check_killed(random_pipeline, 30..60);
}

#[test]
fn killed_and_restored_under_a_script() {
    check_killed(scripted_pipeline, 0..30);
}
