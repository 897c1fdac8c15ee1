//! The pipelines of batch scenarios, which are written in words.

use purlin_sdk::{Duration, window::TimestampCombiner};

use super::shapes::Shape;
use crate::golden::windowing::{Windowing, Windows};

/// A batch pipeline.
#[derive(Clone, Debug)]
pub(super) enum Text {
    /// What is done with the one input, one after the other.
    Line(Vec<Part>),
    /// What is done with all inputs together once each is in windows.
    Each(Windowing, Vec<Part>),
    /// A main input with a side input.
    Joined { main: Windowing, side: Windowing, shape: Shape },
    /// A splittable DoFn and what is done with its output.
    Splittable(String, Vec<Part>),
}

/// A step: its name and what is in its brackets.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Windows(Windowing),
    Op(String, Vec<String>),
    Stateful(String),
}

impl Text {
    /// # Errors
    /// What is not known of it.
    pub(super) fn parse(text: &str) -> Result<Text, String> {
        let mut pieces = text.split('|').map(str::trim);
        if let Some(rest) = text.strip_prefix("main ") {
            let (main, rest) = rest.split_once(';').ok_or_else(|| format!("`{text}` has no side input"))?;
            let side = rest.trim().strip_prefix("side ").and_then(|s| s.split_once(" as "));
            let (side, shape) = side.ok_or_else(|| format!("`{rest}` is no side input"))?;
            let windows = |text: &str| {
                windows(text.trim())?.ok_or_else(|| format!("`{text}` is no window function that is known"))
            };
            return Ok(Text::Joined {
                main: windows(main)?,
                side: windows(side)?,
                shape: Shape::parse(shape.trim())?,
            });
        }
        if let Some(rest) = text.strip_prefix("each ") {
            let (windowed, rest) = rest.split_once('|').ok_or_else(|| format!("`{text}` does nothing"))?;
            let windowing = windows(windowed.trim())?;
            let windowing =
                windowing.ok_or_else(|| format!("`{windowed}` is no window function that is known"))?;
            return Ok(Text::Each(windowing, parts(rest.split('|').map(str::trim))?));
        }
        if text.starts_with("sdf:") {
            let program = pieces.next().and_then(|p| p.strip_prefix("sdf:")).unwrap_or_default();
            let program = program.trim().trim_end_matches("(drain)").trim();
            return Ok(Text::Splittable(program.to_owned(), parts(pieces)?));
        }
        parts(pieces).map(Text::Line)
    }
}

fn parts<'a>(pieces: impl Iterator<Item = &'a str>) -> Result<Vec<Part>, String> {
    pieces.map(part).collect()
}

fn part(text: &str) -> Result<Part, String> {
    if let Some(program) = text.strip_prefix("stateful:") {
        return Ok(Part::Stateful(program.trim().to_owned()));
    }
    if let Some(windowing) = windows(text)? {
        return Ok(Part::Windows(windowing));
    }
    let (name, args) = call(text)?;
    Ok(Part::Op(name, args))
}

/// A name with what is in its brackets, between commas.
fn call(text: &str) -> Result<(String, Vec<String>), String> {
    let Some((name, rest)) = text.split_once('(') else { return Ok((text.to_owned(), Vec::new())) };
    let args = rest.strip_suffix(')').ok_or_else(|| format!("`{text}` has no closing bracket"))?;
    Ok((name.trim().to_owned(), args.split(',').map(|arg| arg.trim().to_owned()).collect()))
}

/// `global`, `fixed(size[, combiner])`, `sliding(size, period)` or `sessions(gap[, combiner])`; nothing for other names.
fn windows(text: &str) -> Result<Option<Windowing>, String> {
    let (name, args) = call(text)?;
    let seconds = |n: usize| -> Result<Duration, String> {
        let text = args.get(n).ok_or_else(|| format!("`{text}` has too few numbers"))?;
        let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is no number of seconds"))?;
        Ok(Duration::from_millis((seconds * 1000.0).round() as i64))
    };
    let (windows, used) = match name.as_str() {
        "global" => (Windows::Global, 0),
        "fixed" => (Windows::Fixed { size: seconds(0)?, offset: Duration::ZERO }, 1),
        "sliding" => (Windows::Sliding { size: seconds(0)?, period: seconds(1)?, offset: Duration::ZERO }, 2),
        "sessions" => (Windows::Sessions { gap: seconds(0)? }, 1),
        _ => return Ok(None),
    };
    let combiner = match args.get(used).map(String::as_str) {
        None => TimestampCombiner::EndOfWindow,
        Some("earliest") => TimestampCombiner::Earliest,
        Some("latest") => TimestampCombiner::Latest,
        Some(other) => return Err(format!("`{other}` is no timestamp combiner")),
    };
    Ok(Some(Windowing { windows, combiner, ..Windowing::default() }))
}
