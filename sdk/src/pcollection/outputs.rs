//! Enums of outputs taken apart.

use std::{fmt, marker::PhantomData, panic::Location, sync::Arc};

use super::PCollection;
use crate::{
    Element,
    coder_slot::CoderSlot,
    exec::{SplitOutputs, TagPortMaker},
    graph::{NodeId, Op},
    outputs::Outputs,
};

/// Declares the outputs of an enum, see [`Outputs`].
pub struct OutputsBuilder<'a> {
    input: &'a dyn Input,
    node: NodeId,
    ports: Vec<TagPortMaker>,
}

/// The collection that is taken apart, whatever its type.
trait Input {
    fn pipeline(&self) -> &crate::Pipeline;
    fn windowing(&self) -> crate::window::WindowingStrategy;
    fn is_bounded(&self) -> bool;
}

impl<T> Input for PCollection<T> {
    fn pipeline(&self) -> &crate::Pipeline {
        PCollection::pipeline(self)
    }

    fn windowing(&self) -> crate::window::WindowingStrategy {
        PCollection::windowing(self)
    }

    fn is_bounded(&self) -> bool {
        PCollection::is_bounded(self)
    }
}

impl OutputsBuilder<'_> {
    /// Declares the next output.
    pub fn output<T: Element>(&mut self, name: &'static str) -> PCollection<T> {
        let coder = CoderSlot::default_of_type();
        self.ports.push(TagPortMaker::new(name, coder.clone()));
        self.input.pipeline().output_with(self.node, self.input.windowing(), self.input.is_bounded(), coder)
    }

    pub(crate) fn split<E: Outputs>(
        input: &PCollection<E>,
        name: &str,
        site: &'static Location<'static>,
    ) -> E::Collections {
        let pipeline = input.pipeline();
        let step = pipeline.name(name, site);
        let node = pipeline.add(step, vec![input.id()], Op::Impulse);
        let mut builder = OutputsBuilder { input, node, ports: Vec::new() };
        let collections = E::declare(&mut builder);
        // Only now are the outputs known that the kernel fills.
        let factory = SplitOutputs::<E> { ports: builder.ports, types: PhantomData };
        pipeline.set_op(node, Op::Element(Arc::new(factory)));
        collections
    }
}

impl fmt::Debug for OutputsBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.ports)
    }
}
