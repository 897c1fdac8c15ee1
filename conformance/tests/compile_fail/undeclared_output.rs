//! An output that the enum does not have can be neither emitted nor read.
use purlin_derive::Outputs;
use purlin_sdk::Pipeline;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, Outputs)]
#[outputs(crate = "purlin_sdk")]
enum Parsed {
    Number(i64),
    BadLine(String),
}

fn main() {
    let parsed = Pipeline::new().create("Parsed", [Parsed::Number(1), Parsed::Late(2)]).split_outputs("Split");
    parsed.late.map("Double", |n| n * 2);
}
