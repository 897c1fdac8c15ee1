//! A streaming query that is killed again and again.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const QUERY: &str = env!("CARGO_BIN_EXE_query_files");

/// How many kills the test makes; more with `PURLIN_KILLS=200`.
const KILLS: usize = 8;

fn command(dir: &Path, threads: usize, output: &str, checkpoint: &str) -> Command {
    let mut command = Command::new(QUERY);
    command
        .arg(format!("--input={}", dir.join("in").display()))
        .arg(format!("--output={}", dir.join(output).display()))
        .arg(format!("--checkpoint={}", dir.join(checkpoint).display()))
        .arg(format!("--parallelism={threads}"))
        .stderr(Stdio::piped());
    command
}

/// A few minutes of words, some of them out of order, in many small files.
fn write_input(dir: &Path, files: u64) {
    for file in 0..files {
        let words = (0..40).map(|n| {
            let second = (file * 7 + n * 11) % 60;
            let minute = (file / 4).saturating_sub(u64::from(n == 7));
            format!(
                "{{\"at\":\"2024-01-01T{:02}:{:02}:{second:02}Z\",\"word\":\"w{}\"}}\n",
                12 + minute / 60,
                minute % 60,
                n % 5
            )
        });
        fs::write(dir.join(format!("{file:04}.json")), words.collect::<String>()).unwrap();
    }
}

/// The lines of each file that is not hidden.
fn read_output(dir: &Path) -> BTreeMap<String, Vec<String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("part-") {
            let text = fs::read_to_string(entry.path()).unwrap();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            files.insert(name, lines);
        }
    }
    files
}

#[test]
fn a_query_that_is_killed_at_any_moment_gives_what_it_gives_undisturbed() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("in")).unwrap();
    write_input(&dir.path().join("in"), 60);
    let started = Instant::now();
    let done = command(dir.path(), 2, "undisturbed", "c0").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let whole = started.elapsed();
    let expected = read_output(&dir.path().join("undisturbed"));
    assert!(expected.len() > 10, "{expected:?}");
    let kills = std::env::var("PURLIN_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    for (n, threads) in [1, 2, 4].into_iter().enumerate() {
        let (output, checkpoint) = (format!("out{threads}"), format!("c{threads}"));
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(n as u64 + 1);
        let mut killed = 0;
        let mut round = 0;
        while killed < kills.div_ceil(3) {
            // From the beginning again, when it came to its end before it was killed.
            let mut program = command(dir.path(), threads, &output, &checkpoint).spawn().unwrap();
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let share = (seed >> 33) as f64 / f64::from(u32::MAX >> 1);
            let moment =
                Instant::now() + whole.mul_f64(share.clamp(0.0, 1.0) * 0.6) + Duration::from_millis(1);
            let ended = loop {
                if let Some(status) = program.try_wait().unwrap() {
                    break Some(status);
                }
                if Instant::now() >= moment {
                    break None;
                }
                std::thread::yield_now();
            };
            match ended {
                Some(status) => {
                    assert!(status.success());
                    assert_eq!(
                        read_output(&dir.path().join(&output)),
                        expected,
                        "{threads} threads, round {round}"
                    );
                    fs::remove_dir_all(dir.path().join(&output)).unwrap();
                    fs::remove_dir_all(dir.path().join(&checkpoint)).unwrap();
                    round += 1;
                }
                None => {
                    program.kill().unwrap();
                    program.wait().unwrap();
                    killed += 1;
                }
            }
        }
        let done = command(dir.path(), threads, &output, &checkpoint).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(read_output(&dir.path().join(&output)), expected, "{threads} threads, at the end");
    }
}
