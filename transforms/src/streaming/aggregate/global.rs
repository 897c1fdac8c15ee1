//! Over all rows.

use std::fmt;

use purlin_sdk::{CombineFn, KeyedParDo, PCollection, PTransform};

use super::fold::Fold;
use crate::streaming::{Grouping, OperatorKind, operators::Handle};

/// See [`StreamAggregate::globally`](super::StreamAggregate::globally).
pub struct GlobalAggregate<C> {
    pub(super) combine: C,
}

impl<C: CombineFn> PTransform<PCollection<C::Input>> for GlobalAggregate<C> {
    type Out = PCollection<C::Output>;

    #[track_caller]
    fn expand(self, rows: PCollection<C::Input>) -> Self::Out {
        let pipeline = rows.pipeline();
        let handle = Handle::new(pipeline);
        // There is a result before there is a row.
        let none = pipeline.impulse("Impulse").map("NoRows", |_| ((), None));
        let values = rows.map("Values", |value| ((), Some(value))).flatten_with("AndNoRows", [none]);
        let fold = Fold::new(self.combine, None, handle.clone()).in_every_epoch();
        let par_do = KeyedParDo::of(fold).tag(Fold::<(), C>::late::<C::Input>());
        let results = values.par_do_keyed_with("Combine", par_do).main().map("Result", |((), result)| result);
        let kind = OperatorKind::Aggregate(Grouping::Global);
        handle.declare(pipeline, kind, vec![rows.id()], vec![results.id()]);
        results
    }
}

impl<C> fmt::Debug for GlobalAggregate<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GlobalAggregate")
    }
}
