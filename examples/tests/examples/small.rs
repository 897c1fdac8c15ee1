//! The small examples, on both runners.

use crate::program::run_on_both;

#[test]
fn windowed_wordcount() {
    let [first, second, fourth] = [(0, 1), (1, 2), (3, 4)]
        .map(|(from, to)| format!("[1970-01-01T00:0{from}:00Z, 1970-01-01T00:0{to}:00Z)"));
    assert_eq!(
        run_on_both(env!("CARGO_BIN_EXE_windowed_wordcount"), &["--window=1m"]),
        [
            format!("{first} hello: 2"),
            format!("{first} world: 1"),
            format!("{second} again: 1"),
            format!("{second} hello: 1"),
            format!("{fourth} bye: 1"),
            format!("{fourth} good: 1"),
            format!("{fourth} world: 1"),
        ]
    );
}

#[test]
fn tagged_outputs() {
    let lines = run_on_both(env!("CARGO_BIN_EXE_tagged_outputs"), &[]);
    assert_eq!(lines, ["bad: x", "expense: 35", "income: 107", "nothing: 1"]);
}

#[test]
fn side_input() {
    assert_eq!(
        run_on_both(env!("CARGO_BIN_EXE_side_input"), &[]),
        [
            "1970-01-01T00:00:00Z: 10 USD are 900 euro cents",
            "1970-01-01T00:00:00Z: 2 GBP are 230 euro cents",
            "1970-01-02T00:00:00Z: 10 USD are 950 euro cents",
            "1970-01-02T00:00:00Z: 7 CHF: there is no rate",
        ]
    );
}

#[test]
fn custom_combine_fn() {
    let lines = run_on_both(env!("CARGO_BIN_EXE_custom_combine_fn"), &[]);
    assert_eq!(lines, ["north: mean 2.0, variance 2.7", "south: mean 4.0, variance 18.7"]);
}

#[test]
fn session_windows() {
    let visit = |user: &str, from, to, n| {
        format!("{user} [1970-01-01T00:{from:02}:00Z, 1970-01-01T00:{to:02}:00Z): {n} clicks")
    };
    // Bob's second visit begins when the first one ends: windows that only touch stay two.
    let visits =
        [visit("ann", 0, 28, 3), visit("ann", 30, 40, 1), visit("bob", 6, 25, 2), visit("bob", 25, 35, 1)];
    assert_eq!(run_on_both(env!("CARGO_BIN_EXE_session_windows"), &["--gap=10m"]), visits);
}

#[test]
fn state_and_timers() {
    let [first, second] =
        ["[1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z)", "[1970-01-01T00:01:00Z, 1970-01-01T00:02:00Z)"];
    let parcels =
        [(first, "ann: milk, tea"), (first, "bob: salt"), (second, "ann: bread"), (second, "bob: oil, tea")];
    assert_eq!(
        run_on_both(env!("CARGO_BIN_EXE_state_and_timers"), &["--window=1m"]),
        parcels.map(|(window, what)| format!("{window} {what}"))
    );
}

#[test]
fn sdf_source() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/kjv.txt");
    let bytes = std::fs::read(path).unwrap();
    let sum: u64 = bytes.iter().map(|b| u64::from(*b)).sum();
    let lines = run_on_both(env!("CARGO_BIN_EXE_sdf_source"), &[&format!("--file={path}"), "--length=100"]);
    let records = format!("records: {}", bytes.len().div_ceil(100));
    assert_eq!(lines, [records, format!("sum of bytes: {sum}")]);
}

#[test]
fn dofn_unit_tests() {
    let lines = run_on_both(env!("CARGO_BIN_EXE_dofn_unit_tests"), &["--limit=30"]);
    assert_eq!(lines, ["alarm: 31 degrees at 1970-01-01T00:01:00Z", "max: Some(31)"]);
}

#[test]
fn test_stream() {
    let lines = run_on_both(env!("CARGO_BIN_EXE_test_stream"), &[]);
    let counts: Vec<&str> = lines.iter().filter_map(|line| line.split(") ").nth(1)).collect();
    assert_eq!(counts, ["about: 1", "home: 2", "home: 1"]);
}

#[test]
fn late_rows() {
    let minute = |n, of: &str| format!("[1970-01-01T00:0{n}:00Z, 1970-01-01T00:0{}:00Z) {of}", n + 1);
    let counts = [minute(0, "home: 2"), minute(1, "home: 1"), minute(1, "shop: 1"), minute(2, "shop: 1")];
    let late = [
        "late: home at 1970-01-01T00:00:40Z, 15s behind the watermark".to_owned(),
        "late: home at 1970-01-01T00:01:01Z, 54s behind the watermark".to_owned(),
    ];
    assert_eq!(run_on_both(env!("CARGO_BIN_EXE_late_rows"), &[]), [&counts[..], &late].concat());
    // With a minute and more of patience nothing is late.
    let patient = run_on_both(env!("CARGO_BIN_EXE_late_rows"), &["--delay=70s"]);
    assert_eq!(patient.iter().filter(|line| line.starts_with("late")).count(), 0, "{patient:?}");
}

#[test]
fn adaptive_watermark() {
    let dir = tempfile::tempdir().unwrap();
    let picture = dir.path().join("watermark.svg");
    let lines =
        run_on_both(env!("CARGO_BIN_EXE_adaptive_watermark"), &[&format!("--picture={}", picture.display())]);
    let behind = |n: u32, lag: &str| format!("record {n}: the watermark is {lag} s behind");
    assert_eq!(
        lines,
        [
            "after record 1000, 101 of 2000 were late".to_owned(),
            behind(1100, "3.6"),
            behind(2000, "3.8"),
            "record 200: there is no watermark to speak of".to_owned(),
            behind(2900, "3.5"),
            behind(400, "33.8"),
            behind(700, "13.4"),
            behind(900, "4.8"),
        ]
    );
    let drawn = std::fs::read_to_string(picture).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.trim_end().ends_with("</svg>"));
    let dots = drawn.matches("<circle").count();
    assert_eq!(dots, 3000 + 1, "a dot a record, and one in the legend");
    // The frame and the marks are polylines too; the watermark has a point for nearly each record after the warm-up.
    let longest = drawn.lines().filter(|l| l.contains("<polyline")).map(|l| l.matches(',').count()).max();
    assert!(longest > Some(2000), "the watermark: {longest:?}");
}
