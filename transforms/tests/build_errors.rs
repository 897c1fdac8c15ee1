//! What a transform of the library cannot do is found when the pipeline is built, and told with the transform's path and
//! the source line that applied it.

use std::panic::Location;

use purlin_sdk::{Duration, PCollection, PTransform, Pipeline, Timestamp};
use purlin_transforms::{
    GenerateSequence, PeriodicImpulse,
    io::{TextIo, files::EmptyMatch},
};

fn lines(p: &Pipeline) -> PCollection<String> {
    p.create("Lines", ["to be".to_owned()])
}

/// The one error of the pipeline is that of `path`, applied at `line` of this file, and says `what`.
#[track_caller]
fn assert_one(p: &Pipeline, path: &str, line: u32, what: &str) {
    let errors = p.build().expect_err("the pipeline should not build");
    let all: Vec<_> = errors.iter().collect();
    assert_eq!(all.len(), 1, "{errors}");
    let step = all[0].step();
    assert_eq!((step.path(), step.site().file(), step.site().line()), (path, file!(), line));
    assert!(all[0].message().contains(what), "`{what}` is not in: {errors}");
}

#[track_caller]
fn refused<X: PTransform<Pipeline>>(source: X, what: &str) {
    let p = Pipeline::new();
    p.apply("Bad", source);
    assert_one(&p, "Bad", Location::caller().line(), what);
}

#[track_caller]
fn refused_on_lines<X: PTransform<PCollection<String>>>(transform: X, what: &str) {
    let p = Pipeline::new();
    lines(&p).apply("Bad", transform);
    assert_one(&p, "Bad", Location::caller().line(), what);
}

#[test]
fn of_text_that_is_read() {
    refused(TextIo::read("in.txt").delimiter(""), "the delimiter is empty");
    refused(TextIo::read_bytes("in.txt").delimiter(""), "the delimiter is empty");
    refused(TextIo::read("in.txt").max_record(0), "0 bytes");
    refused(TextIo::read(""), "pattern is empty");
    refused_on_lines(TextIo::read_all().delimiter("").with_file_names(), "the delimiter is empty");
    refused_on_lines(TextIo::read_all_bytes().max_record(0), "0 bytes");

    let p = Pipeline::new();
    p.apply("Nothing", TextIo::read("").empty_match(EmptyMatch::Allow));
    p.apply("Least", TextIo::read("in.txt").delimiter(" ").max_record(1));
    p.build().unwrap();
}

#[test]
fn of_text_that_is_written() {
    refused_on_lines(TextIo::write("out").shards(0), "no files at all");
    refused_on_lines(TextIo::write(""), "the prefix of its files is empty");
    refused_on_lines(TextIo::write("out/"), "`out/`, is a folder");
    refused_on_lines(TextIo::write("out").suffix("/a.txt"), "folders belong into the prefix");
    let p = Pipeline::new();
    lines(&p).apply("Least", TextIo::write("out").shards(1));
    p.build().unwrap();
}

#[cfg(not(feature = "gzip"))]
#[test]
fn of_a_format_that_was_left_out() {
    use purlin_transforms::io::files::Compression;
    refused(TextIo::read("in/*.gz"), "the cargo feature `gzip`");
    refused_on_lines(TextIo::read_all().compression(Compression::Gzip), "the cargo feature `gzip`");
    refused_on_lines(TextIo::write("out").suffix(".gz"), "the cargo feature `gzip`");
}

#[test]
fn of_sequences() {
    let second = Duration::from_secs(1);
    refused(GenerateSequence::from(0).rate(0, second), "rate of no numbers");
    refused(GenerateSequence::from(0).to(9).rate(1, Duration::ZERO), "not above zero");
    refused(GenerateSequence::from(0).rate(1, -second), "-1s is not above zero");
    refused(PeriodicImpulse::every(Duration::ZERO), "not above zero");
    refused(PeriodicImpulse::every(-second).until(Timestamp::EPOCH), "-1s is not above zero");
    let p = Pipeline::new();
    p.apply("Fastest", GenerateSequence::from(0).rate(1, Duration::from_millis(1)));
    p.build().unwrap();
}

/// A transform of somebody else's, with one of the library in it.
struct Notes {
    shards: u32,
}

impl PTransform<PCollection<String>> for Notes {
    type Out = PCollection<String>;

    fn expand(self, lines: PCollection<String>) -> PCollection<String> {
        if self.shards == 0 {
            lines.pipeline().build_error("notes need files; give them 1 or more");
        }
        lines.apply("Write", TextIo::write("out").shards(self.shards))
    }
}

#[test]
fn of_a_transform_in_another_both_are_told() {
    let p = Pipeline::new();
    let lines = lines(&p);
    let line = line!() + 1;
    lines.apply("Notes", Notes { shards: 0 });
    let errors = p.build().unwrap_err();
    let [outer, inner] = errors.iter().collect::<Vec<_>>()[..] else { panic!("{errors}") };
    assert_eq!((outer.step().path(), outer.step().site().line()), ("Notes", line));
    assert_eq!(outer.message(), "notes need files; give them 1 or more");
    assert_eq!((inner.step().path(), inner.step().site().file()), ("Notes/Write", file!()));
    assert!(inner.message().contains("no files at all"), "{errors}");
}

#[test]
fn of_no_transform_at_all() {
    let p = Pipeline::new();
    lines(&p);
    let line = line!() + 1;
    p.build_error("--shards and --one-file exclude each other; give one of the two");
    assert_one(&p, "the pipeline", line, "exclude each other");
}
