//! What a run takes: CPU time, wall time, memory.

use std::fs;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The time that a piece of a program took.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// User and system time of all threads of this process, those that ended included.
    pub cpu: Duration,
    /// Time on the wall.
    pub wall: Duration,
}

/// Does something and says what it took.
///
/// ```
/// let (sum, took) = purlin_bench_common::measure::timed(|| (0..1_000_u64).sum::<u64>());
/// assert_eq!(sum, 499_500);
/// assert!(took.wall.as_secs() < 60);
/// ```
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Took) {
    let (cpu, wall) = (process_cpu(), Instant::now());
    let result = work();
    let took = Took { wall: wall.elapsed(), cpu: process_cpu().saturating_sub(cpu) };
    (result, took)
}

/// CPU time of this process so far, in nanoseconds' resolution (`/proc/self/stat` counts ticks of 10 ms).
fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The most memory that this process has held, in MB of 10^6 bytes; none where the system has no `/proc`.
pub fn peak_mb() -> Option<f64> {
    high_water_mark(&fs::read_to_string("/proc/self/status").ok()?)
}

/// Reads the line `VmHWM: 1234 kB`, whose kB are 1,024 bytes.
fn high_water_mark(status: &str) -> Option<f64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kib as f64 * 1_024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_is_in_kib() {
        assert_eq!(high_water_mark("Name:\tx\nVmHWM:\t    1000 kB\nVmRSS:\t 5 kB\n"), Some(1.024));
        assert_eq!(high_water_mark("Name:\tx\n"), None);
        assert_eq!(high_water_mark("VmHWM:\t many kB\n"), None);
    }

    #[test]
    fn time_of_threads_that_ended_counts() {
        let before = process_cpu();
        let spun = std::thread::spawn(|| (0..3_000_000_u64).fold(1, |x, y| std::hint::black_box(x ^ y)));
        assert!(spun.join().is_ok());
        assert!(process_cpu() > before);
    }
}
