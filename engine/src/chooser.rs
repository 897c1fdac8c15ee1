//! Choices that do not change the result: drawn at random under a seed, the fastest otherwise.

use fastrand::Rng;
use purlin_sdk::exec::SdfLimits;

use crate::EngineConfig;

/// How many claims a bundle has at most where no time may be looked at, since the same seed must do the same.
const MOST_CLAIMS: u64 = 4096;

/// Makes the choices that the model leaves open.
#[derive(Debug)]
pub(crate) struct Chooser {
    rng: Option<Rng>,
    config: EngineConfig,
}

impl Chooser {
    pub(crate) fn new(config: &EngineConfig) -> Chooser {
        Chooser { rng: config.seed.map(Rng::with_seed), config: config.clone() }
    }

    /// Whether choices are drawn at random.
    pub(crate) fn is_random(&self) -> bool {
        self.rng.is_some()
    }

    /// Which of `n` things that are ready comes first; `n` is not zero. The last one stands deepest in the pipeline:
    /// what is near the exit frees memory.
    pub(crate) fn pick(&mut self, n: usize) -> usize {
        match &mut self.rng {
            Some(rng) => rng.usize(..n),
            None => n - 1,
        }
    }

    /// How many of the `waiting` elements the next bundle takes, `least` or more where there are as many: a share for
    /// each of the `free` workers, and all of them where nobody else is free.
    pub(crate) fn bundle_size(&mut self, waiting: usize, least: usize, free: usize) -> usize {
        match &mut self.rng {
            // Small bundles and whole ones, with everything between.
            Some(rng) => match rng.u8(..4) {
                0 => 1,
                1 => waiting.max(1),
                _ => rng.usize(1..=waiting.max(1)),
            },
            None => {
                let share = waiting.div_ceil(free.max(1));
                share.clamp(least, self.config.bundle_elements.max(least))
            }
        }
    }

    /// An order for `n` elements of a bundle; nothing to leave them as they are.
    pub(crate) fn order(&mut self, n: usize) -> Option<Vec<usize>> {
        let rng = self.rng.as_mut()?;
        if n < 2 || rng.bool() {
            return None;
        }
        let mut order: Vec<usize> = (0..n).collect();
        rng.shuffle(&mut order);
        Some(order)
    }

    /// When a splittable DoFn must come back.
    pub(crate) fn sdf_limits(&mut self) -> SdfLimits {
        match &mut self.rng {
            Some(rng) => {
                let fraction = [0.0, 0.0, 0.25, 0.5, 0.75, 1.0][rng.usize(..6)];
                let split =
                    (rng.u8(..3) > 0).then(|| (1 + u64::from(rng.u8(..8)) * rng.u64(1..40), fraction));
                // Without a split, work without an end would never come back.
                SdfLimits { max_claims: Some(MOST_CLAIMS), split, ..SdfLimits::default() }
            }
            None => SdfLimits {
                max_elements: Some(self.config.bundle_elements as u64),
                max_time: self.config.bundle_time,
                ..SdfLimits::default()
            },
        }
    }
}
