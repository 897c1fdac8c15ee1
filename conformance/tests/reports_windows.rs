//! On the runners of this project: `cases::windows`.

mod common;

common::cases! {
    windows:
    b091_negative_timestamps_and_offsets,
    b092_an_element_in_no_window_is_counted,
    b094_precise_far_from_the_origin,
    b095_overlapping_windows_fire_at_their_ends,
    b096_grouped_twice_in_the_same_window,
    b100_timestamps_at_the_ends_of_time,
    b100_grouped_again_after_a_window_past_the_global_end,
    b100_past_the_end_of_time,
    b103_output_at_the_end_of_a_bundle_has_a_window,
    a_bundle_holds_the_watermark,
    b104_a_reshuffle_is_transparent,
    a_reshuffle_keeps_early_and_late_panes,
    new_timestamps_leave_elements_in_their_windows,
    a_reshuffle_keeps_the_windowing,
    grouping_in_overlapping_windows,
    a_group_has_the_timestamp_that_was_asked_for,
    options_alone_do_not_assign_windows,
    windows_are_preserved,
    elements_almost_at_the_end_of_time,
    windows_that_cannot_be,
}
