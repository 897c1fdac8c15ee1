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
