//! On the runners of this project: `cases::sessions`.

mod common;

common::cases! {
    sessions:
    b122_sessions_merge_per_key,
    b098_the_timestamp_of_merged_windows,
    b124_the_order_of_inputs_does_not_matter,
    b126_a_late_event_joins_no_session,
    b127_merged_windows_do_not_merge_again,
    touching_sessions_stay_apart,
}
