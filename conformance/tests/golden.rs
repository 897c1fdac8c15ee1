//! Recorded cases on both runners, and what the format says beyond them.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use purlin_conformance::golden::{Choice, Datum, Document, Outcome, Totals, run_all, run_case, setups};

fn run(dir: &Path) -> (Totals, Vec<String>) {
    let mut told = Vec::new();
    let note = |title: &str, outcome: &Outcome| {
        if *outcome != Outcome::Passed {
            told.push(format!("{title}: {outcome:?}"));
        }
    };
    let totals = run_all(&[dir.to_owned()], None, Choice::All, note).unwrap();
    (totals, told)
}

/// 100 runs of Beam that were taken down.
#[test]
fn scenarios_of_beam() {
    let (totals, told) = run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/beam"));
    assert_eq!((totals.passed, told), (100, vec![]));
}

/// Runs of Spark that were taken down. Those that differ are in the documentation, each by its name, and no others are.
#[test]
fn scenarios_of_spark() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(here.join("../docs/spark-differences.md")).unwrap();
    let mut listed: Vec<_> =
        text.lines().filter_map(|line| line.strip_prefix("- `")?.strip_suffix('`')).collect();
    let (mut differ, mut failed) = (Vec::new(), Vec::new());
    let note = |title: &str, outcome: &Outcome| match outcome {
        Outcome::Differs(_) => differ.push(title.trim_end_matches(".json").to_owned()),
        Outcome::Failed(why) => failed.push(format!("{title}: {why}")),
        _ => {}
    };
    let totals = run_all(&[here.join("golden/spark")], None, Choice::All, note).unwrap();
    listed.sort_unstable();
    differ.sort_unstable();
    assert_eq!((failed, differ.iter().map(String::as_str).collect()), (Vec::<String>::new(), listed));
    assert_eq!((totals.all(), totals.skipped), (493, 4));
}

/// Beam's own data files, which the project does not carry: from where `BEAM_DATA` says, or from a folder beside the
/// project.
#[test]
fn beams_own_files() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden/beam-data");
    let dir = env::var_os("BEAM_DATA").map_or(beside, PathBuf::from);
    if !dir.is_dir() {
        // Past the capturing of tests that pass: that it was not run is to be seen.
        let _ = writeln!(io::stderr(), "Beam's own files were not run: there is no {}", dir.display());
        return;
    }
    let (totals, told) = run(&dir);
    assert!(totals.passed > 0 && told.is_empty(), "{totals}: {told:#?}");
}

fn outcome(json: &str) -> Outcome {
    let document = Document::from_json("case", json);
    run_case(&document, &setups(Choice::All))
}

#[track_caller]
fn passes(json: &str) {
    assert_eq!(outcome(json), Outcome::Passed, "{json}");
}

#[track_caller]
fn fails(json: &str, why: &[&str]) {
    let Outcome::Failed(said) = outcome(json) else { panic!("it did not fail: {json}") };
    for why in why {
        assert!(said.contains(why), "`{why}` is not said in: {said}");
    }
}

/// A batch case with the elements a=1@1, a=2@4, b=3@6, a=4@12.
fn batch(text: &str, expected: &str) -> String {
    let inputs = r#"[{"key":"a","value":1,"ts":1},{"key":"a","value":2,"ts":4},{"key":"b","value":3,"ts":6},{"key":"a","value":4,"ts":12}]"#;
    format!(r#"{{"pipeline":{{"text":"{text}"}},"inputs":{inputs},"expected_multiset":[{expected}]}}"#)
}

/// Outputs of one key and value each, without anything else.
fn outputs(all: &[(&str, &str)]) -> String {
    let one = |(key, value): &(&str, &str)| format!(r#"{{"output":"out","key":{key},"value":{value}}}"#);
    all.iter().map(one).collect::<Vec<_>>().join(",")
}

#[test]
fn steps_of_batches() {
    for (text, expected) in [
        ("fixed(10) | mean_per_key", vec![(r#""a""#, "1.5"), (r#""a""#, "4.0"), (r#""b""#, "3.0")]),
        ("latest_per_key", vec![(r#""a""#, "4"), (r#""b""#, "3")]),
        ("top_per_key(2)", vec![(r#""a""#, "[4, 2]"), (r#""b""#, "[3]")]),
        ("sum_per_key(hot_key_fanout=4)", vec![(r#""a""#, "7"), (r#""b""#, "3")]),
        ("sum_per_key | kv_swap | gbk", vec![("7", r#"["a"]"#), ("3", r#"["b"]"#)]),
        ("values | sum_globally", vec![("null", "10")]),
        (
            "sliding(10, 5) | record",
            [r#""a""#; 6]
                .into_iter()
                .zip(["1", "1", "2", "2", "4", "4"])
                .chain([(r#""b""#, "3"); 2])
                .collect(),
        ),
        (
            "fixed(10, latest) | reshuffle | distinct",
            vec![(r#""a""#, "1"), (r#""a""#, "2"), (r#""a""#, "4"), (r#""b""#, "3")],
        ),
    ] {
        passes(&batch(text, &outputs(&expected)));
    }
    // Descending is not ascending.
    fails(
        &batch("top_per_key(2)", &outputs(&[(r#""a""#, "[2, 4]"), (r#""b""#, "[3]")])),
        &["[2, 4]", "[4, 2]"],
    );
    fails(&batch("gbk", ""), &["expected []", "value: [1, 2, 4]"]);
    fails(&batch("frobnicate", ""), &["`frobnicate` is no step of pairs that is known"]);
}

#[test]
fn several_inputs() {
    let case = |text: &str, expected: &str| {
        format!(
            r#"{{"pipeline":{{"text":"{text}"}},"inputs":{{"main":[{{"key":"m","value":1,"ts":1}}],"side":[{{"key":"x","value":7,"ts":2}}]}},"expected_multiset":[{expected}]}}"#
        )
    };
    let joined = |side: &str| {
        format!(
            r#"{{"output":"joined","key":"m","value":{{"main":1,"side":{side}}},"window":[0,10],"timestamp":1}}"#
        )
    };
    passes(&case("main fixed(10); side fixed(10) as dict", &joined(r#"{"x":7}"#)));
    passes(&case("main fixed(10); side global as singleton(default 0)", &joined("7")));
    passes(
        &case("main fixed(10); side sliding(2,5) as iter", &joined("[]")).replace("sliding(2,5)", "fixed(1)"),
    );
    let flat = r#"{"output":"out","key":"m","value":[1]},{"output":"out","key":"x","value":[7],"timestamp":"window_max"}"#;
    passes(&case("each fixed(10) | flatten | gbk", flat));
    passes(&case(
        "each sessions(5) | cogbk",
        r#"{"output":"out","key":"m","value":{"side":[],"main":[1]}},{"output":"out","key":"x","value":{"main":[],"side":[7]}}"#,
    ));
}

#[test]
fn splittable_dofns_and_state() {
    let sdf = |text: &str, draining: bool, expected: &str| {
        format!(
            r#"{{"pipeline":{{"text":"{text}","draining":{draining}}},"inputs":[{{"key":"p","value":4,"ts":8}}],"expected_multiset":[{expected}]}}"#
        )
    };
    passes(&sdf("sdf: DrainUnbounded (drain)", true, ""));
    let restrictions = r#"{"output":"restriction","key":"p","value":[0,3]},{"output":"restriction","key":"p","value":[3,4]}"#;
    let groups = r#"{"output":"out","key":"p","value":[0,1],"window":[0,10],"timestamp":8},{"output":"out","key":"p","value":[2,3],"window":[10,20],"timestamp":10}"#;
    passes(&sdf(
        "sdf: offsets, split every 3 | fixed(10, earliest) | gbk",
        false,
        &format!("{restrictions},{groups}"),
    ));
    let sums = r#"{"output":"element","key":"a","value":1},{"output":"element","key":"a","value":3},{"output":"element","key":"b","value":3,"timestamp":6},{"output":"element","key":"a","value":4,"window":[10,20]}"#;
    passes(&batch("fixed(10) | stateful: RunningSum", sums));
    passes(&batch(
        "kv_swap | kv_swap | stateful: SetDedup",
        &[1, 2, 4]
            .map(|n| format!(r#"{{"output":"first","key":"a","value":{n}}}"#))
            .join(",")
            .replace("4}", r#"4},{"output":"first","key":"b","value":3}"#),
    ));
    fails(&batch("stateful: Unheard", ""), &["`Unheard` is no program"]);
}

/// A stream case over `[0, 10)` in which 1@1 comes, the watermark passes the window, and 2@2 comes late.
fn stream(trigger: &str, expected: &str) -> String {
    let windowing = format!(
        r#"{{"window_fn":{{"type":"fixed","size_s":10}},"trigger":{trigger},"accumulation":"accumulating","allowed_lateness_s":100,"timestamp_combiner":"end_of_window"}}"#
    );
    let events = r#"[{"elements":[{"key":"k","value":1,"ts":1}]},{"watermark":12},{"elements":[{"key":"k","value":2,"ts":2}]},{"watermark":"infinity"}]"#;
    format!(
        r#"{{"pipeline":{{"transform":"combine_per_key_sum","windowing":{windowing}}},"events":{events},"expected":[{expected}]}}"#
    )
}

#[test]
fn streams_compare_after_each_event() {
    let after = |event: usize, value: i64, timing: &str| {
        format!(
            r#"{{"after_event":{event},"outputs":[{{"output":"out","key":"k","value":{value},"pane":{{"timing":"{timing}"}}}}]}}"#
        )
    };
    let right = [after(1, 1, "ON_TIME"), after(2, 3, "LATE")].join(",");
    passes(&stream(r#"{"type":"default"}"#, &right));
    let awm = r#"{"type":"after_watermark","early":{"type":"never"},"late":{"type":"always"}}"#;
    passes(&stream(awm, &right));
    // Not at another event, and not with another timing; what is not expected is a failure too.
    fails(&stream(awm, &[after(0, 1, "ON_TIME"), after(2, 3, "LATE")].join(",")), &["after event 0"]);
    fails(&stream(awm, &[after(1, 1, "EARLY"), after(2, 3, "LATE")].join(",")), &["after event 1"]);
    fails(&stream(awm, &after(1, 1, "ON_TIME")), &["after event 2: expected []", "value: 3"]);
    fails(&stream(awm, &after(9, 1, "ON_TIME")), &["there is no event 9"]);
    fails(&stream(r#"{"type":"after_lunch"}"#, ""), &["`after_lunch` is no trigger"]);
}

/// A stream case in which a main element waits for a side window, which is ready once its watermark has passed.
fn stream_with_side(shape: &str, seen: &str) -> String {
    let windowing = r#"{"window_fn":{"type":"fixed","size_s":10},"trigger":{"type":"default"},"accumulation":"discarding","allowed_lateness_s":0,"timestamp_combiner":"end_of_window"}"#;
    let events = r#"[{"tag":"main","elements":[{"key":"m","value":1,"ts":1}]},{"tag":"side","elements":[{"key":"x","value":7,"ts":2},{"key":"y","value":8,"ts":3}]},{"tag":"side","watermark":12},{"tag":"main","watermark":"infinity"},{"tag":"side","watermark":"infinity"}]"#;
    format!(
        r#"{{"pipeline":{{"kind":"side_{shape}","tags":["main","side"],"main":{windowing},"side":{windowing}}},"events":{events},"expected":[{{"after_event":2,"outputs":[{{"output":"joined","key":"m","value":{{"main":1,"side":{seen}}}}}]}}]}}"#
    )
}

#[test]
fn side_inputs_of_streams() {
    passes(&stream_with_side("iter", "[7,8]"));
    passes(&stream_with_side("list", "[7,8]"));
    passes(&stream_with_side("dict", r#"{"x":7,"y":8}"#));
    passes(&stream_with_side("multimap", r#"{"x":[7],"y":[8]}"#));
    let twice = stream_with_side("multimap", r#"{"x":[7,8]}"#).replace(r#""key":"y""#, r#""key":"x""#);
    passes(&twice);
    fails(&stream_with_side("dict", r#"{"x":7}"#), &["after event 2"]);
    fails(&stream_with_side("multimap", r#"{"x":7,"y":8}"#), &["after event 2"]);
    fails(&stream_with_side("bag", "[]"), &["`bag` is no side input"]);
}

#[test]
fn shapes_that_are_not_known() {
    fails(r#"{"a": 1, "b": 2}"#, &["its shape is unknown", "\"a\", \"b\""]);
    fails("[1]", &["its shape is unknown"]);
    fails("{", &["it cannot be read"]);
    fails(r#"{"spark_version": "4.3.0", "kind": "poems"}"#, &["`poems` is no kind of Spark case"]);
    let facts = outcome(r#"{"spark_version": "4.3.0", "kind": "facts", "cases": []}"#);
    assert!(matches!(facts, Outcome::Skipped(why) if why.contains("not compared")));
}

/// A count of words: what comes out of the first batch, its rows and its watermark.
fn words(output: &str, rows: u64, watermark: &str, more: &str) -> String {
    format!(
        r#"{{"spark_version":"4.3.0","kind":"batches","mode":"update","max_files_per_trigger":1,
        "plan":[{{"id":"e","op":"source","columns":[["ts","timestamp"],["word","string"]]}},
            {{"id":"w","op":"with_watermark","in":"e","column":"ts","delay":"1 minute"}},{more}
            {{"id":"a","op":"aggregate","in":"w","keys":[{{"column":"word"}}],"aggs":[{{"fn":"count","as":"n"}}]}}],
        "program":[{{"do":"start","trigger":null}},
            {{"do":"add","input":{{"e":[["1970-01-01T00:00:01Z","a"],["1970-01-01T00:00:02Z","a"]]}}}},
            {{"do":"drain"}},{{"do":"stop"}}],
        "batches":[{{"batch_id":0,"run":0,"num_input_rows":{rows},"watermark_before":{watermark},
            "event_time":{{"min":"1970-01-01T00:00:01Z","max":"1970-01-01T00:00:02Z","avg":"1970-01-01T00:00:01.500Z"}},
            "output":[{output}]}}]}}"#
    )
}

#[test]
fn queries_that_come_out_otherwise_fail() {
    let (two, epoch) = (r#"{"word":"a","n":2}"#, r#""1970-01-01T00:00:00Z""#);
    passes(&words(two, 2, epoch, ""));
    fails(&words(r#"{"word":"a","n":3}"#, 2, epoch, ""), &["expected {\"a\" 3}, got {\"a\" 2}"]);
    fails(&words(&format!("{two},{two}"), 2, epoch, ""), &["got {\"a\" 2}"]);
    fails(&words(two, 3, epoch, ""), &["2 rows came in, and should be 3"]);
    fails(&words(two, 2, "null", ""), &["the watermark is"]);
    fails(&words(two, 2, epoch, r#"{"id":"x","op":"pivot","in":"w"},"#), &["`pivot` is no node"]);
    let legal = |ok: bool| {
        let cases = format!(
            r#""kind":"legality","cases":[{{"mode":"append","ok":false,"error":null}},
                {{"mode":"update","ok":{ok},"error":null,"outputs":[[{two}]]}}]"#
        );
        words(two, 2, epoch, "").replace(r#""batches":["#, r#""x":["#).replace(r#""kind":"batches""#, &cases)
    };
    passes(&legal(true));
    fails(&legal(false), &["in update mode it should fail"]);
}

#[test]
fn arguments_that_are_judged_otherwise_fail() {
    let delay = |delay: &str, ok: bool, after: &str| {
        format!(
            r#"{{"spark_version":"4.3.0","kind":"delay_parsing","cases":[{{"delay":"{delay}","ok":{ok},"watermark_after_max_1970-01-02T00:00:00Z":"{after}"}}]}}"#
        )
    };
    passes(&delay("1 hour", true, "1970-01-01T23:00:00Z"));
    fails(&delay("1 hour", true, "1970-01-01T22:00:00Z"), &["should be 1970-01-01T22:00:00Z"]);
    fails(&delay("1 hour", false, ""), &["should be refused"]);
    fails(&delay("1 parsec", true, ""), &["`1 parsec`"]);
    let trigger = |args: &str, ok: bool| {
        format!(
            r#"{{"spark_version":"4.3.0","kind":"trigger_validation","cases":[{{"args":{args},"ok":{ok}}}]}}"#
        )
    };
    passes(&trigger(r#"{"outputMode":"Append"}"#, true));
    fails(&trigger(r#"{"outputMode":"Append"}"#, false), &["should be refused"]);
    fails(&trigger(r#"{"processingTime":"5"}"#, true), &["should do"]);
    fails(&trigger(r#"{"once":true,"availableNow":true}"#, true), &["exactly one trigger"]);
}

fn transcript(yaml: &str) -> Outcome {
    let documents = Document::from_yaml("case", yaml);
    assert_eq!(documents.len(), 1);
    run_case(&documents[0], &setups(Choice::All))
}

/// Every window function and trigger by its name, with arguments by place and by name.
#[test]
fn expressions_of_transcripts() {
    let case = |window: &str, trigger: &str, expect: &str| {
        format!(
            "window_fn: {window}\ntrigger_fn: {trigger}\naccumulation_mode: DISCARDING\nallowed_lateness: 100\ntranscript:\n- input: [1, 2]\n{expect}\n"
        )
    };
    let early = "- expect:\n  - {window: [0, 9], values:[2, 1], early: true}";
    let repeated = "Repeatedly(AfterCount(1))";
    for window in ["FixedWindows(10)", "FixedWindows(size=10, offset=0)", "SlidingWindows(10, period=10)"] {
        assert_eq!(transcript(&case(window, repeated, early)), Outcome::Passed, "{window}");
    }
    for trigger in [
        "AfterCount(2)",
        "AfterWatermark(early=AfterCount(2), late=Always)",
        "AfterAny(AfterCount(2), AfterWatermark)",
        "AfterAny(AfterWatermark(), Repeatedly(AfterCount(1)))",
        "AfterAll(AfterCount(2), AfterCount(1))",
        "AfterEach(AfterCount(2), AfterCount(7))",
        "OrFinally(Repeatedly(AfterCount(1)), AfterWatermark)",
        "Always()",
        "AfterWatermark(early=Repeatedly(underlying=AfterCount(count=2)), late=None)",
    ] {
        assert_eq!(transcript(&case("FixedWindows(10)", trigger, early)), Outcome::Passed, "{trigger}");
    }
    for trigger in ["_Never", "Default", "DefaultTrigger()", "AfterCount(3)", "AfterProcessingTime(5)"] {
        assert_eq!(transcript(&case("FixedWindows(10)", trigger, "")), Outcome::Passed, "{trigger}");
    }
    let by_time = "- clock: 6\n- expect:\n  - {window: [0, 9], values: [1, 2]}";
    assert_eq!(transcript(&case("FixedWindows(10)", "AfterProcessingTime(5)", by_time)), Outcome::Passed);
    let sessions =
        "- watermark: 50\n- expect:\n  - {window: [1, 11], values: [1, 2], timestamp: 11, final: false}";
    assert_eq!(transcript(&case("Sessions(10)", "Default", sessions)), Outcome::Passed);
    for (window, trigger, why) in [
        ("FixedWindows(10, 0, 1)", "Default", "FixedWindows takes no"),
        ("FixedWindows()", "Default", "FixedWindows needs `size`"),
        ("Weekdays", "Default", "`Weekdays` is no window function"),
        ("FixedWindows(10)", "AfterLunch(1)", "`AfterLunch` is no trigger"),
        ("FixedWindows(10)", "AfterCount(1", "should go on with"),
        ("FixedWindows(10)", "AfterCount(1) x", "`x` is left over"),
    ] {
        let Outcome::Failed(said) = transcript(&case(window, trigger, "")) else {
            panic!("{window} {trigger}")
        };
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn transcripts_that_are_wrong_fail() {
    let case =
        |lines: &str| format!("window_fn: FixedWindows(10)\ntranscript:\n- input: [1, 2, 3]\n{lines}\n");
    for (lines, why) in [
        ("- watermark: 100", "Unexpected output: {window: [0, 9], values: [1, 2, 3]"),
        ("- expect:\n  - {window: [0, 9]}", "Unmatched output: {window: [0, 9]}"),
        ("- watermark: 100\n- expect:\n  - {window: [0, 9], values: [1]}", "Unmatched output"),
        ("- watermark: 100\n- expect:\n  - {window: [0, 9], colour: red}", "Unmatched output"),
        ("- dance: 1", "`dance` is no action"),
    ] {
        let Outcome::Failed(said) = transcript(&case(lines)) else { panic!("{lines} did not fail") };
        assert!(said.contains(why), "{said}");
    }
    // And a transcript that says it is wrong must be.
    let right = "- watermark: 100\n- expect:\n  - {values: [1, 2, 3]}";
    assert_eq!(transcript(&case(right)), Outcome::Passed);
    let Outcome::Failed(said) = transcript(&format!("error: Unmatched\n{}", case(right))) else { panic!() };
    assert!(said.contains("expected an error like `Unmatched`, got none"), "{said}");
}

#[test]
fn encodings_that_are_wrong_fail() {
    let case = |coder: &str, example: &str| format!("coder: {coder}\nexamples:\n  {example}\n");
    let varint = "{urn: \"beam:coder:varint:v1\"}";
    assert_eq!(transcript(&case(varint, r#""\u00c8\u0001": 200"#)), Outcome::Passed);
    for (coder, example, why) in [
        (varint, r#""\u0001": 2"#, "2 Outer encodes otherwise: expected \\x01, got \\x02"),
        (varint, r#""\u00c8": 200"#, "200 Outer encodes otherwise"),
        (
            "{urn: \"beam:coder:varint:v1\", non_deterministic: true}",
            r#""\u0001": 2"#,
            "decodes otherwise: expected 2, got 1",
        ),
        ("{urn: \"beam:coder:kv:v1\"}", r#""a": 2"#, "has too few components"),
        (
            "{urn: \"beam:coder:unheard:v1\"}",
            r#""a": 2"#,
            "`beam:coder:unheard:v1` is no coder that is known",
        ),
        ("{urn: \"beam:coder:bytes:v1\"}", r#""光": "光""#, "is no byte"),
    ] {
        let Outcome::Failed(said) = transcript(&case(coder, example)) else { panic!("{coder} {example}") };
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_directory_without_cases_is_an_error() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let none = run_all(&[dir.join("nowhere")], None, Choice::Direct, |_, _| {}).unwrap_err().to_string();
    assert!(none.contains("nowhere"), "{none}");
    let empty = run_all(&[dir.join("src/bin")], None, Choice::Direct, |_, _| {}).unwrap_err();
    assert!(empty.to_string().contains("there is no case in it"), "{empty}");
    assert_eq!(Datum::text("a").to_string(), "\"a\"");
}
