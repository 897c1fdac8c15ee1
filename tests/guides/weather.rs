use purlin::{io::TextIo, prelude::*};
use serde::{Deserialize, Serialize};

/// Averages temperatures per sensor and window
#[derive(clap::Args, Clone)]
struct Options {
    /// The files to read: lines `SECONDS SENSOR CELSIUS`
    #[arg(long, value_name = "GLOB")]
    input: String,

    /// How long a window is, such as 30s or 1m
    #[arg(long, default_value = "1m")]
    window: Duration,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Reading {
    at: Timestamp,
    sensor: String,
    celsius: f64,
}

fn parse(line: &str) -> Result<Reading> {
    let [at, sensor, celsius] = line.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err(DoFnError::msg("not of the form SECONDS SENSOR CELSIUS"));
    };
    let at = Timestamp::from_secs(at.parse()?);
    Ok(Reading { at, sensor: sensor.to_owned(), celsius: celsius.parse()? })
}

/// The mean temperature of each sensor in each window.
fn means(readings: &PCollection<Reading>, window: Duration) -> PCollection<(String, f64)> {
    readings
        .window_into("Windows", FixedWindows::of(window))
        .map("Pair", |reading| (reading.sensor, reading.celsius))
        .apply("Mean", Mean::per_key())
}

fn build(p: &Pipeline, options: &Options) {
    let lines = p.apply("Read", TextIo::read(&options.input));
    let (readings, bad) = lines.try_map("Parse", |line: &String| parse(line));
    let readings = readings.with_timestamps("Times", |reading| reading.at);

    means(&readings, options.window)
        .map_cx("Format", |(sensor, mean), cx| Ok(format!("{} {sensor}: {mean:.1}", cx.window())))
        .map("Print", |line| println!("{line}"));
    bad.map("PrintBad", |bad| eprintln!("skipped `{}`: {}", bad.element, bad.error));
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}

#[cfg(test)]
mod tests {
    use purlin::testing::{TestPipeline, TestStream, assert_that};

    use super::*;

    fn reading(at: i64, sensor: &str, celsius: f64) -> Reading {
        Reading { at: Timestamp::from_secs(at), sensor: sensor.to_owned(), celsius }
    }

    fn minute(n: i64) -> Window {
        Window::interval(Timestamp::from_secs(60 * n), Timestamp::from_secs(60 * (n + 1)))
    }

    #[test]
    fn a_line_is_parsed() {
        assert_eq!(parse("5 kitchen 20.5").unwrap(), reading(5, "kitchen", 20.5));
        assert!(parse("kitchen 20.5").is_err());
        assert!(parse("5 kitchen warm").is_err());
    }

    #[test]
    fn each_minute_has_a_mean_of_its_own() {
        let p = TestPipeline::new();
        let readings =
            [reading(5, "kitchen", 20.0), reading(59, "kitchen", 22.0), reading(60, "kitchen", 23.0)];
        let readings = p.create_timestamped("Readings", readings.map(|r| (r.clone(), r.at)));
        let means = means(&readings, Duration::from_minutes(1));
        assert_that("First", &means).in_window(minute(0)).is(("kitchen".to_owned(), 21.0));
        assert_that("Second", &means).in_window(minute(1)).is(("kitchen".to_owned(), 23.0));
        p.run();
    }

    #[test]
    fn what_comes_after_its_minute_closed_is_dropped() {
        let p = TestPipeline::new();
        let at = Timestamp::from_secs;
        let readings = p.apply(
            "Readings",
            TestStream::new()
                .element_at(reading(5, "kitchen", 20.0), at(5))
                .advance_watermark_to(at(60))
                .element_at(reading(6, "kitchen", 90.0), at(6)),
        );
        assert_that("Means", &means(&readings, Duration::from_minutes(1))).is(("kitchen".to_owned(), 20.0));
        p.run();
    }
}
