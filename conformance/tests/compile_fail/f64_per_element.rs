//! What is counted is a key.
use purlin_sdk::Pipeline;
use purlin_transforms::Count;

fn main() {
    Pipeline::new().create("Numbers", [1.5]).apply("Count", Count::per_element());
}
