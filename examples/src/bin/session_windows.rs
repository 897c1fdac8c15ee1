//! Sessions: windows that last as long as something keeps happening.
//!
//! A click opens a window of ten minutes; windows of one user that overlap become one. So a session ends ten minutes
//! after its last click, and every user has sessions of their own.
//!
//! ```text
//! cargo run -p purlin-examples --bin session_windows
//! ```

use purlin::prelude::*;

/// Counts clicks per visit
#[derive(clap::Args, Clone)]
struct Options {
    /// After how long without a click a visit is over
    #[arg(long, default_value = "10m")]
    gap: Duration,
}

/// Minutes since midnight, and who clicked.
const CLICKS: [(i64, &str); 7] =
    [(0, "ann"), (6, "bob"), (9, "ann"), (15, "bob"), (18, "ann"), (30, "ann"), (25, "bob")];

fn build(p: &Pipeline, options: &Options) {
    let at = |minutes| Timestamp::EPOCH + Duration::from_minutes(minutes);
    p.create_timestamped("Clicks", CLICKS.map(|(minute, user)| (user.to_owned(), at(minute))))
        .window_into("Visits", Sessions::with_gap(options.gap))
        .apply("Count", Count::per_element())
        .map_cx("Format", |(user, n), cx| Ok(format!("{user} {}: {n} clicks", cx.window())))
        .map("Print", |line| println!("{line}"));
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}
