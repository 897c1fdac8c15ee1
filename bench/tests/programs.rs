//! The programs, run as a user runs them.

use std::fs;
use std::process::Command;

#[test]
fn a_quick_run_agrees_everywhere_and_writes_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (file, chart) = (folder.path().join("rows.json"), folder.path().join("chart.svg"));
    let output = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["--quick", "--threads=1,2", "--json"])
        .arg(&file)
        .arg("--chart")
        .arg(&chart)
        .output()
        .unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{table}{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<serde_json::Value> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    for work in ["W1", "W2", "W2t", "W2x", "W3", "W3m", "W3s"] {
        let mut checksums: Vec<&str> = rows
            .iter()
            .filter(|row| row["work"] == work)
            .map(|row| row["checksum"].as_str().unwrap())
            .collect();
        assert!(checksums.len() >= 2, "{work}: {table}");
        checksums.dedup();
        assert_eq!(checksums.len(), 1, "{work}: {table}");
    }
    let naive = rows.iter().find(|row| row["system"] == "hand-naive").unwrap();
    assert_eq!(naive["vs"], "hand");
    let drawn = fs::read_to_string(chart).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("W3s"));
    assert!(naive["ratio"].as_f64().is_some_and(|ratio| ratio > 0.0));
}

#[test]
fn asking_for_nothing_or_nonsense_is_an_error() {
    for args in [&["--only=no such work"][..], &["child", "--work=W0", "--system=x", "--threads=1", "--n=1"]]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_bench")).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn gentext_writes_what_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let text = |name: &str, seed: &str| {
        let path = folder.path().join(name);
        let status = Command::new(env!("CARGO_BIN_EXE_gentext"))
            .args(["--megabytes=1", seed, "--output"])
            .arg(&path)
            .status()
            .unwrap();
        assert!(status.success());
        fs::read(path).unwrap()
    };
    let first = text("a", "--seed=1");
    assert!((1_000_000..1_000_200).contains(&first.len()));
    assert_eq!(first, text("b", "--seed=1"));
    assert_ne!(first, text("c", "--seed=2"));
}
