//! The examples do what they say. One program, since every further one takes its time to be linked.

mod failures;
mod program;
