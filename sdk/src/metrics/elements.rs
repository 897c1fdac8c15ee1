//! How many elements went through the kernels of a stage.

use std::cell::RefCell;

/// Elements that went into a kernel of a stage, and that came out of it, in one bundle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ElementCounts {
    /// Into it.
    pub inputs: u64,
    /// Out of it, at all outputs together.
    pub outputs: u64,
}

impl ElementCounts {
    /// Adds `other`.
    pub fn add(&mut self, other: ElementCounts) {
        self.inputs = self.inputs.saturating_add(other.inputs);
        self.outputs = self.outputs.saturating_add(other.outputs);
    }
}

/// The counts of a bundle, by the number of the kernel in its stage. They are counted by the batch, not by the element.
#[derive(Debug, Default)]
pub(crate) struct BundleCounts(RefCell<Vec<ElementCounts>>);

impl BundleCounts {
    pub(crate) fn came_in(&self, kernel: usize, n: usize) {
        self.change(kernel, |counts| counts.inputs += n as u64);
    }

    pub(crate) fn went_out(&self, kernel: usize, n: usize) {
        self.change(kernel, |counts| counts.outputs += n as u64);
    }

    fn change(&self, kernel: usize, f: impl FnOnce(&mut ElementCounts)) {
        let mut all = self.0.borrow_mut();
        if kernel >= all.len() {
            all.resize(kernel + 1, ElementCounts::default());
        }
        f(&mut all[kernel]);
    }

    pub(crate) fn into_inner(self) -> Vec<ElementCounts> {
        self.0.into_inner()
    }
}
