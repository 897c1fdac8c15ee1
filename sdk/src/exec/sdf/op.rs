//! What the engine needs of a splittable DoFn.

use std::sync::Arc;

use super::{SdfElement, item_coder::ItemCoder, pair::PairKernel, part::PartKernel, process::ProcessKernel};
use crate::{
    Result,
    batch::{AnyBatch, Batch},
    coder::{CoderRef, CoderSpec},
    coder_slot::CoderSlot,
    exec::{
        BatchCodec, Kernel, KernelSpec, Proto, TagPortMaker,
        wire::{WireCodec, wire_codec},
    },
    named,
    sdf::{RestrictionOf, SplittableDoFn, WatermarkStateOf},
    watermark::Alignment,
};

pub(super) type ItemOf<D> = SdfElement<<D as SplittableDoFn>::Input, RestrictionOf<D>, WatermarkStateOf<D>>;

/// Makes the two kernels of a splittable DoFn.
pub trait SdfFactory: Send + Sync {
    /// Pairs elements with restrictions.
    fn pair(&self, spec: &KernelSpec) -> Box<dyn Kernel>;
    /// Works on restrictions.
    fn process(&self, spec: &KernelSpec) -> Box<dyn Kernel>;
    /// An empty batch of the DoFn's input type.
    fn input(&self) -> AnyBatch;
    /// An empty batch of elements with restrictions.
    fn items(&self) -> AnyBatch;
    /// The sources that it is kept together with.
    fn alignment(&self) -> Option<Alignment> {
        None
    }
    /// The name of its watermark estimator's type, for people.
    fn estimator(&self) -> &'static str;
    /// Writes and reads batches of elements with restrictions.
    fn items_codec(&self) -> Arc<dyn BatchCodec>;
    /// One of the parts that engines cut the pairing into, and that they run one by one.
    fn part(&self, part: SdfPart, spec: &KernelSpec) -> Box<dyn Kernel>;
    /// Writes and reads elements with restrictions for an engine, whose coder of windowed values is `spec`: of pairs of
    /// the element and bytes (restriction and estimator state, which only this SDK reads), or of pairs of such a pair
    /// and a double, the size.
    ///
    /// # Errors
    /// When `spec` is another coder.
    fn items_wire(&self, spec: &CoderSpec) -> Result<Arc<dyn WireCodec>>;
    /// The same transform with the named DoFn whose configuration `payload` is; nothing when its DoFn is not
    /// registered.
    ///
    /// # Errors
    /// When the payload is not the configuration of this transform's DoFn.
    fn with_payload(&self, _payload: &serde_json::Value) -> crate::Result<Option<Arc<dyn SdfFactory>>> {
        Ok(None)
    }
}

/// What engines cut the pairing of elements with restrictions into.
///
/// Source: Beam's `sdf_pair_with_restriction`, `sdf_split_and_size_restrictions`, `sdf_truncate_sized_restrictions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SdfPart {
    /// From elements to elements with all of their work.
    Pair,
    /// From these to their parts, with sizes.
    SplitAndSize,
    /// From parts to what is left of them when the pipeline is drained.
    Truncate,
}

pub(crate) struct SdfOp<D: SplittableDoFn> {
    pub(crate) input: CoderSlot<D::Input>,
    pub(crate) dofn: Proto<D>,
    pub(crate) views: Arc<[Arc<str>]>,
    pub(crate) coder: CoderSlot<D::Output>,
    pub(crate) items: CoderSlot<ItemOf<D>>,
    pub(crate) tags: Vec<TagPortMaker>,
    pub(crate) alignment: Option<Alignment>,
}

impl<D: SplittableDoFn> SdfFactory for SdfOp<D> {
    fn pair(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        Box::new(PairKernel::new(&spec.step, self.dofn.get(), &self.items))
    }

    fn process(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        let tags = self.tags.iter().enumerate().map(|(i, t)| t.port(i + 1, &spec.step)).collect();
        let views = self.views.clone();
        Box::new(ProcessKernel::new(&spec.step, self.dofn.get(), views, &self.coder, tags, self.items.get()))
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<D::Input>::default())
    }

    fn items(&self) -> AnyBatch {
        Box::new(Batch::<ItemOf<D>>::default())
    }

    fn alignment(&self) -> Option<Alignment> {
        self.alignment.clone()
    }

    fn estimator(&self) -> &'static str {
        let name = std::any::type_name::<D::Estimator>();
        let plain = name.split('<').next().unwrap_or(name);
        plain.rsplit("::").next().unwrap_or(plain)
    }

    fn items_codec(&self) -> Arc<dyn BatchCodec> {
        Arc::new(self.items.clone())
    }

    fn part(&self, part: SdfPart, spec: &KernelSpec) -> Box<dyn Kernel> {
        Box::new(PartKernel::new(part, &spec.step, self.dofn.get(), &self.items))
    }

    fn items_wire(&self, spec: &CoderSpec) -> Result<Arc<dyn WireCodec>> {
        let coder: CoderRef<ItemOf<D>> = Arc::new(ItemCoder::new(self.input.get())?);
        wire_codec(&coder, spec)
    }

    fn with_payload(&self, payload: &serde_json::Value) -> crate::Result<Option<Arc<dyn SdfFactory>>> {
        let Some(dofn) = named::restored::<D>(payload)? else { return Ok(None) };
        Ok(Some(Arc::new(SdfOp {
            input: self.input.clone(),
            dofn: Proto::new(dofn),
            views: self.views.clone(),
            coder: self.coder.clone(),
            items: self.items.clone(),
            tags: self.tags.clone(),
            alignment: self.alignment.clone(),
        })))
    }
}
