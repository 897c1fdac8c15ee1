//! On the runners of this project: `cases::async_dofn`.

mod common;

common::cases! {
    async_dofn:
    concurrency_is_bounded,
    order,
    elements_keep_what_they_have,
    everything_else,
    what_goes_wrong,
    cancelled_while_it_waits,
    tokio_timers,
    closures,
}
