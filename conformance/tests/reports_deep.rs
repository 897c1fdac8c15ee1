//! Very large pipelines on small stacks, where neither building nor running nor dropping may overflow.

use purlin_conformance::cases::deep;
use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::Runner;

fn on_small_stacks(case: fn(&dyn Runner)) {
    deep::on_a_small_stack(|| case(&DirectRunner::new().seed(1)));
    for threads in [1, 2, 16] {
        deep::on_a_small_stack(|| case(&ThreadedRunner::new().parallelism(threads)));
    }
}

macro_rules! small_stack {
    ($($case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                on_small_stacks(deep::$case);
            }
        )+
    };
}

small_stack! {
    b152_many_maps_in_a_row,
    b152_deeply_nested_composites,
    b152_a_chain_of_flattens,
    b152_a_flatten_of_many,
    b152_a_wide_fan_out,
}
