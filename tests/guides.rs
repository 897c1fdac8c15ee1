//! The program that docs/first-pipeline.md leads to: it is the one in tests/guides, its tests pass, and it runs as the
//! guide says.
#![allow(clippy::print_stdout)] // A program may print; the crate that this test belongs to may not.

include!("guides/weather.rs");

/// The blocks of a guide that have `fence` behind their backticks.
fn blocks<'a>(guide: &'a str, fence: &str) -> Vec<&'a str> {
    guide.split(&format!("\n```{fence}\n")).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

#[test]
fn the_guide_shows_the_program_that_is_tested() {
    let guide = include_str!("../docs/first-pipeline.md");
    let mut shown = blocks(guide, "rust,no_run");
    shown.extend(blocks(guide, "rust").into_iter().filter(|block| block.starts_with("#[cfg(test)]")));
    let shown = shown.join("\n\n");
    assert_eq!(shown.trim(), include_str!("guides/weather.rs").trim());
}

#[test]
fn the_program_runs_on_both_runners() {
    let guide = include_str!("../docs/first-pipeline.md");
    let readings = blocks(guide, "text");
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("readings.txt");
    std::fs::write(&input, readings[0]).unwrap();
    for runner in ["direct", "threaded"] {
        let args =
            ["weather".to_owned(), format!("--runner={runner}"), format!("--input={}", input.display())];
        assert_eq!(purlin::launch_from::<Options>(args.map(Into::into), build), ExitCode::SUCCESS);
    }
}
