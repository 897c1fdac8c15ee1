//! On the runners of this project: `cases::sides`.

mod common;

common::cases! {
    sides:
    b129_an_empty_side_window,
    b129_an_empty_side_window_is_ready_at_once,
    b130_elements_wait_for_their_own_side_window,
    b132_a_slow_side_input_of_sessions,
    b134_a_side_input_of_the_same_source,
    b136_side_inputs_that_cannot_be,
    side_inputs_of_side_inputs,
    several_side_inputs_in_one_dofn,
    a_list_keeps_its_order,
    broken_views_are_errors,
    views_that_are_not_read,
    b142_several_windows_several_side_inputs,
    main_windows_map_to_side_windows,
    a_combine_as_windowed_side_input,
    b115_a_late_element_with_a_side_input,
}
