//! Writes the text of W1, of any size.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use purlin_bench::text::Text;

/// Write Zipf text: 100,000 words, ten a line, lower case but for each line's first letter.
#[derive(Debug, Parser)]
#[command(name = "gentext")]
struct Args {
    /// The size in MB of 10^6 bytes; the last line may pass it
    #[arg(long)]
    megabytes: u64,
    /// Where to write
    #[arg(long, value_name = "PATH")]
    output: PathBuf,
    /// What the draws follow: the same seed gives the same text
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let text = Text::new(args.seed);
    let bytes = args.megabytes.saturating_mul(1_000_000);
    match File::create(&args.output).and_then(|mut file| text.write_to(bytes, &mut file)) {
        Ok(_) => ExitCode::SUCCESS,
        Err(why) => {
            // Nothing is left to tell if stderr is gone too.
            let _ = writeln!(io::stderr(), "gentext: {}: {why}", args.output.display());
            ExitCode::FAILURE
        }
    }
}
