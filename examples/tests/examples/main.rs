//! The examples do what they say. One program, since every further one takes its time to be linked.

mod failures;
mod killed;
mod own_estimator;
mod program;
mod resumed;
mod signals;
mod small;
mod streaming;
mod wordcount;
