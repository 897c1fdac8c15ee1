//! The way in.

use super::{
    TextOptions,
    read::{Bytes, Each, Lines, Pattern, TextRead},
    write::TextWrite,
};

/// Text files as sources and sinks.
///
/// ```
/// use purlin_sdk::Pipeline;
/// use purlin_transforms::io::TextIo;
/// let p = Pipeline::new();
/// p.apply("Read", TextIo::read("logs/*.csv").skip_header_lines(1))
///     .filter("Errors", |line: &String| line.contains("ERROR"))
///     .apply("Write", TextIo::write("out/errors").suffix(".txt.gz").shards(2));
/// p.build().unwrap();
/// ```
/// Source: Beam's [`TextIO`](https://beam.apache.org/releases/javadoc/current/org/apache/beam/sdk/io/TextIO.html).
#[derive(Clone, Copy, Debug)]
pub struct TextIo;

impl TextIo {
    /// Reads the lines of the files that `pattern` names, as [`expand`](crate::io::files::expand) finds them when the
    /// pipeline runs. Applied to the pipeline. See [`TextRead`].
    pub fn read(pattern: impl Into<String>) -> TextRead<Pattern, Lines> {
        TextRead::new(Pattern::new(pattern.into()), TextOptions::default())
    }

    /// Like [`read`](Self::read), but records are bytes and need not be UTF-8.
    pub fn read_bytes(pattern: impl Into<String>) -> TextRead<Pattern, Bytes> {
        TextRead::new(Pattern::new(pattern.into()), TextOptions::default())
    }

    /// Reads the lines of the files that the elements of a collection name. A line has the timestamp and the windows of
    /// the element that named its file.
    ///
    /// A pattern with a wildcard may match nothing, unless [`empty_match`](TextRead::empty_match) says otherwise.
    ///
    /// ```
    /// use purlin_sdk::Pipeline;
    /// use purlin_transforms::io::TextIo;
    /// let p = Pipeline::new();
    /// p.create("Files", ["a.txt".to_owned(), "b/*".to_owned()])
    ///     .apply("Read", TextIo::read_all().with_file_names());
    /// p.build().unwrap();
    /// ```
    pub fn read_all() -> TextRead<Each, Lines> {
        TextRead::new(Each::new(), TextOptions::read_all())
    }

    /// Like [`read_all`](Self::read_all), but records are bytes and need not be UTF-8.
    pub fn read_all_bytes() -> TextRead<Each, Bytes> {
        TextRead::new(Each::new(), TextOptions::read_all())
    }

    /// Writes each element as a line to files `PREFIX-00000-of-00004`. Applied to a collection of lines. See
    /// [`TextWrite`]. A prefix that is empty or ends in `/` is a build error.
    pub fn write(prefix: impl Into<String>) -> TextWrite {
        TextWrite::new(prefix.into())
    }
}
