//! Floats are in no total order of their own.
use purlin_sdk::Pipeline;
use purlin_transforms::Max;

fn main() {
    Pipeline::new().create("Numbers", [1.5]).apply("Max", Max::globally());
}
