//! A growing file, windows that fire on time, and what signals do.
#![cfg(unix)]

use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader, Lines, Read, Write},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use crate::program::signal;

/// The program at work on a file that grows.
struct Tail {
    program: Child,
    printed: Lines<BufReader<ChildStdout>>,
    file: File,
    total: u64,
}

impl Tail {
    fn start(runner: &str, estimator: &str) -> Tail {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own_estimator");
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join(format!("{runner}-{estimator}-{:?}.txt", std::thread::current().id()));
        fs::write(&path, "").unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_own_estimator"))
            .args(["--runner", runner, "--estimator", estimator, "--file", path.to_str().unwrap()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let printed = BufReader::new(program.stdout.take().unwrap()).lines();
        let file = OpenOptions::new().append(true).open(&path).unwrap();
        Tail { program, printed, file, total: 0 }
    }

    /// Appends a line for each of the times.
    fn append(&mut self, secs: impl IntoIterator<Item = i64>) {
        for at in secs {
            writeln!(self.file, "{at} something happened").unwrap();
            self.total += 1;
        }
    }

    /// Waits for the next window: where it starts, and how many lines it has.
    fn window(&mut self) -> Option<(String, u64)> {
        let line = self.printed.next()?.unwrap();
        let (window, n) = line.rsplit_once(": ").unwrap();
        let start = window.trim_start_matches("[1970-01-01T00:").split('Z').next().unwrap();
        Some((start.to_owned(), n.parse().unwrap()))
    }

    /// The exit code and what was said on stderr.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.program.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.program.wait().unwrap().code(), said)
    }
}

fn windows_fire_on_time_and_a_drain_counts_every_line_once(runner: &str, estimator: &str) {
    let mut tail = Tail::start(runner, estimator);
    // Two lines behind the window, since one alone is not enough for `confirmed`.
    tail.append([1, 5, 9, 10, 12]);
    assert_eq!(tail.window(), Some(("00:00".to_owned(), 3)));

    // The file has grown while it was read; a line that is half written is not read yet.
    tail.append([19, 31]);
    write!(tail.file, "3").unwrap();
    write!(tail.file, "2 half").unwrap();
    writeln!(tail.file, " and half").unwrap();
    tail.total += 1;
    assert_eq!(tail.window(), Some(("00:10".to_owned(), 3)));

    // What was appended before the signal is counted, whether it was read by then or not.
    tail.append((0..1000).map(|i| 33 + i / 50));
    signal(&tail.program, "TERM");
    let mut counted = 6;
    while let Some((_, n)) = tail.window() {
        counted += n;
    }
    assert_eq!(counted, tail.total);
    let (code, said) = tail.end();
    assert_eq!((code, said.as_str()), (Some(0), "draining\n"));
}

#[test]
fn manual_on_the_direct_runner() {
    windows_fire_on_time_and_a_drain_counts_every_line_once("direct", "manual");
}

#[test]
fn manual_on_the_threaded_runner() {
    windows_fire_on_time_and_a_drain_counts_every_line_once("threaded", "manual");
}

#[test]
fn monotonic_on_the_direct_runner() {
    windows_fire_on_time_and_a_drain_counts_every_line_once("direct", "monotonic");
}

#[test]
fn monotonic_on_the_threaded_runner() {
    windows_fire_on_time_and_a_drain_counts_every_line_once("threaded", "monotonic");
}

#[test]
fn confirmed_on_the_direct_runner() {
    windows_fire_on_time_and_a_drain_counts_every_line_once("direct", "confirmed");
}

#[test]
fn confirmed_on_the_threaded_runner() {
    windows_fire_on_time_and_a_drain_counts_every_line_once("threaded", "confirmed");
}

#[test]
fn an_interrupt_cancels() {
    for runner in ["direct", "threaded"] {
        let mut tail = Tail::start(runner, "monotonic");
        tail.append([1, 10]);
        // It is at work.
        assert_eq!(tail.window(), Some(("00:00".to_owned(), 1)));
        signal(&tail.program, "INT");
        // The window that is open is thrown away.
        assert_eq!(tail.window(), None);
        let (code, said) = tail.end();
        assert_eq!((code, said.as_str()), (Some(130), "cancelling; interrupt again to end at once\n"));
    }
}
