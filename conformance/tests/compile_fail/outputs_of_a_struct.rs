//! Outputs are the variants of an enum.
use purlin_derive::Outputs;

#[derive(Outputs)]
struct Parsed {
    number: i64,
}

#[derive(Outputs)]
enum Generic<T> {
    Value(T),
    Nothing,
    Two(i64, i64),
}

fn main() {}
