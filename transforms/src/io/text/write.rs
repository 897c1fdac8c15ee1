//! Writing text in a pipeline: bundles to parts, parts to shards, shards to their final names.

mod build;
mod collect;
mod names;
mod part;
mod place;
mod plan;
mod publish;
mod temp_path;
mod write_parts;

use std::path::{Path, is_separator};

use purlin_sdk::{Combine, Element, Grouped, PCollection, PTransform};

use build::BuildShards;
use collect::Collect;
use names::Names;
use place::place_of;
use plan::PlanShards;
use publish::Publish;
use write_parts::WriteParts;

use crate::io::files::{Compression, WriteOptions, shard_name};

/// Writes lines to files; made by [`TextIo::write`](super::TextIo::write). Gives the names of the files.
///
/// # Which files
/// There are always exactly as many as [`shards`](Self::shards) says, called `PREFIX-00000-of-00004SUFFIX`; a shard
/// without lines is an empty file, or one with header and footer. So an empty collection writes the whole set too.
/// In other windows than the global one each window with lines has a set of its own, whose names carry the window:
/// `PREFIX-2024-05-01T00-00-00Z-2024-05-01T00-01-00Z-00000-of-00004SUFFIX` (start and end as RFC 3339 writes them, with
/// `-` for `:`), and a further firing of a window has `-pane-1` and so on after the window. An unbounded collection
/// needs windows; the files of a window are there soon after it closed, while the run goes on.
///
/// Which line goes to which shard, and in what order, is not specified; shards are of about the same length. Files of
/// the same names that were there before are replaced; two writes of one pipeline to the same names are a build error.
/// Files of an earlier run with another number of shards have other names and stay: remove them, or a pattern such as
/// `PREFIX*` reads both sets.
///
/// # All or nothing
/// Lines go to hidden temporary files first, one a bundle and window, then those are copied together to shards, and only
/// when all shards of the window are whole and on disk, and nothing but files has their final names, are they renamed,
/// one after the other; should one fail, those before it are undone. So nothing is under the final names that is not
/// whole, a bundle that is run again leaves no line twice, and a run that fails before has touched no final name.
/// Temporary files are removed with the bundle or the run that they belong to. What is left of a run that was killed is
/// found by [`clean_leftovers`](crate::io::files::clean_leftovers). Folders that a run created stay, also when it fails.
///
/// # Checkpoints
/// In a run with checkpoints a shard gets its final name when a checkpoint that has it is on disk, so each window's files
/// are there once and whole, however often the process is killed and goes on from a checkpoint. What the process wrote
/// since that checkpoint stays under hidden names, for [`clean_leftovers`](crate::io::files::clean_leftovers).
/// Temporary files are not synced one by one: should the *machine* go down, a run that goes on may find one cut off, and
/// says so.
///
/// # Memory
/// Buffers only: no lines are gathered in memory, however many they are. (In merging windows, such as sessions, the
/// lines are grouped before they are written, since their windows are not known earlier.)
///
/// # Compression
/// Bundles are compressed on their own, and the shards are gzip members, zstd frames or bzip2 streams one after the
/// other, which is valid by the formats and read by their tools and by [`TextIo::read`](super::TextIo::read).
///
/// ```
/// use purlin_sdk::Pipeline;
/// use purlin_transforms::io::TextIo;
/// let p = Pipeline::new();
/// let names = p
///     .create("Lines", ["to,2".to_owned()])
///     .apply("Write", TextIo::write("out/counts").suffix(".csv").shards(1).header("word,count"));
/// ```
/// Source: Beam's `TextIO.write` and `WriteFiles`
/// (<https://beam.apache.org/releases/javadoc/current/org/apache/beam/sdk/io/WriteFiles.html>).
#[derive(Clone, Debug)]
#[must_use = "a write does nothing until it is applied to a collection"]
pub struct TextWrite {
    prefix: String,
    suffix: String,
    shards: u32,
    options: WriteOptions,
}

/// Shards unless [`TextWrite::shards`] is called: 4.
///
/// A fixed number, so that the names of the files do not depend on the machine.
const DEFAULT_SHARDS: u32 = 4;

impl TextWrite {
    pub(super) fn new(prefix: String) -> TextWrite {
        TextWrite { prefix, suffix: String::new(), shards: DEFAULT_SHARDS, options: WriteOptions::default() }
    }

    /// What the names end with, such as `.txt` or `.txt.gz`; nothing unless it is given. A folder in it is a build error.
    pub fn suffix(mut self, suffix: impl Into<String>) -> TextWrite {
        self.suffix = suffix.into();
        self
    }

    /// How many files there are, for each window; 4 unless it is given. 0 is a build error.
    pub fn shards(mut self, shards: u32) -> TextWrite {
        self.shards = shards;
        self
    }

    /// The first record of each file, also of one without lines.
    pub fn header(mut self, header: impl Into<String>) -> TextWrite {
        self.options.header = Some(header.into().into_bytes());
        self
    }

    /// The last record of each file.
    pub fn footer(mut self, footer: impl Into<String>) -> TextWrite {
        self.options.footer = Some(footer.into().into_bytes());
        self
    }

    /// How the files are compressed; by the suffix unless it is given.
    pub fn compression(mut self, compression: Compression) -> TextWrite {
        self.options.compression = compression;
        self
    }

    /// What is written after each record; `\n` unless it is given.
    pub fn delimiter(mut self, delimiter: impl Into<Vec<u8>>) -> TextWrite {
        self.options.delimiter = delimiter.into();
        self
    }
}

impl PTransform<PCollection<String>> for TextWrite {
    type Out = PCollection<String>;

    fn expand(self, lines: PCollection<String>) -> PCollection<String> {
        let TextWrite { prefix, suffix, shards, mut options } = self;
        if let Some(problem) = problem_of_names(&prefix, &suffix) {
            lines.pipeline().build_error(problem);
        }
        if shards == 0 {
            lines.pipeline().build_error("it writes to no files at all; give `shards` 1 or more");
        }
        let example = shard_name(&prefix, &suffix, 0, shards as usize);
        options.compression = options.compression.resolve(Path::new(&example));
        if let Some(problem) = options.compression.problem() {
            lines.pipeline().build_error(problem);
        }
        let base = format!("{prefix}{suffix}");
        lines.pipeline().claim(format!("files {}", place_of(&example)), |other| {
            format!(
                "it writes files of the same names as {other}, `{example}` and so on, so one would replace the \
                 other's: give one of the two another prefix or suffix, or flatten the collections and write them once"
            )
        });
        let lines = if lines.windowing().needs_merging() { merge_windows(&lines) } else { lines };

        let parts = lines.par_do("WriteParts", WriteParts::new(base.clone(), options.clone()));
        let plans =
            one_per_window("GatherParts", &parts).par_do("Plan", PlanShards::new(shards)).reshuffle("Spread");
        let built = plans.par_do("Build", BuildShards::new(base, options));
        one_per_window("GatherShards", &built)
            .par_do("Publish", Publish::new(Names::new(prefix, suffix, shards)))
    }
}

/// What is wrong with what the names of the files begin and end with.
fn problem_of_names(prefix: &str, suffix: &str) -> Option<String> {
    if prefix.is_empty() {
        return Some(
            "the prefix of its files is empty; say what their names begin with, with the folder, such as `out/counts`"
                .to_owned(),
        );
    }
    if prefix.ends_with(is_separator) {
        return Some(format!(
            "the prefix of its files, `{prefix}`, is a folder, and their names would begin with `-`; say what they \
             begin with too, such as `{prefix}part`"
        ));
    }
    suffix.contains(is_separator).then(|| {
        format!(
            "`{suffix}`, which its files are to end with, has a folder in it; folders belong into the prefix"
        )
    })
}

/// The lines in windows that no longer change.
fn merge_windows(lines: &PCollection<String>) -> PCollection<String> {
    lines
        .key_by("Pair", |_| ())
        .group_by_key("MergeWindows")
        .flat_map("Lines", |((), lines): ((), Grouped<String>)| lines)
}

/// All elements of a window as one; in the global window also when there is none.
fn one_per_window<T: Element>(name: &str, elements: &PCollection<T>) -> PCollection<Vec<T>> {
    let collect = Collect::new();
    if elements.windowing().window_fn.is_global() {
        elements.combine_globally(name, collect)
    } else {
        elements.apply(name, Combine::globally(collect).without_defaults())
    }
}
