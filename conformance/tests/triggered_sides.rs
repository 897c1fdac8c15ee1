//! On the runners of this project: `cases::triggered_sides`.

mod common;

common::cases! {
    triggered_sides:
    the_latest_singleton,
    lists_grow,
    several_elements_are_no_singleton,
    windows_are_ready_at_their_first_pane,
    late_data_reach_late_readers,
    a_side_input_that_is_never_ready_is_refused,
}
