//! An output that the enum does not have cannot be read.
use purlin_derive::Outputs;
use purlin_sdk::{PCollection, Pipeline};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, Outputs)]
#[outputs(crate = "purlin_sdk")]
enum Parsed {
    Number(i64),
}

fn main() {
    let parsed: PCollection<Parsed> = Pipeline::new().create("Parsed", []);
    parsed.split_outputs("Split").late;
}
