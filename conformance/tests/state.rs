//! On the runners of this project: `cases::state`.

mod common;

common::cases! {
    state:
    value_state,
    value_state_drops_duplicates,
    state_is_per_window,
    state_of_one_name_in_two_transforms,
    values_of_a_key,
    bags,
    sets,
    maps,
    b079_sequences_on_a_map,
    multimaps,
    ordered_lists,
    combining_state,
    b081_a_large_set,
    b083_a_key_is_in_one_bundle_at_a_time,
    b084_elements_of_a_bundle_keep_their_order,
    b086_duplicates_by_event_time,
    b090_keys_of_nothing,
    time_sorted_input,
    time_sorted_input_with_late_data,
    time_sorted_input_with_allowed_lateness,
    b088_sorted_input_that_is_late_but_allowed,
    time_sorted_input_with_timers,
    late_elements,
    state_with_side_inputs_and_tagged_outputs,
    state_that_cannot_be,
    state_in_sessions_that_were_grouped,
    a_keyed_dofn_without_state,
    the_graph_declares_state,
}

#[test]
fn a_failed_bundle_leaves_no_trace_in_state() {
    purlin_conformance::runners::for_each_runner_with(
        4,
        purlin_conformance::cases::state::a_failed_bundle_leaves_no_trace_in_state,
    );
}
