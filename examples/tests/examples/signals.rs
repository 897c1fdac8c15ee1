//! What signals do to a DoFn that does not look up.
#![cfg(unix)]

use std::{
    io::{BufRead, BufReader, Lines},
    os::unix::process::ExitStatusExt,
    process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::program::signal;

const SIGINT: i32 = 2;

/// A program whose DoFn waits for a line of input.
struct Waiting {
    program: Child,
    // As long as it is open the DoFn waits.
    input: Option<ChildStdin>,
    said: Lines<BufReader<ChildStderr>>,
}

impl Waiting {
    fn start(runner: &str) -> Waiting {
        let mut program = Command::new(env!("CARGO_BIN_EXE_failures"))
            .args(["--fail=wait", "--runner", runner])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = program.stdin.take();
        let said = BufReader::new(program.stderr.take().unwrap()).lines();
        let mut printed = BufReader::new(program.stdout.take().unwrap()).lines();
        assert_eq!(printed.next().unwrap().unwrap(), "waiting for input");
        // Its other workers print too, and must not find the pipe closed.
        thread::spawn(move || printed.for_each(drop));
        Waiting { program, input, said }
    }

    fn says(&mut self, line: &str) {
        assert_eq!(self.said.next().unwrap().unwrap(), line);
    }

    /// How it ended, and what it said at last. A program that does not end is killed after a minute, so that the test
    /// fails.
    fn end(self) -> (ExitStatus, Vec<String>) {
        let Waiting { mut program, input, said } = self;
        let id = program.id().to_string();
        let (ended, wait) = mpsc::channel::<()>();
        let watch = thread::spawn(move || {
            if wait.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
                Command::new("kill").args(["-s", "KILL", &id]).status().unwrap();
            }
        });
        let rest = said.map(Result::unwrap).collect();
        let status = program.wait().unwrap();
        drop((input, ended));
        watch.join().unwrap();
        (status, rest)
    }

    /// The same, once its DoFn has got what it waits for: the end of the input is as good as a line.
    fn end_with_input(mut self) -> (ExitStatus, Vec<String>) {
        self.input = None;
        self.end()
    }
}

#[test]
fn a_second_interrupt_ends_the_process_at_once() {
    for runner in ["direct", "threaded"] {
        let mut waiting = Waiting::start(runner);
        signal(&waiting.program, "INT");
        waiting.says("cancelling; interrupt again to end at once");
        signal(&waiting.program, "INT");
        let (status, rest) = waiting.end();
        // By the signal itself, as if nobody had listened: what shells look at.
        assert_eq!((status.signal(), rest), (Some(SIGINT), vec![]), "{runner}");
    }
}

#[test]
fn after_one_interrupt_the_process_waits_for_the_dofn() {
    for runner in ["direct", "threaded"] {
        let mut waiting = Waiting::start(runner);
        signal(&waiting.program, "INT");
        waiting.says("cancelling; interrupt again to end at once");
        let (status, rest) = waiting.end_with_input();
        assert_eq!((status.code(), rest), (Some(130), vec![]), "{runner}");
    }
}

#[test]
fn an_interrupt_while_draining_cancels() {
    for runner in ["direct", "threaded"] {
        let mut waiting = Waiting::start(runner);
        signal(&waiting.program, "TERM");
        waiting.says("draining");
        signal(&waiting.program, "INT");
        waiting.says("cancelling; interrupt again to end at once");
        let (status, rest) = waiting.end_with_input();
        assert_eq!((status.code(), rest), (Some(130), vec![]), "{runner}");
    }
}
