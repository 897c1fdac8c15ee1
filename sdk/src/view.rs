//! Side inputs: a collection as a value that every element of another can look at.

mod handle;
mod shapes;

pub use handle::View;
pub use shapes::{ListView, MapView, MultimapView, ViewHasher};
