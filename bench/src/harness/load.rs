//! Whether the machine is busy with something else: one foreign process on a machine with two CPUs is enough to make two
//! threads take as long as one, and nothing in the table would say so.

use std::fs;
use std::thread;
use std::time::Duration;

/// How long to look. The load average will not do: it also counts tasks that wait, and looks a minute back.
const LOOK: Duration = Duration::from_millis(500);

/// Up to this share of all CPUs' time is quiet.
const QUIET: f64 = 0.1;

/// A note on other work on this machine, if there is more than a little; none where the system has no `/proc`.
///
/// Takes half a second, and is to be asked while the benchmark itself does nothing.
pub fn note() -> Option<String> {
    let stat = || fs::read_to_string("/proc/stat").ok();
    let before = stat()?;
    thread::sleep(LOOK);
    let busy = busy(&before, &stat()?)?;
    (busy > QUIET).then(|| {
        format!(
            "note: other work took {:.0} % of the CPUs before the first run; wall times, above all on several threads, are \
             not to be trusted",
            busy * 100.0
        )
    })
}

/// The share of CPU time that was used between two readings.
fn busy(before: &str, after: &str) -> Option<f64> {
    let ((used_before, all_before), (used_after, all_after)) = (ticks(before)?, ticks(after)?);
    let all = all_after.checked_sub(all_before).filter(|all| *all > 0)?;
    Some(used_after.saturating_sub(used_before) as f64 / all as f64)
}

/// Ticks used and all ticks since the start, of all CPUs, from the line
/// `cpu user nice system idle iowait irq softirq steal guest guest_nice` (proc_stat(5); guests count as user too).
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> =
        line.split_whitespace().take(8).map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let all: u64 = ticks.iter().sum();
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some((all - idle, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_not_work() {
        let before = "cpu  100 0 50 1000 10 0 5 0 7 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        // 200 ticks later: 30 user, 10 system, 100 idle, 60 waiting for a disk.
        let after = "cpu  130 0 60 1100 70 0 5 0 99 0\n";
        assert_eq!(busy(before, after), Some(0.2));
    }

    #[test]
    fn what_cannot_be_read_gives_no_share() {
        let stat = "cpu  1 0 0 1 0 0 0 0 0 0\n";
        assert_eq!(busy(stat, stat), None);
        assert_eq!(busy("intr 5\n", stat), None);
        assert_eq!(busy("cpu  1 x\n", stat), None);
    }
}
