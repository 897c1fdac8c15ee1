//! Word count of a real book, and of files that are not as they should be.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::program::{Ran, run};

const WORDCOUNT: &str = env!("CARGO_BIN_EXE_wordcount");
const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/kjv.txt");

/// An empty directory for one test and runner.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    fs::create_dir_all(&path).unwrap();
    path
}

fn wordcount(runner: &str, input: &Path, output: &Path) -> Ran {
    let args = ["--runner", runner, "--input", input.to_str().unwrap(), "--output", output.to_str().unwrap()];
    run(WORDCOUNT, &args)
}

/// The counts in the four files, each of which must be there.
fn counts(prefix: &Path) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for shard in 0..4 {
        let file = format!("{}-{shard:05}-of-00004", prefix.display());
        for line in fs::read_to_string(&file).unwrap().lines() {
            let (word, n) = line.split_once(": ").unwrap();
            assert_eq!(all.insert(word.to_owned(), n.parse().unwrap()), None, "`{word}` is there twice");
        }
    }
    all
}

fn plain_counts(text: &str) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for word in text.split(|c: char| !c.is_alphabetic()).filter(|w| !w.is_empty()) {
        *all.entry(word.to_lowercase()).or_default() += 1;
    }
    all
}

#[test]
fn both_runners_count_a_book_as_a_plain_loop_does() {
    let book = fs::read_to_string(BOOK).unwrap();
    assert!(book.len() > 1 << 20);
    let want = plain_counts(&book);
    for runner in ["direct", "threaded"] {
        let out = directory(&format!("book-{runner}")).join("counts");
        let ran = wordcount(runner, Path::new(BOOK), &out);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(counts(&out), want, "{runner}");
    }
}

#[test]
fn letters_are_those_of_all_scripts() {
    let text = "Übung macht\r\nden Meister; übung 2x δοκιμή\nČeský český";
    for runner in ["direct", "threaded"] {
        let dir = directory(&format!("scripts-{runner}"));
        fs::write(dir.join("a.txt"), text).unwrap();
        fs::write(dir.join("b.txt"), "und noch eine\nÜBUNG").unwrap();
        let ran = wordcount(runner, &dir.join("*.txt"), &dir.join("counts"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let counted = counts(&dir.join("counts"));
        assert_eq!(counted, plain_counts(&format!("{text}\nund noch eine\nÜBUNG")));
        assert_eq!(counted["übung"], 3);
    }
}

/// One error with all of `parts`, and nothing under the final names.
#[track_caller]
fn assert_failed(ran: &Ran, dir: &Path, parts: &[&str]) {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.stderr.matches("error:").count(), 1, "{}", ran.stderr);
    for part in parts {
        assert!(ran.stderr.contains(part), "`{part}` is not in: {}", ran.stderr);
    }
    let names = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let written: Vec<String> = names.filter(|name| name.starts_with("counts")).collect();
    assert_eq!(written, [""; 0]);
}

#[test]
fn bad_input_is_one_error_and_no_output() {
    for runner in ["direct", "threaded"] {
        let dir = directory(&format!("bad-{runner}"));
        let out = dir.join("counts");
        let missing = dir.join("missing.txt");
        assert_failed(&wordcount(runner, &missing, &out), &dir, &["`Read", "process", "missing.txt"]);

        let bad = dir.join("bad.txt");
        fs::write(&bad, b"good line\nbad \xff line\n").unwrap();
        assert_failed(&wordcount(runner, &bad, &out), &dir, &["`Read", "bad.txt", "UTF-8"]);
    }
}

/// Opening it succeeds and reading it fails, for root as well: nothing is mapped at address 0.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_read_is_one_error_and_no_output() {
    for runner in ["direct", "threaded"] {
        let dir = directory(&format!("unreadable-{runner}"));
        let file = dir.join("memory.txt");
        std::os::unix::fs::symlink("/proc/self/mem", &file).unwrap();
        // Beside a good one, whose words must not come out either.
        fs::write(dir.join("good.txt"), "good words\n").unwrap();
        let parts = ["`Read", "wordcount.rs:", "process", "memory.txt", "Input/output error"];
        for input in [&file, &dir.join("*.txt")] {
            assert_failed(&wordcount(runner, input, &dir.join("counts")), &dir, &parts);
        }
    }
}

/// Runs as another user where this one is allowed everything.
#[cfg(target_os = "linux")]
#[test]
fn a_file_without_permission_is_one_error_and_no_output() {
    use std::os::unix::fs::PermissionsExt;

    for runner in ["direct", "threaded"] {
        let dir = directory(&format!("permission-{runner}"));
        let file = dir.join("secret.txt");
        fs::write(&file, "secret words\n").unwrap();
        let permit = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        permit(&file, 0o000);
        // That it cannot write is not to be the reason.
        permit(&dir, 0o777);
        let mut command = if fs::File::open(&file).is_err() {
            Command::new(WORDCOUNT)
        } else {
            let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", WORDCOUNT];
            let tried = Command::new("setpriv").args(nobody).arg("--help").output();
            if !tried.as_ref().is_ok_and(|ran| ran.status.success()) {
                eprintln!(
                    "skipped: this user may read everything, and setpriv gives no other one: {tried:?}"
                );
                return;
            }
            let mut command = Command::new("setpriv");
            command.args(nobody);
            command
        };
        command.arg(format!("--runner={runner}")).arg("--input").arg(&file);
        let ran: Ran = command.arg("--output").arg(dir.join("counts")).output().unwrap().into();
        let parts = ["`Read", "wordcount.rs:", "process", "secret.txt", "Permission denied"];
        assert_failed(&ran, &dir, &parts);
    }
}

/// `ulimit -f` counts blocks of 512 or 1024 bytes; the counts of the book have more than both.
#[cfg(unix)]
#[test]
fn a_full_disk_is_one_error_and_no_output() {
    for runner in ["direct", "threaded"] {
        let dir = directory(&format!("full-{runner}"));
        let script = format!(
            "ulimit -f 8; exec {WORDCOUNT} --runner={runner} --input={BOOK} --output={}",
            dir.join("counts").display()
        );
        let ran: Ran = Command::new("sh").args(["-c", &script]).output().unwrap().into();
        assert_failed(&ran, &dir, &["`Write", "large"]);
    }
}

#[test]
fn an_output_without_a_name_is_one_error() {
    let dir = directory("nameless");
    for output in ["", &format!("{}/", dir.display())] {
        let ran = run(WORDCOUNT, &["--input=x", "--output", output]);
        assert_failed(
            &ran,
            &dir,
            &["cannot be built", "`Write`", "wordcount.rs:", "the prefix of its files"],
        );
    }
}

#[test]
fn input_and_output_must_be_given() {
    let ran = run(WORDCOUNT, &["--input=x"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--output <PREFIX>"), "{}", ran.stderr);
}
