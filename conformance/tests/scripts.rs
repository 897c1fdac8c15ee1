//! On the runners of this project: `cases::scripts`.

mod common;

common::cases! {
    scripts:
    streams_of_one_script_share_its_order,
    marks_come_at_rest,
    a_bounded_test_stream,
    impossible_scripts,
}
