//! A watermark that adapts to its data, as a picture.
//!
//! Nobody said how far out of order the records of this source come. `SourceWatermark` sees it from the records: at first
//! it stays far behind, then it comes closer in steps, and once it has seen a thousand records, about one in twenty is
//! late. The picture has event time against processing time: a dot a record, and the watermark as a line.
//!
//! ```text
//! cargo run -p purlin-examples --bin adaptive_watermark -- --picture=watermark.svg
//! ```

use std::path::{Path, PathBuf};

use plotters::prelude::{
    BLUE, ChartBuilder, Circle, Color, LineSeries, PathElement, RED, RGBColor, SVGBackend, WHITE,
};
use purlin::{
    prelude::*,
    sdf::{
        Claims, Continuation, OffsetRange, OffsetRangeTracker, SdfContext, SourceWatermark,
        SourceWatermarkState, SplittableDoFn, Unsplittable,
    },
};
use serde::{Deserialize, Serialize};

/// Draws how a watermark adapts to its data
#[derive(clap::Args, Clone)]
struct Options {
    /// Where the picture goes
    #[arg(long, default_value = "watermark.svg")]
    picture: PathBuf,

    /// How many records come
    #[arg(long, default_value_t = 3000)]
    records: u32,

    /// The greatest delay of a record, in milliseconds
    #[arg(long, default_value_t = 4000)]
    delay: u32,
}

/// A record comes each 100 ms.
const EVERY: Duration = Duration::from_millis(100);
/// So many records are taken at once, and then the watermark moves.
const AT_ONCE: i64 = 10;

/// When record `n` comes.
fn arrival(n: i64) -> Timestamp {
    Timestamp::EPOCH + Duration::from_millis(EVERY.as_millis() * n)
}

/// When record `n` was made: up to `delay` ms before, for most of them less than a quarter of that. The same each time.
fn made(n: i64, delay: u32) -> Timestamp {
    let scattered = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let share = scattered as f64 / f64::from(u32::MAX);
    arrival(n) - Duration::from_millis((f64::from(delay) * share * share) as i64)
}

/// The records, by their numbers.
#[derive(Clone)]
struct ReadRecords {
    delay: u32,
}

impl SplittableDoFn for ReadRecords {
    type Input = i64;
    type Output = Seen;
    type Tracker = Unsplittable<OffsetRangeTracker>;
    type Estimator = SourceWatermark;

    fn initial_restriction(&self, records: &i64, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, *records))
    }

    fn split(&self, _: &i64, r: OffsetRange, _: usize, _: &SdfContext<'_>) -> Result<Vec<OffsetRange>> {
        Ok(vec![r])
    }

    fn new_tracker(
        &self,
        _: &i64,
        r: OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Unsplittable<OffsetRangeTracker>> {
        Ok(Unsplittable::new(OffsetRangeTracker::new(r)))
    }

    fn initial_watermark_state(
        &self,
        _: &i64,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<SourceWatermarkState> {
        Ok(SourceWatermarkState::default())
    }

    fn new_watermark_estimator(
        &self,
        state: SourceWatermarkState,
        _: &i64,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<SourceWatermark> {
        Ok(SourceWatermark::new(state))
    }

    fn process(
        &mut self,
        _: &i64,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, Seen>,
    ) -> Result<Continuation> {
        let from = claims.restriction().start;
        for n in from..from + AT_ONCE {
            if !claims.try_claim(n) {
                return Ok(Continuation::Stop);
            }
            // As it is before the record: what lies behind it is late.
            let watermark = claims.watermark();
            let made = made(n, self.delay);
            out.emit_at(Seen { n, made, watermark }, made);
        }
        // The runner learns of the watermark when it gets the rest back.
        Ok(Continuation::resume())
    }
}

/// A record, and the watermark when it came.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Seen {
    n: i64,
    made: Timestamp,
    watermark: Timestamp,
}

impl Seen {
    /// How far the watermark is behind, in seconds.
    fn lag(&self) -> f64 {
        (arrival(self.n) - self.watermark).as_millis() as f64 / 1000.0
    }

    fn is_late(&self) -> bool {
        self.made < self.watermark
    }
}

fn seconds(t: Timestamp) -> f64 {
    t.as_millis() as f64 / 1000.0
}

/// A line for each step of the warm-up, and how many were late after it.
fn tell(seen: &[Seen]) {
    for n in [200, 400, 700, 900, 1100, 2000, 2900] {
        match seen.get(n).map(Seen::lag) {
            Some(lag) if lag < 86_400.0 => println!("record {n}: the watermark is {lag:.1} s behind"),
            Some(_) => println!("record {n}: there is no watermark to speak of"),
            None => {}
        }
    }
    let warm = seen.get(1000..).unwrap_or_default();
    let late = warm.iter().filter(|seen| seen.is_late()).count();
    println!("after record 1000, {late} of {} were late", warm.len());
}

/// The picture of records in their order.
fn draw(seen: &[Seen], to: &Path) -> Result {
    let told = |why: &dyn std::fmt::Display| DoFnError::msg(format!("{}: {why}", to.display()));
    let end = seen.last().map_or(1.0, |last| seconds(arrival(last.n)) + 1.0);
    let mut picture = String::new();
    {
        let area = plotters::drawing::IntoDrawingArea::into_drawing_area(SVGBackend::with_string(
            &mut picture,
            (900, 600),
        ));
        area.fill(&WHITE).map_err(|why| told(&why))?;
        let mut chart = ChartBuilder::on(&area)
            .caption("A watermark that adapts to its data", ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(48)
            .build_cartesian_2d(0.0..end, -40.0..end)
            .map_err(|why| told(&why))?;
        chart
            .configure_mesh()
            .light_line_style(RGBColor(0xee, 0xee, 0xee))
            .x_desc("processing time, s")
            .y_desc("event time, s")
            .draw()
            .map_err(|why| told(&why))?;
        let dots = seen.iter().map(|seen| {
            let color = if seen.is_late() { RED.filled() } else { RGBColor(0x99, 0x99, 0x99).filled() };
            Circle::new((seconds(arrival(seen.n)), seconds(seen.made)), 1, color)
        });
        chart
            .draw_series(dots)
            .map_err(|why| told(&why))?
            .label("record (red: late)")
            .legend(|(x, y)| Circle::new((x + 8, y), 2, RGBColor(0x99, 0x99, 0x99).filled()));
        let line = seen.iter().filter_map(|seen| {
            let watermark = seconds(seen.watermark);
            (watermark > -40.0).then(|| (seconds(arrival(seen.n)), watermark))
        });
        chart
            .draw_series(LineSeries::new(line, BLUE.stroke_width(2)))
            .map_err(|why| told(&why))?
            .label("watermark")
            .legend(|(x, y)| PathElement::new([(x, y), (x + 16, y)], BLUE.stroke_width(2)));
        chart
            .configure_series_labels()
            .border_style(RGBColor(0xbb, 0xbb, 0xbb))
            .background_style(WHITE)
            .draw()
            .map_err(|why| told(&why))?;
        area.present().map_err(|why| told(&why))?;
    }
    std::fs::write(to, picture).map_err(|why| told(&why))
}

fn build(p: &Pipeline, options: &Options) {
    let picture = options.picture.clone();
    p.create("Stream", [i64::from(options.records)])
        .par_do_splittable("Read", ReadRecords { delay: options.delay })
        .apply("List", ToList::globally())
        .map_cx("Draw", move |mut seen: Vec<Seen>, _| {
            seen.sort_by_key(|seen| seen.n);
            draw(&seen, &picture)?;
            tell(&seen);
            Ok(())
        });
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}
