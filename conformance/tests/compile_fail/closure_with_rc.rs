//! A closure goes to worker threads.
use std::rc::Rc;

use purlin_sdk::Pipeline;

fn main() {
    let rate = Rc::new(2_i64);
    Pipeline::new().create("Numbers", [1_i64]).map("Scale", move |n| n * *rate);
}
