//! Pinning: a run on k threads keeps to the first k CPUs, so that the scheduler's moves do not show.

use std::path::Path;
use std::process::{Command, Stdio};

/// The CPUs that a run on some threads keeps to, as `taskset` names them.
fn cpus(threads: usize) -> String {
    (0..threads).map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",")
}

/// Whether a process can be pinned for this many threads: `taskset` is there and these CPUs are ours.
pub fn possible(threads: usize) -> bool {
    let tried = Command::new("taskset")
        .args(["-c", &cpus(threads), "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // With fewer CPUs than threads `taskset` takes those that exist, which is what is wanted.
    tried.is_ok_and(|status| status.success())
}

/// A command that runs a program, pinned if that is possible.
pub fn command(program: &Path, threads: usize, pinned: bool) -> Command {
    if pinned {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpus(threads)]).arg(program);
        command
    } else {
        Command::new(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_get_the_first_cpus() {
        assert_eq!(cpus(1), "0");
        assert_eq!(cpus(3), "0,1,2");
        let command = command(Path::new("/bin/x"), 2, true);
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["-c", "0,1", "/bin/x"]);
    }
}
