//! Sources in a pipeline.

use purlin_sdk::{PCollection, PTransform, Pipeline};

use super::{QueryContext, StreamSource};

/// Reads a [`StreamSource`] in a streaming query.
///
/// ```
/// use purlin_sdk::Pipeline;
/// use purlin_transforms::streaming::{MemoryStream, ReadStream};
///
/// let p = Pipeline::new();
/// let words = MemoryStream::<String>::new();
/// let read = p.apply("Words", ReadStream::from(words.clone()));
/// words.add(["to".to_owned(), "be".to_owned()]);
/// # drop(read);
/// ```
/// The pipeline must end in [`write_stream`](super::WriteStream::write_stream).
#[derive(Debug)]
pub struct ReadStream<S>(S);

impl<S: StreamSource> From<S> for ReadStream<S> {
    fn from(source: S) -> ReadStream<S> {
        ReadStream(source)
    }
}

impl<S: StreamSource> PTransform<Pipeline> for ReadStream<S> {
    type Out = PCollection<S::Row>;

    #[track_caller]
    fn expand(self, pipeline: Pipeline) -> PCollection<S::Row> {
        let cx = QueryContext::of(&pipeline);
        let number = cx.add_source(pipeline.current_step(), Box::new(self.0));
        if number == 0 {
            let declared = cx.clone();
            pipeline.check(move |graph| declared.missing_sink(graph));
        }
        pipeline.live_stream("Stream", cx.script(), number)
    }
}
