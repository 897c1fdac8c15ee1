//! A window type of the user's own.

use std::{any::type_name, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{DoFnError, Element, Result, Timestamp, coder::bincode};

/// A window whose identity is a value of the user's, known to the runner by its encoding and its last timestamp.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CustomWindow {
    // First, so that windows order by when they close.
    max_timestamp: Timestamp,
    encoded: Arc<[u8]>,
}

impl CustomWindow {
    /// The window that `value` stands for; `max_timestamp` is the last timestamp in it.
    ///
    /// # Errors
    /// When `value` cannot be encoded.
    pub fn new<T: Element>(max_timestamp: Timestamp, value: &T) -> Result<CustomWindow> {
        let mut encoded = Vec::new();
        bincode::encode(value, &mut encoded)?;
        Ok(CustomWindow { max_timestamp, encoded: encoded.into() })
    }

    /// The window that came over the wire as these bytes.
    pub(crate) fn from_encoded(max_timestamp: Timestamp, encoded: &[u8]) -> CustomWindow {
        CustomWindow { max_timestamp, encoded: encoded.into() }
    }

    /// The last timestamp in the window.
    pub fn max_timestamp(&self) -> Timestamp {
        self.max_timestamp
    }

    /// The value that the window was made from.
    ///
    /// # Errors
    /// When it was made from a value of another type.
    pub fn value<T: Element>(&self) -> Result<T> {
        bincode::decode(&mut &*self.encoded)
            .map_err(|e| DoFnError::msg(format!("the window holds no `{}`: {e}", type_name::<T>())))
    }

    /// The encoded value: the window's identity on the wire.
    pub fn encoded(&self) -> &[u8] {
        &self.encoded
    }
}

impl fmt::Display for CustomWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "window ending at {} with {} bytes of its own", self.max_timestamp, self.encoded.len())
    }
}

impl fmt::Debug for CustomWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
