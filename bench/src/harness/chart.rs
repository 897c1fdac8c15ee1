//! The chart: what each system takes beside the hand-written loop, on a logarithmic scale.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::summary::Row;
use crate::Failure;

/// Pixels of a bar with the space around it.
const BAR: i32 = 18;

/// Pixels of the whole width.
const WIDTH: u32 = 860;

/// Pixels left of the bars, for names.
const NAMES: i32 = 210;

/// Draws the ratios to the hand-written loop on one thread, work by work.
///
/// # Errors
/// If there is nothing to draw, or it cannot be drawn.
pub fn svg(rows: &[Row]) -> Result<String, Failure> {
    let bars: Vec<(&Row, f64)> = rows
        .iter()
        .filter(|row| row.threads == 1 && row.vs.as_deref() == Some("hand"))
        .filter_map(|row| Some((row, row.ratio?)))
        .collect();
    let most = bars.iter().map(|(_, ratio)| *ratio).fold(f64::NAN, f64::max);
    if most.is_nan() {
        return Err("there is no ratio to draw: the chart needs a run with --threads=1".into());
    }
    let least = bars.iter().map(|(_, ratio)| *ratio).fold(0.5, f64::min);
    let mut drawn = String::new();
    draw(SVGBackend::with_string(&mut drawn, (WIDTH, height(&bars))), &bars, least, most * 1.8)?;
    Ok(drawn)
}

/// Pixels of the whole height: bars, a gap ahead of each work, title and scale.
fn height(bars: &[(&Row, f64)]) -> u32 {
    let works = 1 + bars.windows(2).filter(|pair| pair[0].0.work != pair[1].0.work).count();
    (bars.len() as u32 + works as u32) * BAR as u32 + 60
}

fn draw(backend: SVGBackend<'_>, bars: &[(&Row, f64)], least: f64, most: f64) -> Result<(), Failure> {
    let told = |why: &dyn std::fmt::Display| Failure::from(why.to_string());
    let area = backend.into_drawing_area();
    area.fill(&WHITE).map_err(|why| told(&why))?;
    let bottom = height(bars) as i32 - 30;
    let x = |ratio: f64| {
        let share = (ratio / least).ln() / (most / least).ln();
        NAMES + (share * f64::from(WIDTH as i32 - NAMES - 20)) as i32
    };
    let font = |size: i32, color: &RGBColor| ("sans-serif", size).into_font().color(color);
    let right = |size, color| font(size, color).pos(Pos::new(HPos::Right, VPos::Center));
    let left = |size, color| font(size, color).pos(Pos::new(HPos::Left, VPos::Center));
    let text = |text: &str, at, style: TextStyle<'_>| {
        area.draw(&Text::new(text.to_owned(), at, style)).map_err(|why| told(&why))
    };
    text("CPU time over the hand-written loop's, 1 thread (less is better)", (10, 16), left(15, &BLACK))?;
    let mut y = 34;
    let mut work = "";
    for (row, ratio) in bars {
        if row.work != work {
            work = row.work;
            y += BAR;
            text(work, (10, y), left(13, &BLACK))?;
        }
        let color = color_of(row.system);
        let bar = Rectangle::new([(x(least), y - BAR / 2 + 2), (x(*ratio), y + BAR / 2 - 2)], color.filled());
        area.draw(&bar).map_err(|why| told(&why))?;
        text(row.system, (NAMES - 8, y), right(12, &BLACK))?;
        text(&format!("{ratio:.2}"), (x(*ratio) + 5, y), left(11, &BLACK))?;
        y += BAR;
    }
    let scale = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];
    for mark in scale.into_iter().filter(|mark| (least..most).contains(mark)) {
        let line = PathElement::new(vec![(x(mark), 30), (x(mark), bottom)], GREY.stroke_width(1));
        area.draw(&line).map_err(|why| told(&why))?;
        text(
            &format!("{mark}"),
            (x(mark), bottom + 12),
            font(11, &BLACK).pos(Pos::new(HPos::Center, VPos::Center)),
        )?;
    }
    area.present().map_err(|why| told(&why))
}

/// The lines of the scale.
const GREY: RGBColor = RGBColor(0xbb, 0xbb, 0xbb);

fn color_of(system: &str) -> RGBColor {
    match system.split('-').next() {
        Some("purlin") => RGBColor(0x1f, 0x6f, 0xb4),
        Some("hand") => RGBColor(0xcc, 0xcc, 0xcc),
        _ => RGBColor(0xe0, 0x8a, 0x2c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(work: &'static str, system: &'static str, ratio: Option<f64>) -> Row {
        Row {
            work,
            system,
            threads: 1,
            cpu_s: None,
            wall_s: None,
            events_per_s: None,
            peak_mb: None,
            checksum: None,
            vs: Some(String::from("hand")),
            ratio,
            target: None,
            p50_ms: None,
            p99_ms: None,
            ns_per_event: None,
            first: true,
            void: None,
        }
    }

    #[test]
    fn each_ratio_is_a_bar_with_its_number() {
        let rows =
            [row("W1", "purlin", Some(1.5)), row("W2", "timely", Some(30.25)), row("W2", "void", None)];
        let svg = svg(&rows).unwrap();
        for told in ["<svg", "1.50", "30.25", "timely", "W1", "W2"] {
            assert!(svg.contains(told), "{told}: {svg}");
        }
        assert!(!svg.contains("void"));
    }

    #[test]
    fn nothing_to_draw_is_an_error() {
        assert!(svg(&[row("W1", "purlin", None)]).is_err());
    }
}
