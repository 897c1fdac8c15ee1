//! On the runners of this project, with retries: `cases::no_trace`.

use purlin_conformance::{
    cases::no_trace::{self, RETRIES},
    runners::for_each_runner_with,
};

/// Runs each case on every runner.
macro_rules! cases {
    ($($case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                for_each_runner_with(RETRIES, no_trace::$case);
            }
        )+
    };
}

cases! {
    plain_windows,
    plain_windows_with_lateness,
    sessions,
    triggered_windows_that_discard,
    triggered_windows_that_accumulate,
    a_trigger_that_ends,
    state_and_timers,
    time_sorted_input,
    triggered_side_inputs,
    restrictions,
}
