//! On the runners of this project: `cases::bundles`.

mod common;

common::cases! {
    bundles:
    b114_late_data_are_dropped_by_groupings_only,
    b115_a_window_decides_what_is_late,
    b115_the_boundary_of_lateness,
    b120_bundles_do_not_matter,
}
