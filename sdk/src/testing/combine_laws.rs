//! The laws of a [`CombineFn`], as a function for the tests of whoever writes one.

use std::fmt::Debug;

use crate::{
    CombineFn,
    coder::{CoderRef, Context, default_coder},
};

/// How many of the ways to share out and merge are tried.
const TRIES: u64 = 300;

/// Checks that a combination of `inputs` does not depend on how a runner goes about it, and returns the first way that
/// gives something else, in words; `same` says whether two outputs mean the same (a list in any order, a float to some
/// digits).
///
/// Against all inputs put into one accumulator in the order given, it tries some hundreds of ways, always the same ones:
/// - the inputs in any order,
/// - shared out over any number of accumulators, some of them empty (`create()` is neutral),
/// - merged in any order and nesting,
/// - accumulators encoded and decoded on the way, as when they go to another worker or into a checkpoint.
///
/// ```
/// use purlin_sdk::{CombineFn, testing::check_combine_fn_laws};
/// #[derive(Clone)]
/// struct Longest;
/// impl CombineFn for Longest {
///     type Input = String;
///     type Accumulator = usize;
///     type Output = usize;
///     fn create(&self) -> usize { 0 }
///     fn add_input(&self, acc: &mut usize, x: String) { *acc = x.len().max(*acc); }
///     fn merge(&self, acc: &mut usize, other: usize) { *acc = other.max(*acc); }
///     fn extract(&self, acc: usize) -> usize { acc }
/// }
/// let words = ["a", "purlin", "carries"].map(str::to_owned);
/// check_combine_fn_laws(&Longest, &words, |a, b| a == b).unwrap();
/// ```
/// Source: Beam's `CombineFnTester`.
///
/// # Errors
/// When a law is broken: both outputs, and the way that leads to the other one. When an accumulator has no coder.
pub fn check_combine_fn_laws<C: CombineFn>(
    combine: &C,
    inputs: &[C::Input],
    same: impl Fn(&C::Output, &C::Output) -> bool,
) -> Result<(), String>
where
    C::Output: Debug,
{
    let coder =
        default_coder::<C::Accumulator>().map_err(|e| format!("the accumulator cannot travel: {e}"))?;
    let mut straight = combine.create();
    for input in inputs {
        combine.add_input(&mut straight, input.clone());
    }
    let want = combine.extract(straight);
    for seed in 0..TRIES {
        let mut way =
            Way { combine, coder: &coder, random: fastrand::Rng::with_seed(seed), steps: Vec::new() };
        let got = way.walk(inputs)?;
        if !same(&want, &got) {
            return Err(format!(
                "one accumulator gives {want:?}, but {got:?} comes out when {} (numbers are positions of the inputs)",
                way.steps.join(", ")
            ));
        }
    }
    Ok(())
}

/// One way to share out and merge, with what was done so far in words.
struct Way<'a, C: CombineFn> {
    combine: &'a C,
    coder: &'a CoderRef<C::Accumulator>,
    random: fastrand::Rng,
    steps: Vec<String>,
}

impl<C: CombineFn> Way<'_, C> {
    fn walk(&mut self, inputs: &[C::Input]) -> Result<C::Output, String> {
        let mut order: Vec<usize> = (0..inputs.len()).collect();
        self.random.shuffle(&mut order);
        let n = self.random.usize(1..=inputs.len().min(5) + 2);
        // A clone has the same laws as the original: workers have one each.
        let clones: Vec<C> = (0..n).map(|_| self.combine.clone()).collect();
        let mut parts: Vec<(Vec<usize>, C::Accumulator)> =
            clones.iter().map(|c| (Vec::new(), c.create())).collect();
        for i in order {
            let part = self.random.usize(..n);
            clones[part].add_input(&mut parts[part].1, inputs[i].clone());
            parts[part].0.push(i);
        }
        let lists: Vec<String> = parts.iter().map(|(list, _)| format!("{list:?}")).collect();
        self.steps.push(format!("shared out as {}", lists.join(" ")));
        while parts.len() > 1 {
            let (list, other) = parts.swap_remove(self.random.usize(..parts.len()));
            let other = self.travel(&list, other)?;
            let into = self.random.usize(..parts.len());
            let (to, acc) = &mut parts[into];
            self.steps.push(format!("{list:?} merged into {to:?}"));
            clones[into].merge(acc, other);
            to.extend(list);
        }
        let (list, acc) = parts.swap_remove(0);
        let acc = self.travel(&list, acc)?;
        Ok(self.combine.extract(acc))
    }

    /// Encodes and decodes, half of the time.
    fn travel(&mut self, list: &[usize], acc: C::Accumulator) -> Result<C::Accumulator, String> {
        if self.random.bool() {
            return Ok(acc);
        }
        self.steps.push(format!("{list:?} encoded and decoded"));
        let mut bytes = Vec::new();
        self.coder
            .encode(&acc, Context::Nested, &mut bytes)
            .and_then(|()| self.coder.decode(&mut &bytes[..], Context::Nested))
            .map_err(|e| format!("the accumulator of {list:?} cannot travel: {e}"))
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    /// A sum with a way to break each law.
    #[derive(Clone, Default)]
    struct Broken {
        start: i64,
        first_matters: bool,
        merge_forgets: bool,
        weight_of_merged: i64,
        travels_badly: bool,
    }

    #[derive(Clone, Serialize, Deserialize)]
    struct Acc {
        sum: i64,
        #[serde(deserialize_with = "nothing")]
        lost: i64,
    }

    fn nothing<'de, D: serde::Deserializer<'de>>(d: D) -> std::result::Result<i64, D::Error> {
        i64::deserialize(d).map(|_| 0)
    }

    impl CombineFn for Broken {
        type Input = i64;
        type Accumulator = Acc;
        type Output = i64;
        fn create(&self) -> Acc {
            Acc { sum: self.start, lost: 0 }
        }
        fn add_input(&self, acc: &mut Acc, x: i64) {
            let x = if self.first_matters && acc.sum == 0 { 2 * x } else { x };
            if self.travels_badly { acc.lost += x } else { acc.sum += x }
        }
        fn merge(&self, acc: &mut Acc, other: Acc) {
            if !self.merge_forgets || acc.sum == 0 {
                acc.sum += other.sum * (1 + self.weight_of_merged);
                acc.lost += other.lost;
            }
        }
        fn extract(&self, acc: Acc) -> i64 {
            acc.sum + acc.lost
        }
    }

    fn broken(combine: &Broken) -> String {
        check_combine_fn_laws(combine, &[1, 2, 3, 4], |a, b| a == b).unwrap_err()
    }

    #[test]
    fn a_sum_obeys() {
        for inputs in [&[][..], &[7], &[1, 2, 3, 4]] {
            check_combine_fn_laws(&Broken::default(), inputs, |a, b| a == b).unwrap();
        }
    }

    #[test]
    fn an_accumulator_of_nothing_that_adds_something_is_found() {
        let said = broken(&Broken { start: 1, ..Broken::default() });
        assert!(said.starts_with("one accumulator gives 11, but "), "{said}");
    }

    #[test]
    fn a_first_input_that_counts_more_is_found() {
        let said = broken(&Broken { first_matters: true, ..Broken::default() });
        assert!(said.contains("shared out as"), "{said}");
    }

    #[test]
    fn a_merge_that_forgets_or_weighs_is_found() {
        let said = broken(&Broken { merge_forgets: true, ..Broken::default() });
        assert!(said.contains("merged into"), "{said}");
        let said = broken(&Broken { weight_of_merged: 1, ..Broken::default() });
        assert!(said.contains("merged into"), "{said}");
    }

    #[test]
    fn an_accumulator_that_loses_something_on_the_way_is_found() {
        let said = broken(&Broken { travels_badly: true, ..Broken::default() });
        assert!(said.contains("encoded and decoded"), "{said}");
    }
}
