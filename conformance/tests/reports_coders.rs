//! On the runners of this project: `cases::coders`. What only the direct runner finds is in `reports_direct`.

mod common;

common::cases! {
    coders:
    a_type_that_leaves_something_out,
    another_coder_for_such_a_type,
}
