//! Reading text in a pipeline: patterns to files, files to ranges, ranges to records.

mod format;
mod lines;
mod match_files;
mod paused;

use std::{fmt, marker::PhantomData, path::Path};

use purlin_sdk::{PCollection, PTransform, Pipeline};

pub use format::{Bytes, Lines, RecordFormat, WithFileName};
use lines::ReadRecords;
use match_files::MatchFiles;

use super::TextOptions;
use crate::io::files::{Compression, EmptyMatch};

/// Where the patterns come from: one that is known when the pipeline is built.
#[derive(Clone, Debug)]
pub struct Pattern(String);

impl Pattern {
    pub(super) fn new(pattern: String) -> Pattern {
        Pattern(pattern)
    }
}

/// Where the patterns come from: the elements of a collection.
#[derive(Clone, Copy, Debug)]
pub struct Each(());

impl Each {
    pub(super) fn new() -> Each {
        Each(())
    }
}

/// Reads text files; made by [`TextIo`](super::TextIo).
///
/// Files are looked for when the pipeline runs. A plain file is cut into ranges that workers read at the same time, and
/// that are split again while they are read; a compressed one is read from its front by one worker. Each record is
/// claimed by the offset of its first byte, so that every record comes out once, whatever is split when.
///
/// A file that is not there, a damaged one and a record that is not UTF-8 fail the run, with the file and the place.
///
/// The order of records is not kept.
///
/// ```
/// use purlin_sdk::Pipeline;
/// use purlin_transforms::io::{TextIo, files::{Compression, EmptyMatch}};
/// let p = Pipeline::new();
/// let lines = p.apply(
///     "Read",
///     TextIo::read("in/*.csv.gz").skip_header_lines(1).compression(Compression::Gzip).empty_match(EmptyMatch::Allow),
/// );
/// assert!(lines.is_bounded());
/// ```
pub struct TextRead<S, F> {
    source: S,
    options: TextOptions,
    format: PhantomData<fn() -> F>,
}

impl<S, F: RecordFormat> TextRead<S, F> {
    pub(super) fn new(source: S, options: TextOptions) -> TextRead<S, F> {
        TextRead { source, options, format: PhantomData }
    }

    /// What ends a record, byte for byte, instead of LF or CR LF. An empty one is a build error.
    #[must_use]
    pub fn delimiter(mut self, delimiter: impl Into<Vec<u8>>) -> Self {
        self.options.delimiter = Some(delimiter.into());
        self
    }

    /// Passes over the first `n` records of each file.
    #[must_use]
    pub fn skip_header_lines(mut self, n: u64) -> Self {
        self.options.header_lines = n;
        self
    }

    /// How the files are compressed; by their names unless it is given.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.options.compression = compression;
        self
    }

    /// What a pattern that names no file means.
    #[must_use]
    pub fn empty_match(mut self, empty: EmptyMatch) -> Self {
        self.options.empty_match = empty;
        self
    }

    /// The longest record in bytes; a longer one fails the run. 0 is a build error.
    #[must_use]
    pub fn max_record(mut self, bytes: usize) -> Self {
        self.options.max_record = bytes;
        self
    }

    /// The least bytes of a range that a file is cut into before it is read:
    /// [`DEFAULT_MIN_SPLIT`](super::DEFAULT_MIN_SPLIT) unless it is given.
    #[must_use]
    pub fn min_split(mut self, bytes: u64) -> Self {
        self.options.min_split = bytes;
        self
    }

    /// Gives each record together with the path of its file.
    #[must_use]
    pub fn with_file_names(self) -> TextRead<S, WithFileName<F>> {
        TextRead::new(self.source, self.options)
    }

    /// `compression` is what is known of that of the files.
    fn read(
        options: TextOptions,
        compression: Compression,
        patterns: &PCollection<String>,
    ) -> PCollection<F::Item> {
        let problems = [options.problem().map(str::to_owned), compression.problem()];
        problems.into_iter().flatten().for_each(|problem| patterns.pipeline().build_error(problem));
        patterns
            .par_do("Match", MatchFiles::new(options.empty_match, options.compression))
            .reshuffle("Spread")
            .par_do_splittable("Read", ReadRecords::<F>::new(options))
    }
}

impl<F: RecordFormat> PTransform<Pipeline> for TextRead<Pattern, F> {
    type Out = PCollection<F::Item>;

    fn expand(self, pipeline: Pipeline) -> PCollection<F::Item> {
        let (pattern, options) = (self.source.0, self.options);
        if pattern.is_empty() && options.empty_match != EmptyMatch::Allow {
            pipeline.build_error("its pattern is empty and names no file; give it a path or a glob");
        }
        // What a pattern ends with, all of its files end with.
        let compression = options.compression.resolve(Path::new(&pattern));
        let patterns = pipeline.create("Pattern", [pattern]);
        Self::read(options, compression, &patterns)
    }
}

impl<F: RecordFormat> PTransform<PCollection<String>> for TextRead<Each, F> {
    type Out = PCollection<F::Item>;

    fn expand(self, patterns: PCollection<String>) -> PCollection<F::Item> {
        let compression = self.options.compression;
        Self::read(self.options, compression, &patterns)
    }
}

impl<S: Clone, F> Clone for TextRead<S, F> {
    fn clone(&self) -> Self {
        TextRead { source: self.source.clone(), options: self.options.clone(), format: PhantomData }
    }
}

impl<S: fmt::Debug, F> fmt::Debug for TextRead<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextRead")
            .field("source", &self.source)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
