//! Word count in windows: how often each word came in each span of time.
//!
//! `with_timestamps` gives each line the time at which it was written, `window_into` puts it into windows, and the
//! grouping that follows counts per word *and* window. Nothing else differs from a word count without windows.
//!
//! ```text
//! cargo run -p purlin-examples --bin windowed_wordcount -- --window=1m
//! ```

use purlin::prelude::*;

/// Counts the words of a chat, per window
#[derive(clap::Args, Clone)]
struct Options {
    /// How long a window is, such as 30s or 1m
    #[arg(long, default_value = "1m")]
    window: Duration,
}

/// Seconds since midnight, and what was said.
const CHAT: [(i64, &str); 4] =
    [(5, "hello"), (59, "hello world"), (60, "hello again"), (185, "good bye world")];

fn build(p: &Pipeline, options: &Options) {
    p.create("Chat", CHAT.map(|(at, text)| (at, text.to_owned())))
        .with_timestamps("Times", |(at, _)| Timestamp::from_secs(*at))
        .window_into("Windows", FixedWindows::of(options.window))
        .flat_map("Words", |(_, text)| text.split(' ').map(str::to_owned).collect::<Vec<_>>())
        .apply("Count", Count::per_element())
        .map_cx("Format", |(word, n), cx| Ok(format!("{} {word}: {n}", cx.window())))
        .map("Print", |line| println!("{line}"));
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}
