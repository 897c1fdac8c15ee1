//! Nor is it a key where it is made.
use purlin_sdk::Pipeline;

fn main() {
    Pipeline::new().create("Numbers", [1_i64]).key_by("Key", |n| *n as f64);
}
