//! Late rows go to an output of their own.
//!
//! What comes after the watermark has passed it may be too late for its window, which would drop it. Here a DoFn asks
//! `current_watermark` and routes such rows to a *dead-letter* output, with how late each was; what is on time is
//! counted. The stream is scripted, so that the output is always the same.
//!
//! ```text
//! cargo run -p purlin-examples --bin late_rows
//! ```

use purlin::{prelude::*, testing::TestStream};
use serde::{Deserialize, Serialize};

/// Counts clicks a minute, and keeps those that are late
#[derive(clap::Args, Clone)]
struct Options {
    /// How far out of order a click may come and be on time
    #[arg(long, default_value = "15s")]
    delay: Duration,
}

/// A click, in seconds.
type Click = (String, i64);

/// A click that came too late.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Late {
    click: Click,
    watermark: Timestamp,
}

const LATE: Tag<Late> = Tag::new("late");

/// Sends what is behind the watermark to `LATE`, and everything else on.
#[derive(Clone)]
struct Route;

impl DoFn for Route {
    type Input = Click;
    type Output = Click;

    fn process(&mut self, click: Click, cx: &ProcessContext<'_>, out: &mut Emitter<'_, Click>) -> Result {
        // There is no watermark before there was data: nothing is late then.
        match cx.current_watermark() {
            Some(watermark) if cx.timestamp() < watermark => out.emit_to(LATE, Late { click, watermark }),
            _ => out.emit(click),
        }
        Ok(())
    }
}

/// Each as it comes: the watermark moves in between.
fn clicks() -> TestStream<Click> {
    [("home", 3), ("shop", 70), ("home", 58), ("home", 40), ("shop", 130), ("home", 61), ("home", 118)]
        .into_iter()
        .fold(TestStream::new(), |stream, (page, secs)| stream.element((page.to_owned(), secs)))
}

fn build(p: &Pipeline, options: &Options) {
    let routed = p
        .apply("Clicks", clicks())
        .with_watermark("ClickTime", |(_, secs): &Click| Timestamp::from_secs(*secs), options.delay)
        .par_do_with("Route", ParDo::of(Route).tag(LATE));
    routed
        .main()
        .window_into("Minutes", FixedWindows::of(Duration::from_minutes(1)))
        .map("Page", |(page, _)| page)
        .apply("Count", Count::per_element())
        .map_cx("PrintCount", |(page, n), cx| {
            println!("{} {page}: {n}", cx.window());
            Ok(())
        });
    routed.tagged(LATE).map_cx("PrintLate", |late, cx| {
        let Late { click: (page, _), watermark } = late;
        println!("late: {page} at {}, {} behind the watermark", cx.timestamp(), watermark - cx.timestamp());
        Ok(())
    });
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}
