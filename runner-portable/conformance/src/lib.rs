//! What is known of the conformance table on an engine: lists of the cases that do not pass, with the reasons.
//!
//! `cargo test -p purlin-portable-conformance --features table` runs the table on Prism and holds it against the list.

/// A case that does not pass on an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its topic and name, as in `triggers::never`.
    pub case: &'a str,
    /// Why it does not pass.
    pub reason: &'a str,
    /// Whether it depends on the order in which things happen, so that it passes at times.
    pub at_times: bool,
}

/// What does not pass on Prism.
pub fn prism() -> Vec<Entry<'static>> {
    entries(include_str!("prism.txt"))
}

/// Reads a list: a line `# reason` is of the cases on the lines after it; `?` before a case is of one that passes at times.
fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut reason = "";
    let mut all = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(told) = line.strip_prefix("# ") {
            reason = told;
            continue;
        }
        let case = line.strip_prefix("? ");
        all.push(Entry { case: case.unwrap_or(line), reason, at_times: case.is_some() });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read() {
        let read = entries("# It cannot.\n\na::b\n? a::c\n# Nor this.\nd::e\n");
        let told: Vec<_> = read.iter().map(|entry| (entry.case, entry.reason, entry.at_times)).collect();
        assert_eq!(
            told,
            [("a::b", "It cannot.", false), ("a::c", "It cannot.", true), ("d::e", "Nor this.", false)]
        );
    }

    #[test]
    fn every_entry_has_a_reason_and_is_there_once() {
        let mut cases: Vec<_> = prism()
            .iter()
            .map(|entry| {
                assert!(!entry.reason.is_empty(), "{} has no reason", entry.case);
                assert!(
                    entry.case.contains("::") && !entry.case.contains(' '),
                    "`{}` is no case",
                    entry.case
                );
                entry.case
            })
            .collect();
        let all = cases.len();
        cases.sort_unstable();
        cases.dedup();
        assert_eq!(cases.len(), all, "a case is listed twice");
    }
}
