//! Testing a DoFn without a pipeline: see the tests at the end of this file.
//!
//! `DoFnTester` runs one DoFn as a runner does, and says what came out of which output, at which time, and what was
//! counted. `SdfTester` does the same for a splittable DoFn: see the example `sdf_source`.
//!
//! ```text
//! cargo test -p purlin-examples --bin dofn_unit_tests
//! ```

use purlin::prelude::*;

#[derive(clap::Args, Clone)]
struct Options {
    /// Temperatures above this are alarms
    #[arg(long, default_value_t = 30)]
    limit: i64,
}

const ALARMS: Tag<String> = Tag::new("alarms");

/// Reads lines `SECONDS TEMPERATURE`, emits the temperature at that time, and an alarm when it is above the limit.
#[derive(Clone)]
struct ReadTemperature;

impl DoFn for ReadTemperature {
    type Input = String;
    type Output = i64;

    fn process(&mut self, line: String, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        let (secs, temperature) =
            line.split_once(' ').ok_or_else(|| DoFnError::msg(format!("no blank in `{line}`")))?;
        let (at, temperature) = (Timestamp::from_secs(secs.parse()?), temperature.parse()?);
        if temperature > cx.options::<Options>()?.limit {
            cx.counter("alarms").inc(1);
            out.emit_to(ALARMS, format!("{temperature} degrees at {at}"));
        }
        out.emit_at(temperature, at);
        Ok(())
    }
}

fn build(p: &Pipeline, _: &Options) {
    let lines = p.create("Lines", ["0 20", "60 31", "120 29"].map(str::to_owned));
    let read = lines.par_do_with("Read", ParDo::of(ReadTemperature).tag(ALARMS));
    read.tagged(ALARMS).map("PrintAlarm", |alarm| println!("alarm: {alarm}"));
    read.main().apply("Max", Max::globally()).map("PrintMax", |max| println!("max: {max:?}"));
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}

#[cfg(test)]
mod tests {
    use purlin::testing::DoFnTester;

    use super::*;

    fn tester() -> DoFnTester<ReadTemperature> {
        DoFnTester::of(ReadTemperature).tag(ALARMS).options(Options { limit: 30 })
    }

    #[test]
    fn temperatures_have_their_time() {
        let mut read = tester();
        read.process("60 25".to_owned()).unwrap();
        assert_eq!(read.main_with_times(), [(25, Timestamp::from_secs(60))]);
        assert!(read.tagged(ALARMS).is_empty());
    }

    #[test]
    fn what_is_above_the_limit_is_an_alarm_too() {
        let mut read = tester();
        read.process_bundle(["0 30", "1 31"].map(str::to_owned)).unwrap();
        assert_eq!(read.main(), [30, 31]);
        assert_eq!(read.tagged(ALARMS), ["31 degrees at 1970-01-01T00:00:01Z"]);
        assert_eq!(read.counter("alarms"), 1);
    }

    #[test]
    fn a_bad_line_fails_the_bundle_and_nothing_comes_out() {
        let mut read = tester();
        let error = read.process_bundle(["0 30", "1:31"].map(str::to_owned)).unwrap_err();
        assert!(error.to_string().contains("no blank in `1:31`"), "{error}");
        assert!(read.main().is_empty());
    }
}
