//! Composite transforms.

use crate::{PCollection, Pipeline};

/// A transform that is made of others.
///
/// `In` may be a [`PCollection`], the [`Pipeline`] (a source), a tuple or a `Vec` of collections; `Out` may be any
/// struct of collections.
///
/// ```
/// use purlin_sdk::{PCollection, PTransform, Pipeline};
///
/// struct Words;
///
/// impl PTransform<PCollection<String>> for Words {
///     type Out = PCollection<String>;
///     fn expand(self, lines: PCollection<String>) -> PCollection<String> {
///         lines
///             .flat_map("Split", |l: String| l.split(' ').map(str::to_owned).collect::<Vec<_>>())
///             .filter("NotEmpty", |w| !w.is_empty())
///     }
/// }
///
/// let p = Pipeline::new();
/// p.create("Lines", ["to be".to_owned()]).apply("Words", Words);
/// let graph = p.build().unwrap();
/// assert_eq!(graph.nodes.last().unwrap().step.path(), "Words/NotEmpty");
/// ```
/// What cannot be expanded because of its settings says so by [`Pipeline::build_error`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be applied to `{In}`",
    note = "check the element type of the collection, and whether the transform takes one collection, several or the pipeline"
)]
pub trait PTransform<In> {
    /// What it makes.
    type Out;

    /// Applies the transforms that this one is made of.
    fn expand(self, input: In) -> Self::Out;
}

/// What a transform of several collections can be applied to: tuples of collections. For a vector of collections, which
/// may be empty and then belongs to no pipeline, there is [`Pipeline::apply_to`].
pub trait Apply: Sized {
    /// Applies `transform` to all of them.
    #[track_caller]
    fn apply<X: PTransform<Self>>(self, name: &str, transform: X) -> X::Out {
        let site = std::panic::Location::caller();
        let pipeline = self.pipeline().clone();
        pipeline.composite_at(name, site, || transform.expand(self))
    }

    /// The pipeline that the collections belong to.
    fn pipeline(&self) -> &Pipeline;
}

macro_rules! tuples {
    ($($T:ident),+) => {
        impl<First, $($T),+> Apply for (PCollection<First>, $(PCollection<$T>),+) {
            fn pipeline(&self) -> &Pipeline {
                self.0.pipeline()
            }
        }
    };
}

tuples!(A);
tuples!(A, B);
tuples!(A, B, C);
tuples!(A, B, C, D);
tuples!(A, B, C, D, E);
