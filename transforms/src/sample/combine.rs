//! A fair choice as a [`CombineFn`].

use std::{
    cell::Cell,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use purlin_sdk::{
    CombineFn, Element,
    coder::{CoderRef, Context, default_coder},
};
use serde::{Deserialize, Serialize};

use crate::top::{best_first, offer};

/// A fair choice of `n`, as a [`CombineFn`].
///
/// Every element draws a random number, once, and the `n` least numbers win. What wins within a part of the elements is
/// what could win overall, so parts may be merged in any order and the choice stays fair.
///
/// Numbers come from a generator in each accumulator. Its seed is a hash of the sample's seed (0 if none is given), of
/// which clone of the function made the accumulator, of how many that one made before, and of the accumulator's first
/// element, so that no two accumulators draw alike, not even those of several processes or from before and after a
/// restart. Where work is done in the same order in every run, as the direct runner does it for one seed of its own, the
/// same elements are chosen in every run. A parallel runner shares work out as it comes, and two runs choose
/// differently whatever the seed.
pub struct SampleFn<T> {
    n: usize,
    seed: u64,
    coder: Option<CoderRef<T>>,
    clones: Arc<AtomicU64>,
    clone: u64,
    made: Cell<u64>,
}

impl<T: Element> SampleFn<T> {
    /// Chooses `n`, or all where there are fewer.
    pub fn new(n: usize) -> SampleFn<T> {
        // A type without a coder fails the build of the pipeline; nothing depends on it here.
        let coder = default_coder::<T>().ok();
        SampleFn { n, seed: 0, coder, clones: Arc::new(AtomicU64::new(1)), clone: 0, made: Cell::new(0) }
    }

    /// Begins chance elsewhere.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> SampleFn<T> {
        self.seed = seed;
        self
    }

    fn first_state(&self, first: &T) -> u64 {
        let mut bytes = Vec::new();
        if let Some(coder) = &self.coder {
            // An element that cannot be encoded fails where it goes on; what it wrote until then will do here.
            let _ = coder.encode(first, Context::Nested, &mut bytes);
        }
        let made = self.made.replace(self.made.get().wrapping_add(1));
        let mut hasher = DefaultHasher::new();
        (self.seed, self.clone, made, bytes).hash(&mut hasher);
        hasher.finish()
    }
}

impl<T> Clone for SampleFn<T> {
    fn clone(&self) -> SampleFn<T> {
        SampleFn {
            n: self.n,
            seed: self.seed,
            coder: self.coder.clone(),
            clones: Arc::clone(&self.clones),
            clone: self.clones.fetch_add(1, Relaxed),
            made: Cell::new(0),
        }
    }
}

impl<T> fmt::Debug for SampleFn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SampleFn").field("n", &self.n).field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// What a [`SampleFn`] keeps: at most twice as many elements as it chooses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Draws<T> {
    // Of the generator; nothing before the first element.
    state: Option<Bits>,
    kept: Vec<Draw<T>>,
}

/// Sixty-four bits that stand for no number.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Bits(i64);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Draw<T> {
    number: Bits,
    element: T,
}

impl<T: Element> SampleFn<T> {
    fn keep(&self, kept: &mut Vec<Draw<T>>, draw: Draw<T>) {
        offer(kept, self.n, draw, |a, b| a.number.0.cmp(&b.number.0));
    }
}

impl<T: Element> CombineFn for SampleFn<T> {
    type Input = T;
    type Accumulator = Draws<T>;
    type Output = Vec<T>;

    fn create(&self) -> Draws<T> {
        Draws { state: None, kept: Vec::new() }
    }

    fn add_input(&self, draws: &mut Draws<T>, element: T) {
        let state = match draws.state {
            Some(Bits(state)) => state as u64,
            None => self.first_state(&element),
        };
        let mut random = fastrand::Rng::with_seed(state);
        let number = Bits(random.i64(..));
        draws.state = Some(Bits(random.get_seed() as i64));
        self.keep(&mut draws.kept, Draw { number, element });
    }

    fn merge(&self, draws: &mut Draws<T>, other: Draws<T>) {
        draws.state = draws.state.or(other.state);
        for draw in other.kept {
            self.keep(&mut draws.kept, draw);
        }
    }

    fn extract(&self, draws: Draws<T>) -> Vec<T> {
        let chosen = best_first(draws.kept, self.n, |a, b| a.number.0.cmp(&b.number.0));
        chosen.into_iter().map(|d| d.element).collect()
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::check_combine_fn_laws;

    use super::*;

    fn sorted<T: Ord + Clone>(list: &[T]) -> Vec<T> {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    }

    #[test]
    fn a_sample_of_all_obeys_the_laws() {
        let xs = [3, 1, 3, 2, 9, 9];
        for n in [6, 7, usize::MAX] {
            check_combine_fn_laws(&SampleFn::new(n), &xs, |a, b| sorted(a) == sorted(b)).unwrap();
        }
        check_combine_fn_laws(&SampleFn::<i32>::new(3), &[], |a, b| a == b).unwrap();
    }

    #[test]
    fn a_sample_of_some_has_its_size_in_every_way() {
        check_combine_fn_laws(&SampleFn::new(4), &[1, 2, 3, 4, 5, 6], |a, b| {
            let mut distinct = sorted(b);
            distinct.dedup();
            a.len() == 4 && distinct.len() == 4
        })
        .unwrap();
        check_combine_fn_laws(&SampleFn::new(0), &[1, 2], |_, b| b.is_empty()).unwrap();
    }

    /// Samples `n` of `parts`, one accumulator and one clone each, merged from the left.
    fn sample(n: usize, seed: u64, parts: &[Vec<u32>]) -> Vec<u32> {
        let chooser = SampleFn::new(n).seed(seed);
        let mut all = chooser.create();
        for part in parts {
            let worker = chooser.clone();
            let mut acc = worker.create();
            part.iter().for_each(|x| worker.add_input(&mut acc, *x));
            chooser.merge(&mut all, acc);
        }
        chooser.extract(all)
    }

    /// How often each of `0..12` and each pair of them is chosen, as the greatest distance from what is expected, in
    /// standard deviations.
    fn worst_deviations(parts: &[Vec<u32>]) -> (f64, f64) {
        const RUNS: u64 = 20_000;
        let (mut single, mut pair) = ([0_u32; 12], [[0_u32; 12]; 12]);
        for seed in 0..RUNS {
            let chosen = sorted(&sample(4, seed, parts));
            for (i, a) in chosen.iter().enumerate() {
                single[*a as usize] += 1;
                chosen[i + 1..].iter().for_each(|b| pair[*a as usize][*b as usize] += 1);
            }
        }
        let deviation = |count: u32, p: f64| {
            let n = RUNS as f64;
            (f64::from(count) - n * p).abs() / (n * p * (1.0 - p)).sqrt()
        };
        let singles = single.iter().map(|c| deviation(*c, 4.0 / 12.0)).fold(0.0, f64::max);
        let pairs = (0..12).flat_map(|a| (a + 1..12).map(move |b| (a, b)));
        let pairs =
            pairs.map(|(a, b)| deviation(pair[a][b], (4.0 * 3.0) / (12.0 * 11.0))).fold(0.0, f64::max);
        (singles, pairs)
    }

    #[test]
    fn the_choice_is_fair_however_the_elements_are_spread() {
        let one_each = (0..12).map(|x| vec![x]).collect::<Vec<_>>();
        for parts in [
            vec![(0..12).collect()],
            vec![vec![0], (1..12).collect()],
            vec![(0..3).collect(), (3..6).collect(), (6..9).collect(), (9..12).collect()],
            one_each,
        ] {
            let (singles, pairs) = worst_deviations(&parts);
            assert!(singles < 4.0 && pairs < 4.5, "{parts:?}: {singles} {pairs}");
        }
    }

    #[test]
    fn equal_elements_are_several() {
        let mut ones = 0;
        for seed in 0..1000 {
            ones += sample(1, seed, &[vec![1; 9], vec![2]]).iter().filter(|x| **x == 1).count();
        }
        assert!((860..940).contains(&ones), "{ones} of 1000, where 900 are to be expected");
    }

    #[test]
    fn the_same_work_makes_the_same_choice_and_another_seed_another() {
        let parts = [(0..50).collect::<Vec<_>>(), (50..100).collect()];
        assert_eq!(sample(5, 1, &parts), sample(5, 1, &parts));
        assert_ne!(sample(5, 1, &parts), sample(5, 2, &parts));
    }
}
