//! Cases that need more than a runner: a stack of their own, a runner of one kind, many runs, an asynchronous reactor. All
//! others are in the table.

mod deep;
mod direct;
mod leftovers;
mod many;
mod restores;
mod runs;
mod splits;
