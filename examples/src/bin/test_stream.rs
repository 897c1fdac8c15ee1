//! Testing a pipeline against time: see the tests at the end of this file.
//!
//! When a window closes depends on when elements come and how far the watermark is. `TestStream` scripts both, so that
//! a test says what happens to an element that comes late.
//!
//! ```text
//! cargo test -p purlin-examples --bin test_stream
//! ```

use purlin::prelude::*;

#[derive(clap::Args, Clone)]
struct Options {}

/// How often each page was seen in each minute. It is a function of a collection, so that a test can call it with one
/// of its own.
fn views_per_minute(pages: &PCollection<String>) -> PCollection<(String, u64)> {
    pages
        .window_into("Minutes", FixedWindows::of(Duration::from_minutes(1)))
        .apply("Count", Count::per_element())
}

fn build(p: &Pipeline, _: &Options) {
    let seen = [("home", 3), ("about", 10), ("home", 59), ("home", 60)];
    let pages =
        p.create_timestamped("Pages", seen.map(|(page, at)| (page.to_owned(), Timestamp::from_secs(at))));
    views_per_minute(&pages)
        .map_cx("Format", |(page, n), cx| Ok(format!("{} {page}: {n}", cx.window())))
        .map("Print", |line| println!("{line}"));
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}

#[cfg(test)]
mod tests {
    use purlin::testing::{TestPipeline, TestStream, assert_that};

    use super::*;

    fn minute(n: i64) -> Window {
        Window::interval(Timestamp::from_secs(n * 60), Timestamp::from_secs((n + 1) * 60))
    }

    #[test]
    fn each_minute_counts_for_itself() {
        let p = TestPipeline::new();
        let at = Timestamp::from_secs;
        let pages = p.apply(
            "Pages",
            TestStream::new()
                .element_at("home".to_owned(), at(3))
                .element_at("home".to_owned(), at(61))
                // Out of order, but in time.
                .element_at("home".to_owned(), at(59))
                .advance_watermark_to(at(120)),
        );
        let views = views_per_minute(&pages);
        assert_that("First", &views).in_window(minute(0)).contains_in_any_order([("home".to_owned(), 2)]);
        assert_that("Second", &views).in_window(minute(1)).contains_in_any_order([("home".to_owned(), 1)]);
        p.run();
    }

    #[test]
    fn what_comes_after_its_window_closed_is_dropped() {
        let p = TestPipeline::new();
        let at = Timestamp::from_secs;
        let pages = p.apply(
            "Pages",
            TestStream::new()
                .element_at("home".to_owned(), at(3))
                .advance_watermark_to(at(60))
                .element_at("home".to_owned(), at(4)),
        );
        let views = views_per_minute(&pages);
        assert_that("First", &views).in_window(minute(0)).contains_in_any_order([("home".to_owned(), 1)]);
        p.run();
    }
}
