//! A float is no key: NaN differs from itself.
use purlin_sdk::{PCollection, Pipeline};

fn main() {
    let pairs: PCollection<(f64, i64)> = Pipeline::new().create("Pairs", []);
    pairs.group_by_key("Group");
}
