//! Very large pipelines on small stacks, where neither building nor running nor dropping may overflow.

use purlin_conformance::cases::deep;
use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::Runner;

fn on_stacks_of(bytes: usize, case: fn(&dyn Runner)) {
    deep::on_a_stack_of(bytes, || case(&DirectRunner::new().seed(1)));
    for threads in [1, 2, 16] {
        deep::on_a_stack_of(bytes, || case(&ThreadedRunner::new().parallelism(threads)));
    }
}

#[test]
fn b152_deeply_nested_composites() {
    on_stacks_of(64 << 20, deep::b152_deeply_nested_composites);
}

macro_rules! small_stack {
    ($($case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                on_stacks_of(deep::SMALL_STACK, deep::$case);
            }
        )+
    };
}

small_stack! {
    b152_many_maps_in_a_row,
    b152_a_chain_of_flattens,
    b152_a_flatten_of_many,
    b152_a_wide_fan_out,
}
