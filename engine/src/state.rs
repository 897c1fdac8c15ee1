//! What the engine keeps of each stage.

mod groups;
mod item;
mod stage;

pub(crate) use groups::{Closing, KeyGroup, Reached};
pub(crate) use item::{Item, held_at};
pub(crate) use stage::{SideWindow, StageState};
