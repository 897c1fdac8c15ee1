//! On the runners of this project: `cases::flatten`.

mod common;

common::cases! {
    flatten:
    b050_silent_branches_hold_no_elements_back,
    b051_the_same_collection_several_times,
    b053_a_collection_with_several_consumers,
    b053_another_coder_does_not_leak,
    b054_a_flatten_of_nothing,
    b055_incompatible_windows,
    b205_bounded_and_unbounded_together,
}
