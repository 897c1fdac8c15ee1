//! What a work, a system and a comparison are.

pub use purlin_bench_common::{Failure, Input, Latency, Outcome, Params, Sample};

/// A system's way of doing a work. All of it is timed: what it builds, what it reads or generates, what it computes.
pub type Run = fn(&Params) -> Result<Outcome, Failure>;

/// Where a system's code is.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// A function of this program.
    Here(Run),
    /// A program of the peers' workspace, with the name of the system up to a dash.
    Peer,
}

/// What a Purlin system is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Against {
    /// CPU time over another system's of the same work, on as many threads; over its time on one thread where it runs on
    /// no more.
    System(&'static str),
    /// CPU time over that of the same system on one thread.
    OneThread,
    /// Wall time over that of the same system on one thread.
    OneThreadWall,
    /// CPU time for an event, over these nanoseconds.
    Nanoseconds(f64),
    /// The latency that 99 of 100 results keep, over these milliseconds.
    P99(f64),
    /// The most memory, over these MB.
    Memory(f64),
}

/// A comparison and what its ratio should be at most, by number of threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// With what.
    pub against: Against,
    targets: &'static [(usize, f64)],
}

impl Comparison {
    /// The target on this many threads.
    pub fn target(&self, threads: usize) -> Option<f64> {
        self.targets.iter().find(|(of, _)| *of == threads).map(|(_, ratio)| *ratio)
    }
}

/// A comparison with another system.
pub const fn vs(system: &'static str, targets: &'static [(usize, f64)]) -> Comparison {
    Comparison { against: Against::System(system), targets }
}

/// A comparison with something else.
pub const fn within(against: Against, targets: &'static [(usize, f64)]) -> Comparison {
    Comparison { against, targets }
}

/// One way of doing a work.
///
/// ```
/// use purlin_bench::{System, hand, vs};
///
/// const FUSED: System = System::new("fused", hand::w2::constant_times).held(&[vs("hand", &[(1, 1.2), (2, 1.3)])]);
/// assert_eq!(FUSED.comparisons()[0].target(1), Some(1.2));
/// assert!(FUSED.runs_on(2));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct System {
    /// Its name, unique within a work.
    pub name: &'static str,
    /// Who does it.
    pub place: Place,
    threads: &'static [usize],
    comparisons: &'static [Comparison],
}

impl System {
    /// A system of this program that runs on any number of threads.
    pub const fn new(name: &'static str, run: Run) -> Self {
        Self { name, place: Place::Here(run), threads: &[], comparisons: &[] }
    }

    /// A peer's program, named as the peer, or as the peer, a dash, and a way of doing the work.
    pub const fn peer(name: &'static str) -> Self {
        Self { name, place: Place::Peer, threads: &[], comparisons: &[] }
    }

    /// Limits the system to these numbers of threads.
    #[must_use]
    pub const fn only_on(mut self, threads: &'static [usize]) -> Self {
        self.threads = threads;
        self
    }

    /// Sets what the system is held against, in order.
    #[must_use]
    pub const fn held(mut self, comparisons: &'static [Comparison]) -> Self {
        self.comparisons = comparisons;
        self
    }

    /// Whether the system runs on this many threads.
    pub fn runs_on(&self, threads: usize) -> bool {
        self.threads.is_empty() || self.threads.contains(&threads)
    }

    /// What the system is held against.
    pub const fn comparisons(&self) -> &'static [Comparison] {
        self.comparisons
    }

    /// Whether this is Purlin.
    pub fn is_purlin(&self) -> bool {
        self.name.starts_with("purlin")
    }
}

/// One piece of work that several systems do.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// Its name, unique.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// What it reads.
    pub input: Input,
    /// How much, when times are to be believed.
    pub n: u64,
    /// How much, when only the machinery is tried.
    pub quick: u64,
    /// Who does it. The first is the reference: the others' checksums are taken against it.
    pub systems: &'static [System],
}
