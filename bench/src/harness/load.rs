//! Whether the machine is busy with something else: one foreign process on a machine with two CPUs is enough to make two
//! threads take as long as one, and nothing in the table would say so.

use std::fs;

/// Above this many processes that want to run, a note is due.
const QUIET: f64 = 0.5;

/// A note on other work on this machine, if there is more than a little; none where the system has no `/proc`.
///
/// To be asked before the first run: later the benchmark sees itself.
pub fn note() -> Option<String> {
    busy(&fs::read_to_string("/proc/loadavg").ok()?)
}

/// Reads the first number of `0.50 0.40 0.30 1/78 4321`: the average over the last minute.
fn busy(loadavg: &str) -> Option<String> {
    let load: f64 = loadavg.split_whitespace().next()?.parse().ok()?;
    (load > QUIET).then(|| {
        format!(
            "note: the load was {load:.2} before the first run; wall times, above all on several threads, are not to be trusted"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_noted() {
        assert!(busy("2.26 2.07 1.06 4/78 11618\n").is_some_and(|note| note.contains("2.26")));
        assert_eq!(busy("0.14 2.12 0.05 1/78 1\n"), None);
        assert_eq!(busy(""), None);
    }
}
