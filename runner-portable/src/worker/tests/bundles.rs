//! Bundles that succeed.

use purlin_sdk::{Combine, CombineFn, Pipeline, Tag, coder::CoderSpec, graph::Graph};

use super::{
    Description, Engine,
    describe::{kv, prefixed, read, written},
};
use crate::urns::{self, transform};

fn doubled() -> Graph {
    let p = Pipeline::new();
    let double = |n| {
        assert!(
            tokio::runtime::Handle::try_current().is_err(),
            "user code runs in a runtime that it has nowhere else"
        );
        2 * n
    };
    p.create("Numbers", [1_i64]).map("Double", double).map("Text", |n| n.to_string());
    p.build().unwrap()
}

/// Numbers through `Double` and `Text`.
async fn doubling() -> Engine {
    let engine = Engine::start(doubled()).await;
    let stage = Description::new("double", &engine)
        .collection("numbers", &prefixed(CoderSpec::VarInt))
        .collection("doubled", &CoderSpec::VarInt)
        .collection("texts", &CoderSpec::StringUtf8)
        .source("src", "numbers")
        .par_do("Double", "numbers", &[("0", "doubled")])
        .par_do("Text", "doubled", &[("0", "texts")])
        .sink("snk", "texts")
        .done();
    engine.describe(stage);
    engine
}

/// A number behind a length prefix.
fn numbers(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|v| [&written(&[(0_i64, 7)])[..13], &[1, *v as u8]].concat()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_go_through_kernels_as_the_descriptors_coders_say() {
    let engine = doubling().await;
    engine.process("i1", "double");
    engine.data("i1", "src", &numbers(&[1, 2]), false).await;
    engine.data("i1", "src", &numbers(&[3]), true).await;
    assert_eq!(read::<String>(&engine.output("i1", "snk").await), [2, 4, 6].map(|n| (n.to_string(), 7)));
    engine.processed("i1").await;
    // The second one finds kernels, descriptor and streams there; its data came first.
    engine.data("i2", "src", &numbers(&[4]), true).await;
    engine.process("i2", "double");
    assert_eq!(read::<String>(&engine.output("i2", "snk").await), [("8".to_owned(), 7)]);
    engine.processed("i2").await;
    assert_eq!((engine.asked("double"), engine.streams()), (1, 1));
    engine.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_may_wait_for_another() {
    let engine = doubling().await;
    // More than tokio has threads for what blocks.
    for i in 0..600 {
        engine.process(&format!("i{i}"), "double");
    }
    // The last is done while all others wait.
    for i in (0..600).rev() {
        let id = format!("i{i}");
        engine.data(&id, "src", &numbers(&[i % 100]), true).await;
        assert_eq!(read::<String>(&engine.output(&id, "snk").await), [((2 * (i % 100)).to_string(), 7)]);
        engine.processed(&id).await;
    }
    engine.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn large_output_is_cut_at_the_borders_of_elements() {
    let p = Pipeline::new();
    p.create("Numbers", [1_i64]).map("Long", |n| "x".repeat(n as usize));
    let engine = Engine::start(p.build().unwrap()).await;
    let stage = Description::new("long", &engine)
        .collection("numbers", &CoderSpec::VarInt)
        .collection("texts", &CoderSpec::StringUtf8)
        .source("src", "numbers")
        .par_do("Long", "numbers", &[("0", "texts")])
        .sink("snk", "texts")
        .done();
    engine.describe(stage);
    engine.process("i1", "long");
    engine.data("i1", "src", &written(&[(1_500_000_i64, 0), (5_000_000, 0), (3, 0)]), false).await;
    // One that is larger than gRPC's usual limit goes out, and before the bundle's end.
    assert!(engine.some_output("i1", "snk").await >= 1_500_000);
    engine.data("i1", "src", &[], true).await;
    let lengths: Vec<usize> =
        read::<String>(&engine.output("i1", "snk").await).into_iter().map(|(text, _)| text.len()).collect();
    assert_eq!(lengths, [1_500_000, 5_000_000, 3]);
    engine.end().await.unwrap();
}

const ODD: Tag<String> = Tag::new("odd");

#[tokio::test(flavor = "multi_thread")]
async fn several_outputs_several_readers_and_a_flatten() {
    use purlin_sdk::{DoFn, Emitter, ParDo, ProcessContext, Result};
    #[derive(Clone)]
    struct Sort;
    impl DoFn for Sort {
        type Input = i64;
        type Output = i64;
        fn process(&mut self, n: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
            if n % 2 == 0 {
                out.emit(n);
            } else {
                out.emit_to(ODD, n.to_string());
            }
            Ok(())
        }
    }
    let p = Pipeline::new();
    let sorted = p.create("Numbers", [1_i64]).par_do_with("Sort", ParDo::of(Sort).tag(ODD));
    let even = sorted.main();
    let next = even.map("Next", |n| n + 1);
    next.flatten_with("All", [even]).map("Keep", |n| n);
    let engine = Engine::start(p.build().unwrap()).await;
    let stage = Description::new("sort", &engine)
        .collection("numbers", &CoderSpec::VarInt)
        .collection("even", &CoderSpec::VarInt)
        .collection("odd", &CoderSpec::StringUtf8)
        .collection("next", &CoderSpec::VarInt)
        .collection("all", &CoderSpec::VarInt)
        .source("src", "numbers")
        .par_do("Sort", "numbers", &[("0", "even"), ("1", "odd")])
        .par_do("Next", "even", &[("0", "next")])
        // It reads one of them twice, so it has it twice.
        .flatten("All", &[("a", "next"), ("b", "even"), ("c", "even")], "all")
        .sink("odd sink", "odd")
        .sink("all sink", "all")
        .sink("even sink", "even")
        .done();
    engine.describe(stage);
    engine.process("i1", "sort");
    engine.data("i1", "src", &written(&[(1_i64, 0), (2, 0), (3, 0), (4, 0)]), true).await;
    let all = read::<i64>(&engine.output("i1", "all sink").await);
    let mut all: Vec<i64> = all.into_iter().map(|(n, _)| n).collect();
    all.sort_unstable();
    assert_eq!(all, [2, 2, 3, 4, 4, 5]);
    let odd = read::<String>(&engine.output("i1", "odd sink").await);
    assert_eq!(odd, [("1".to_owned(), 0), ("3".to_owned(), 0)]);
    assert_eq!(read::<i64>(&engine.output("i1", "even sink").await), [(2, 0), (4, 0)]);
    engine.processed("i1").await;
    engine.end().await.unwrap();
}

#[derive(Clone)]
struct Mean;

impl CombineFn for Mean {
    type Input = i64;
    type Accumulator = (i64, i64);
    type Output = i64;
    fn create(&self) -> (i64, i64) {
        (0, 0)
    }
    fn add_input(&self, acc: &mut (i64, i64), n: i64) {
        *acc = (acc.0 + n, acc.1 + 1);
    }
    fn merge(&self, acc: &mut (i64, i64), other: (i64, i64)) {
        *acc = (acc.0 + other.0, acc.1 + other.1);
    }
    fn extract(&self, acc: (i64, i64)) -> i64 {
        acc.0 / acc.1
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_combine_runs_in_its_parts() {
    let p = Pipeline::new();
    p.create("Numbers", [("a".to_owned(), 1_i64)]).apply("Mean", Combine::per_key(Mean));
    let graph = p.build().unwrap();
    let path = graph.nodes.iter().find(|n| n.op.urn().contains("group")).unwrap().step.path().to_owned();
    let engine = Engine::start(graph).await;
    let key = || prefixed(CoderSpec::StringUtf8);
    let acc = || kv(CoderSpec::VarInt, CoderSpec::VarInt);
    let list = |of| CoderSpec::Iterable(Box::new(of));
    let plain = || kv(key(), CoderSpec::VarInt);
    let stage = |name: &str, urn: &str, takes: CoderSpec, gives: CoderSpec| {
        Description::new(name, &engine)
            .collection("takes", &takes)
            .collection("gives", &gives)
            .source("src", "takes")
            .part("part", urn, &path, "takes", &[("anything", "gives")])
            .sink("snk", "gives")
            .done()
    };
    engine.describe(stage("pre", transform::COMBINE_PRECOMBINE, plain(), kv(key(), acc())));
    engine.describe(stage("convert", transform::COMBINE_CONVERT, plain(), kv(key(), acc())));
    engine.describe(stage("merge", transform::COMBINE_MERGE, kv(key(), list(acc())), kv(key(), acc())));
    engine.describe(stage("extract", transform::COMBINE_EXTRACT, kv(key(), acc()), plain()));
    engine.describe(stage(
        "grouped",
        transform::COMBINE_GROUPED,
        kv(key(), list(CoderSpec::VarInt)),
        plain(),
    ));
    type Acc = (i64, i64);
    let a = || "a".to_owned();
    let run = async |id: &str, bytes: Vec<u8>| {
        engine.process(id, id);
        engine.data(id, "src", &bytes, true).await;
        let out = engine.output(id, "snk").await;
        engine.processed(id).await;
        out
    };
    let values = written(&[((a(), 3_i64), 0), ((a(), 5), 0)]);
    assert_eq!(read::<(String, Acc)>(&run("pre", values.clone()).await), [((a(), (8, 2)), 0)]);
    assert_eq!(
        read::<(String, Acc)>(&run("convert", values).await),
        [((a(), (3, 1)), 0), ((a(), (5, 1)), 0)]
    );
    let lists = written(&[((a(), vec![(8_i64, 2_i64), (1, 1)]), 0)]);
    assert_eq!(read::<(String, Acc)>(&run("merge", lists).await), [((a(), (9, 3)), 0)]);
    assert_eq!(
        read::<(String, i64)>(&run("extract", written(&[((a(), (9_i64, 3_i64)), 0)])).await),
        [((a(), 3), 0)]
    );
    assert_eq!(
        read::<(String, i64)>(&run("grouped", written(&[((a(), vec![2_i64, 6]), 0)])).await),
        [((a(), 4), 0)]
    );
    // What stands for it where the engine knows no combines.
    let fallback = Description::new("fallback", &engine)
        .collection("takes", &kv(key(), list(CoderSpec::VarInt)))
        .collection("gives", &plain())
        .source("src", "takes")
        .function("part", (transform::PARDO, urns::COMBINE_GROUPED), (&path, "f"), "takes", &[("0", "gives")])
        .sink("snk", "gives")
        .done();
    engine.describe(fallback);
    let out = run("fallback", written(&[((a(), vec![1_i64, 3]), 0)])).await;
    assert_eq!(read::<(String, i64)>(&out), [((a(), 2), 0)]);
    engine.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_goes_through_is_known_by_its_name() {
    let engine = Engine::start(doubled()).await;
    let stage = Description::new("through", &engine)
        .collection("Double.0", &prefixed(CoderSpec::VarInt))
        .collection("all", &CoderSpec::VarInt)
        .source("src", "Double.0")
        .flatten("All", &[("a", "Double.0")], "all")
        .sink("snk", "all")
        .done();
    engine.describe(stage);
    engine.process("i1", "through");
    engine.data("i1", "src", &numbers(&[1, 2]), true).await;
    assert_eq!(read::<i64>(&engine.output("i1", "snk").await), [(1, 7), (2, 7)]);
    engine.processed("i1").await;
    engine.end().await.unwrap();
}
