//! An output that the enum does not have cannot be emitted.
use purlin_derive::Outputs;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, Outputs)]
#[outputs(crate = "purlin_sdk")]
enum Parsed {
    Number(i64),
}

fn parse(line: String) -> Parsed {
    Parsed::Late(line)
}

fn main() {}
