//! On the runners of this project: `cases::expiration`.

mod common;

common::cases! {
    expiration:
    once_for_each_key_and_window,
    at_the_end_of_the_global_window,
    b076_lateness_in_the_global_window,
    expiration_holds_the_watermark,
    the_order_of_the_last_things,
    a_periodic_flush_ends_with_the_input,
    mistakes_in_on_window_expiration,
    on_window_expiration_must_be_declared,
}
