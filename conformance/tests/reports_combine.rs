//! On the runners of this project: `cases::combine`.

mod common;

common::cases! {
    combine:
    b137_a_global_combine_in_several_windows,
    b138_defaults_in_windows_are_refused,
    b139_global_combines_of_nothing,
    combines_of_something,
    b140_a_fanout_changes_no_result,
    b142_windows_share_no_accumulator,
    b147_a_hot_key_is_linear,
    group_by_key,
    b090_empty_keys,
    large_keys,
    co_group_by_key,
    co_group_by_key_in_windows,
    b155_grouped_values_can_be_walked_again,
    combining_in_windows,
    the_earliest_timestamp_holds_the_watermark,
}
