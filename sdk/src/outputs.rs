//! Several outputs as one enum, checked by the compiler.

use std::fmt;

use crate::{
    Element, PCollection,
    batch::Row,
    exec::{Downstream, KernelResult, TagPort},
    pcollection::OutputsBuilder,
};

/// An enum with one variant an output; a DoFn whose `Output` it is emits variants, and
/// [`PCollection::split_outputs`] gives a struct with one collection each. Derive it with `#[derive(Outputs)]`.
pub trait Outputs: Element {
    /// A struct of collections, one a variant.
    type Collections;

    /// Declares one output a variant, in their order.
    fn declare(outputs: &mut OutputsBuilder<'_>) -> Self::Collections;

    /// Puts the element on its variant's output.
    fn route(self, router: &mut OutputRouter<'_>);
}

/// Takes one element of an enum of outputs.
pub struct OutputRouter<'a> {
    ports: &'a mut [TagPort],
    down: Downstream<'a>,
    row: Row<'a>,
    result: Option<KernelResult>,
}

impl<'a> OutputRouter<'a> {
    pub(crate) fn new(ports: &'a mut [TagPort], down: Downstream<'a>, row: Row<'a>) -> OutputRouter<'a> {
        OutputRouter { ports, down, row, result: None }
    }

    /// Puts `value` on output number `output`, in the order of declaration.
    pub fn put<T: Element>(&mut self, output: usize, value: T) {
        self.result = self.ports.get_mut(output).and_then(|p| p.push(value, self.row, &mut self.down));
    }

    pub(crate) fn end(self) -> Option<KernelResult> {
        self.result
    }
}

impl fmt::Debug for OutputRouter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "router to {} outputs", self.ports.len())
    }
}

impl<T: Element> PCollection<T>
where
    T: Outputs,
{
    /// Takes the enum apart: one collection a variant.
    #[track_caller]
    pub fn split_outputs(&self, name: &str) -> T::Collections {
        OutputsBuilder::split(self, name, std::panic::Location::caller())
    }
}
