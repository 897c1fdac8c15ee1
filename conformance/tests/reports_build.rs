//! On the runners of this project: `cases::errors`.

mod common;

common::cases! {
    errors:
    b148_a_name_given_twice,
    a_name_with_a_slash_in_it,
    b149_an_undeclared_tag,
    b150_errors_name_the_transform,
    b150_closures_that_panic,
    b150_combine_fns_that_panic,
    b150_a_side_input_that_cannot_be_read,
    b150_sources_that_fail,
    b150_window_fns_that_fail,
    b156_a_grouping_that_never_fires,
    all_build_errors_at_once,
}
