//! On the runners of this project: `cases::basics`.

mod common;

common::cases! {
    basics:
    par_do,
    par_do_of_nothing,
    par_do_with_tagged_outputs,
    output_with_timestamps,
    timestamp_skew,
    create,
    metrics,
    pipeline_options,
    b202_a_test_stream_without_an_end,
    impossible_test_streams,
    a_test_stream_runs_to_quiescence,
    the_first_element_is_late,
    several_test_streams,
}
