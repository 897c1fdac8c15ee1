//! Word count: how often each word occurs in text files.
//!
//! A word is a maximal run of alphabetic characters, in lower case. The result is lines `word: count` in four files.
//!
//! ```text
//! cargo run --release -p purlin-examples --bin wordcount -- --input='examples/data/*.txt' --output=/tmp/counts
//! cat /tmp/counts-*
//! ```

use mimalloc::MiMalloc;
use purlin::{io::TextIo, prelude::*};

/// A `String` a word is much to allocate and free: this allocator makes the program faster.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Counts the words of text files
#[derive(clap::Args, Clone)]
struct Options {
    /// The files to read, such as `books/*.txt`; compressed ones are unpacked
    #[arg(long, value_name = "GLOB")]
    input: String,

    /// What the names of the files begin with that are written: PREFIX-00000-of-00004 and so on
    #[arg(long, value_name = "PREFIX")]
    output: String,
}

fn build(p: &Pipeline, options: &Options) {
    p.apply("Read", TextIo::read(&options.input))
        .flat_map("Split", words)
        .apply("Count", Count::per_element())
        .map("Format", |(word, n)| format!("{word}: {n}"))
        .apply("Write", TextIo::write(&options.output).shards(4));
}

/// The words of a line.
fn words(mut line: String) -> Vec<String> {
    if line.is_ascii() {
        // The same as below, without looking at characters one by one in tables.
        line.make_ascii_lowercase();
        let words = line.split(|c: char| !c.is_ascii_lowercase());
        return words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
    }
    let words = line.split(|c: char| !c.is_alphabetic());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters() {
        assert_eq!(words("Let there be light: and".to_owned()), ["let", "there", "be", "light", "and"]);
        assert_eq!(words("--2x3, don't".to_owned()), ["x", "don", "t"]);
        assert_eq!(words("Ärger, ČESKÝ123δοκιμή".to_owned()), ["ärger", "český", "δοκιμή"]);
        assert!(words(" 1 2 ".to_owned()).is_empty());
    }
}
