//! Splittable DoFns applied to collections.

use std::{fmt, panic::Location, sync::Arc};

use super::{Boundedness, SplittableDoFn};
use crate::{
    Element, PCollection, ParDoOutputs, Tag, View,
    coder_slot::CoderSlot,
    exec::{Proto, SdfOp},
    graph::Op,
    named,
    pcollection::{DeclaredTag, outputs_of},
    pipeline::NewNode,
    watermark::Alignment,
};

/// A splittable DoFn with what it is given: side inputs, further outputs.
pub struct ParDoSplittable<D: SplittableDoFn> {
    dofn: D,
    views: Vec<Arc<str>>,
    tags: Vec<DeclaredTag>,
    alignment: Option<Alignment>,
}

impl<D: SplittableDoFn> ParDoSplittable<D> {
    /// The DoFn with no side inputs and no further outputs.
    pub fn of(dofn: D) -> ParDoSplittable<D> {
        ParDoSplittable { dofn, views: Vec::new(), tags: Vec::new(), alignment: None }
    }

    /// Lets `process` read `view`. May be called several times.
    #[must_use]
    pub fn side<V>(mut self, view: &View<V>) -> ParDoSplittable<D> {
        self.views.push(view.path().clone());
        self
    }

    /// Declares a further output. May be called several times.
    #[must_use]
    pub fn tag<T: Element>(mut self, tag: Tag<T>) -> ParDoSplittable<D> {
        self.tags.push(DeclaredTag::new(tag));
        self
    }

    /// Keeps it together with other sources, see [`Alignment`]: each of its restrictions by its own watermark.
    #[must_use]
    pub fn alignment(mut self, alignment: Alignment) -> ParDoSplittable<D> {
        self.alignment = Some(alignment);
        self
    }
}

impl<D: SplittableDoFn> fmt::Debug for ParDoSplittable<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParDoSplittable of {}", std::any::type_name::<D>())
    }
}

impl<T: Element> PCollection<T> {
    /// Applies a splittable DoFn.
    #[track_caller]
    pub fn par_do_splittable<D: SplittableDoFn<Input = T>>(
        &self,
        name: &str,
        dofn: D,
    ) -> PCollection<D::Output> {
        self.par_do_splittable_at(name, Location::caller(), ParDoSplittable::of(dofn)).main()
    }

    /// Applies a splittable DoFn with side inputs and further outputs.
    #[track_caller]
    pub fn par_do_splittable_with<D: SplittableDoFn<Input = T>>(
        &self,
        name: &str,
        par_do: ParDoSplittable<D>,
    ) -> ParDoOutputs<D::Output> {
        self.par_do_splittable_at(name, Location::caller(), par_do)
    }

    fn par_do_splittable_at<D: SplittableDoFn<Input = T>>(
        &self,
        name: &str,
        site: &'static Location<'static>,
        par_do: ParDoSplittable<D>,
    ) -> ParDoOutputs<D::Output> {
        let ParDoSplittable { dofn, views, tags, alignment } = par_do;
        let pipeline = self.pipeline();
        let step = pipeline.name(name, site);
        let bounded = self.is_bounded() && dofn.boundedness() == Boundedness::Bounded;
        let coder = CoderSlot::default_of_type();
        let payload = pipeline.payload(&step, named::payload_of(&dofn));
        let items = CoderSlot::default_of_type();
        if let Err((_, e)) = items.spec() {
            pipeline.error(&step, format!("its restriction or estimator state has no coder: {e}"));
        }
        let op = SdfOp {
            input: self.coder_slot().clone(),
            dofn: Proto::new(dofn),
            views: views.clone().into(),
            coder: coder.clone(),
            items,
            tags: tags.iter().map(|t| t.port().clone()).collect(),
            alignment,
        };
        let op = Op::Splittable(Arc::new(op));
        let node =
            pipeline.add_node(NewNode { step: step.clone(), inputs: vec![self.id()], views, op, payload });
        outputs_of(self, step, node, coder, tags, bounded)
    }
}
