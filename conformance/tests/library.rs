//! On the runners of this project: the cases of the transform library.

mod common;

common::cases! {
    batches:
    batches_of_a_size,
    batches_in_windows,
    a_longest_duration_in_windows,
    a_longest_duration_in_the_global_window,
    batches_of_a_byte_size,
    batches_of_sharded_keys,
    b089_a_batch_is_not_late,
    b090_missing_and_empty_keys,
    late_data_are_batched,
    a_late_value_does_not_make_others_late,
    a_timestamp_after_the_window,
    batches_that_cannot_be,
    b147_a_hot_key_is_batched,
    remainders_are_on_time,
}

common::cases! {
    wait:
    in_the_same_windows,
    in_different_windows,
    a_signal_in_sliding_windows,
    in_the_global_window,
    windows_without_a_signal,
    released_when_the_signal_s_window_is_closed,
    all_of_several_signals,
    empty_signals,
    released_elements_are_as_they_were,
    an_element_that_waits_holds_the_watermark,
    signals_that_cannot_be_waited_for,
}

common::cases! {
    duplicates:
    b086_repeats_out_of_order,
    repeats_in_event_time,
    repeats_in_processing_time,
    repeats_within_ten_minutes,
    repeats_in_different_windows,
    repeats_of_keys_and_representatives,
    repeats_that_cannot_be_told,
    distinct_under_a_trigger,
    distinct_in_windows,
    aggregations_under_a_trigger,
}

/// On clocks that stand at the epoch and go on by themselves.
macro_rules! watch {
    ($($case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                purlin_conformance::runners::for_each_runner(purlin_conformance::cases::watch::$case);
            }
        )+
    };
}

watch! {
    a_single_poll_of_several_elements,
    many_polls,
    many_polls_with_a_key,
    a_poll_with_many_outputs,
    outputs_come_in_the_order_of_time,
    the_watermark_follows_the_polls,
    the_interval_is_kept,
    a_watermark_at_the_end_is_complete,
    a_drain_ends_polling,
    a_poll_that_fails,
}
