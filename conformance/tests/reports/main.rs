//! Cases that need more than a runner: a stack of their own, a runner of one kind, many runs, an asynchronous reactor. All
//! others are in the table.

mod deep;
mod direct;
mod many;
mod runs;
mod splits;
