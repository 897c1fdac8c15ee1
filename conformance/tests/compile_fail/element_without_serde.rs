//! Elements travel between processes.
use purlin_sdk::Pipeline;

#[derive(Clone)]
struct Order {
    cents: i64,
}

fn main() {
    Pipeline::new().create("Cents", [1_i64]).map("Order", |cents| Order { cents });
}
