//! Streaming queries.

use crate::program::run;

/// The tables that are not empty, one line each.
fn tables(mode: &str, runner: &str) -> Vec<String> {
    let ran = run(env!("CARGO_BIN_EXE_output_modes"), &[&format!("--mode={mode}"), runner]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let rows = |table: &str| {
        let lines = table.lines().filter(|line| line.starts_with("| 1"));
        let cells =
            |line: &str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>().join(" ");
        lines.map(cells).collect::<Vec<_>>().join(", ")
    };
    ran.stdout.split("Batch: ").skip(1).map(rows).filter(|rows| !rows.is_empty()).collect()
}

#[test]
fn output_modes_print_the_worked_example() {
    for runner in ["--runner=direct", "--runner=threaded"] {
        assert_eq!(
            tables("append", runner),
            [
                "12:00-12:10 cat 1, 12:00-12:10 dog 2, 12:00-12:10 owl 1",
                "12:05-12:15 cat 1, 12:05-12:15 dog 3, 12:05-12:15 owl 2",
            ]
        );
        assert_eq!(
            tables("UPDATE", runner),
            [
                "12:00-12:10 dog 1, 12:00-12:10 owl 1, 12:05-12:15 dog 1, 12:05-12:15 owl 1",
                "12:00-12:10 cat 1, 12:05-12:15 cat 1, 12:05-12:15 dog 2, 12:10-12:20 dog 1",
                "12:00-12:10 dog 2, 12:05-12:15 dog 3, 12:05-12:15 owl 2, 12:10-12:20 cat 1, 12:10-12:20 owl 1, \
                 12:15-12:25 cat 1, 12:15-12:25 owl 1, 12:20-12:30 owl 1",
                "12:10-12:20 owl 2, 12:15-12:25 owl 2",
                "12:20-12:30 owl 2, 12:25-12:35 owl 1",
            ]
        );
        let complete = tables("complete", runner);
        assert_eq!(complete.len(), 5);
        assert_eq!(complete[0], "12:00-12:10 dog 1, 12:00-12:10 owl 1, 12:05-12:15 dog 1, 12:05-12:15 owl 1");
        assert!(complete[3].starts_with("11:55-12:05 donkey 1, 12:00-12:10 cat 1, 12:00-12:10 dog 2"));
    }
    let ran = run(env!("CARGO_BIN_EXE_output_modes"), &["--mode=sometimes"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
