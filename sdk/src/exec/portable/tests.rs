//! Parts as an engine runs them: alone, with bytes between them.

mod combine;
mod support;
mod view;
