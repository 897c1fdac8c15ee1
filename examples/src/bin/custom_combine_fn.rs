//! A CombineFn of one's own: mean and variance in one pass.
//!
//! Workers combine what they have before anything is sent, so an accumulator must be able to take in another one. The
//! result must not depend on which values met in which accumulator: `check_combine_fn_laws` tests that.
//!
//! ```text
//! cargo run -p purlin-examples --bin custom_combine_fn
//! ```

use purlin::prelude::*;

#[derive(clap::Args, Clone)]
struct Options {}

/// How values are distributed: their mean, and the mean square of the distance to it.
#[derive(Clone)]
struct Spread;

/// How many values there were, their sum, and the sum of their squares. Integers, so that the order does not matter.
type Sums = (i64, i64, i64);

impl CombineFn for Spread {
    type Input = i64;
    type Accumulator = Sums;
    type Output = (f64, f64);

    fn create(&self) -> Sums {
        (0, 0, 0)
    }

    fn add_input(&self, sums: &mut Sums, x: i64) {
        self.merge(sums, (1, x, x * x));
    }

    fn merge(&self, sums: &mut Sums, (n, sum, squares): Sums) {
        sums.0 += n;
        sums.1 += sum;
        sums.2 += squares;
    }

    fn extract(&self, (n, sum, squares): Sums) -> (f64, f64) {
        let mean = sum as f64 / n as f64;
        (mean, squares as f64 / n as f64 - mean * mean)
    }
}

/// Minutes that a train was late.
const DELAYS: [(&str, i64); 6] =
    [("north", 0), ("north", 2), ("south", 10), ("north", 4), ("south", 0), ("south", 2)];

fn build(p: &Pipeline, _: &Options) {
    p.create("Delays", DELAYS.map(|(line, minutes)| (line.to_owned(), minutes)))
        .combine_per_key("Spread", Spread)
        .map("Print", |(line, (mean, variance))| println!("{line}: mean {mean:.1}, variance {variance:.1}"));
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}

#[cfg(test)]
mod tests {
    use purlin::testing::check_combine_fn_laws;

    use super::*;

    #[test]
    fn it_does_not_matter_how_values_meet() {
        check_combine_fn_laws(&Spread, &[4, -3, 0, 12, 5], PartialEq::eq).unwrap();
    }
}
