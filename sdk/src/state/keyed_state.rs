//! The state of a key as a struct.

use std::fmt;

use super::{AnyCell, Field, TimerCell};
use crate::Result;

/// The state that a [`KeyedDoFn`](crate::KeyedDoFn) has per key and window. Made by `#[derive(KeyedState)]`, which has
/// the documentation.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the state of a key",
    label = "not a state",
    note = "put `#[derive(KeyedState)]` on a struct whose fields are cells of `purlin::state`; a DoFn without state has `type State = ()`"
)]
pub trait KeyedState: Sized + Send + 'static {
    /// Names its timers, for `on_timer`.
    type Timer: Clone + fmt::Debug + PartialEq + Eq + Send + 'static;

    /// Whether there is nothing in it at all, so that no key needs a place for it.
    const NOTHING: bool = false;

    /// What a key has before its first element.
    fn initial() -> Self;

    /// A bundle begins that may have to be undone. Each cell and timer remembers what it changes.
    fn begin(&mut self);

    /// The bundle failed: everything is as it was when it began.
    fn undo(&mut self);

    /// The bundle is done.
    fn keep(&mut self);

    /// Appends all that it holds, for a checkpoint.
    ///
    /// # Errors
    /// When a value does not encode.
    fn save(&self, out: &mut Vec<u8>) -> Result;

    /// What [`save`](KeyedState::save) wrote.
    ///
    /// # Errors
    /// When the bytes are no such state.
    fn load(input: &mut &[u8]) -> Result<Self>;

    /// Whether nothing is in it, so that it need not be kept.
    fn is_initial(&self) -> bool;

    /// Its fields.
    fn fields() -> Vec<Field>;

    /// The cell with this number among [`fields`](KeyedState::fields), where cells come before timers.
    fn cell(&mut self, number: usize) -> Option<&mut dyn AnyCell>;

    /// Shows every timer and family of timers, by its number.
    fn for_each_timer(&mut self, visit: &mut dyn FnMut(usize, &mut dyn TimerCell));

    /// The timer or family of timers with this number.
    fn timer(&mut self, number: usize) -> Option<&mut dyn TimerCell>;

    /// The name of the timer with this number, for `on_timer`; `tag` is that of a timer in a family.
    fn name_timer(number: usize, tag: &str) -> Option<Self::Timer>;
}

/// No state and no timers.
impl KeyedState for () {
    type Timer = std::convert::Infallible;

    const NOTHING: bool = true;

    fn initial() {}

    fn begin(&mut self) {}

    fn undo(&mut self) {}

    fn keep(&mut self) {}

    fn save(&self, _out: &mut Vec<u8>) -> Result {
        Ok(())
    }

    fn load(_input: &mut &[u8]) -> Result<()> {
        Ok(())
    }

    fn is_initial(&self) -> bool {
        true
    }

    fn fields() -> Vec<Field> {
        Vec::new()
    }

    fn cell(&mut self, _number: usize) -> Option<&mut dyn AnyCell> {
        None
    }

    fn for_each_timer(&mut self, _visit: &mut dyn FnMut(usize, &mut dyn TimerCell)) {}

    fn timer(&mut self, _number: usize) -> Option<&mut dyn TimerCell> {
        None
    }

    fn name_timer(_number: usize, _tag: &str) -> Option<Self::Timer> {
        None
    }
}
