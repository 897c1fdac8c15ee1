//! A float is no key: NaN differs from itself.
use purlin_sdk::Pipeline;

fn main() {
    Pipeline::new().create("Pairs", [(1.0_f64, 1_i64)]).group_by_key("Group");
}
