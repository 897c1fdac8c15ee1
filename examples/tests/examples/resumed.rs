//! A program that is killed by `kill -9` at random moments and started again leaves the files that it would have left
//! undisturbed, each once and whole.
#![cfg(unix)]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use crate::program::run;

const RESUMED: &str = env!("CARGO_BIN_EXE_resumed");

/// Numbers that look random and are the same for the same seed.
struct Draws(u64);

impl Draws {
    /// One below `bound`.
    fn next(&mut self, bound: u64) -> u64 {
        // xorshift64*.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}

/// The lines of what is in the folder under a final name, in order, by name without the number of the shard; and each
/// file's inode, by which one that was replaced is told from one that was left alone.
fn visible(folder: &Path) -> (BTreeMap<String, Vec<String>>, BTreeMap<String, u64>) {
    let (mut sets, mut files) = (BTreeMap::<String, Vec<String>>::new(), BTreeMap::new());
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with('.') {
            continue;
        }
        let text = fs::read_to_string(entry.path()).unwrap();
        let (set, _) = name.rsplit_once("-0").unwrap().0.rsplit_once("-0").unwrap();
        sets.entry(set.to_owned()).or_default().extend(text.lines().map(str::to_owned));
        files.insert(name, entry.metadata().unwrap().ino());
    }
    sets.values_mut().for_each(|lines| lines.sort());
    (sets, files)
}

/// One run from its beginning to its end, through as many lives as it takes. Returns how often it was killed, and how
/// many of these times some of its files were there and some were not.
fn through_many_lives(temp: &Path, threads: usize, draws: &mut Draws, expected: &Path) -> (usize, usize) {
    let output = temp.join(format!("run-{}", draws.next(1 << 30)));
    let checkpoints = output.join("checkpoints");
    fs::create_dir_all(output.join("files")).unwrap();
    let args = [
        format!("--purchases={}", temp.join("purchases").display()),
        format!("--output={}", output.join("files/x").display()),
        "--pace=2ms".to_owned(),
        format!("--parallelism={threads}"),
        format!("--checkpoint-dir={}", checkpoints.display()),
        "--checkpoint-every=20ms".to_owned(),
        "--restore".to_owned(),
    ];
    let (expected, _) = visible(expected);
    let (mut kills, mut midway) = (0, 0);
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    loop {
        let mut life = Command::new(RESUMED).args(&args).stderr(Stdio::piped()).spawn().unwrap();
        // The moment at which it is killed, not a wait for something.
        std::thread::sleep(Duration::from_micros(draws.next(450_000)));
        life.kill().unwrap();
        let ended = life.wait_with_output().unwrap();
        let (sets, files) = visible(&output.join("files"));
        let what = format!("threads: {threads}, kills: {kills}, in {}", output.display());
        for (name, inode) in &seen {
            assert_eq!(files.get(name), Some(inode), "`{name}` was replaced or is gone; {what}");
        }
        if let Some(code) = ended.status.code() {
            assert_eq!(code, 0, "{}; {what}", String::from_utf8_lossy(&ended.stderr));
            assert_eq!(sets, expected, "{what}");
            return (kills, midway);
        }
        kills += 1;
        midway += usize::from(!files.is_empty() && sets != expected);
        for (set, lines) in &sets {
            let all = &expected[set];
            // All files of a set but the last may be there already; each is whole.
            let whole = if set.contains("accounts") { lines == all } else { is_part(lines, all) };
            assert!(whole, "`{set}` has {lines:?} of {all:?}; {what}");
        }
        seen = files;
    }
}

/// Whether each of `lines` is there in `all`, as often or oftener. Both are in order.
fn is_part(lines: &[String], all: &[String]) -> bool {
    let mut rest = all.iter();
    lines.iter().all(|line| rest.any(|other| other == line))
}

fn kill_at_least(kills: usize, threads: usize, seed: u64) {
    let temp = tempfile::tempdir().unwrap();
    let mut draws = Draws(seed);
    let purchases: String =
        (0..2000).map(|i| format!("{:10} {:4} {:6}\n", i * 10, draws.next(7), draws.next(100))).collect();
    fs::write(temp.path().join("purchases"), purchases).unwrap();
    let expected = temp.path().join("expected");
    fs::create_dir(&expected).unwrap();
    let undisturbed = run(
        RESUMED,
        &[
            "--runner=direct",
            &format!("--purchases={}", temp.path().join("purchases").display()),
            &format!("--output={}", expected.join("x").display()),
        ],
    );
    assert_eq!(undisturbed.code, Some(0), "{undisturbed:?}");
    // The last visits end in a window of their own.
    assert_eq!(visible(&expected).1.len(), 10 + 2 * 11);
    let (mut killed, mut midway, mut runs) = (0, 0, 0);
    while killed < kills {
        let (more, more_midway) = through_many_lives(temp.path(), threads, &mut draws, &expected);
        killed += more;
        midway += more_midway;
        runs += 1;
    }
    println!(
        "{threads} threads: {killed} kills in {runs} runs, {midway} of them with files there and files missing"
    );
    assert!(kills < 20 || midway > 0, "no kill came while files were written");
}

/// Four kills for each number of threads, or `PURLIN_KILLS` of them: two hundred take minutes.
#[test]
fn killed_at_random_moments_it_leaves_the_same_files() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let kills = number("PURLIN_KILLS").map_or(4, |n| n as usize);
    for (threads, seed) in [(1, 11), (2, 12), (4, 13)] {
        kill_at_least(kills, threads, number("KILL_SEED").unwrap_or(0) + seed);
    }
}
