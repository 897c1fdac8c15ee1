//! What tells a worker that its pipeline is the one that was submitted.

use std::{
    hash::{BuildHasher, Hasher},
    io::{self, Read},
    sync::OnceLock,
};

use purlin_sdk::graph::Graph;

/// The graph and the program: equal in two processes when both run the same program and it built the same graph. Code is
/// not part of a graph, so that two builds of a program may have the same graph and do different things.
pub(crate) fn fingerprint(graph: &Graph) -> String {
    format!("graph {:016x} of program {}", graph.fingerprint(), program())
}

/// The contents of this program's file, in short.
fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| match hash_of_program() {
        Ok(hash) => format!("{hash:016x}"),
        // Nothing can be said of it then, and both sides will say so.
        Err(_) => "unknown".to_owned(),
    })
}

fn hash_of_program() -> io::Result<u64> {
    // On Linux also when the file was replaced meanwhile: what runs is what counts.
    let path = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe()? };
    let mut file = std::fs::File::open(path)?;
    let mut hasher = foldhash::quality::FixedState::default().build_hasher();
    let mut chunk = vec![0; 1 << 20];
    loop {
        let n = file.read(&mut chunk)?;
        if n == 0 {
            return Ok(hasher.finish());
        }
        hasher.write(&chunk[..n]);
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::Pipeline;

    use super::*;

    fn of(by: i64, name: &str) -> String {
        let p = Pipeline::new();
        p.create("Numbers", [1, 2]).map(name, move |n: i64| n * by);
        fingerprint(&p.build().unwrap())
    }

    #[test]
    fn graphs_are_told_apart_and_a_program_from_another() {
        assert_eq!(of(2, "Times"), of(3, "Times"));
        assert_ne!(of(2, "Times"), of(2, "Other"));
        assert!(!of(2, "Times").contains("unknown"));
    }
}
