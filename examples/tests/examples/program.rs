//! Running the examples as programs.

use std::process::{Child, Command, Output};

/// What a program said, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The lines of stdout in order: workers print in any.
    pub(crate) fn sorted(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// Sends a signal, by its name without SIG.
#[cfg(unix)]
pub(crate) fn signal(program: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &program.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Runs a program to its end.
pub(crate) fn run(program: &str, args: &[&str]) -> Ran {
    Command::new(program).args(args).output().expect("the program starts").into()
}

/// Runs a program that must succeed on both runners and print the same lines, which are returned in order.
pub(crate) fn run_on_both(program: &str, args: &[&str]) -> Vec<String> {
    let [direct, threaded] = ["--runner=direct", "--runner=threaded"].map(|runner| {
        let ran = run(program, &[args, &[runner]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.sorted().into_iter().map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(direct, threaded);
    direct
}
