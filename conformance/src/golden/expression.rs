//! Expressions in constructor syntax: `AfterWatermark(early=AfterCount(2))`.

use purlin_sdk::{Duration, window::Trigger};

use super::{
    datum::Datum,
    windowing::{Windows, after_watermark, count, duration},
};

/// An expression.
#[derive(Clone, Debug, PartialEq)]
enum Expr {
    Number(Datum),
    List(Vec<Expr>),
    /// A class, its arguments, and those with names.
    Call(String, Vec<Expr>, Vec<(String, Expr)>),
}

/// The window function that `text` constructs.
///
/// # Errors
/// When it is no expression, or constructs something else.
pub(super) fn window_fn(text: &str) -> Result<Windows, String> {
    let mut call = Call::parse(text)?;
    let windows = match call.class.as_str() {
        "GlobalWindows" => Windows::Global,
        "FixedWindows" => Windows::Fixed { size: call.duration("size")?, offset: call.offset()? },
        "SlidingWindows" => Windows::Sliding {
            size: call.duration("size")?,
            period: call.duration("period")?,
            offset: call.offset()?,
        },
        "Sessions" => Windows::Sessions { gap: call.duration("gap_size")? },
        "CustomTimestampingFixedWindowsWindowFn" => {
            Windows::Later { size: call.duration("size")?, offset: call.offset()? }
        }
        other => return Err(format!("`{other}` is no window function that is known")),
    };
    call.end()?;
    Ok(windows)
}

/// The trigger that `text` constructs.
///
/// # Errors
/// When it is no expression, or constructs something else.
pub(super) fn trigger(text: &str) -> Result<Trigger, String> {
    trigger_of(Call::parse(text)?)
}

fn trigger_of(mut call: Call) -> Result<Trigger, String> {
    let trigger = match call.class.as_str() {
        "Default" | "DefaultTrigger" => Trigger::default(),
        "AfterCount" => match call.take("count")? {
            Some(Expr::Number(n)) => Trigger::after_count(count(&n)?),
            _ => return Err("AfterCount needs a number".to_owned()),
        },
        "AfterWatermark" => {
            let (early, late) = (call.trigger("early")?, call.trigger("late")?);
            after_watermark(early, late)
        }
        "AfterProcessingTime" => match call.take("delay")? {
            Some(Expr::Number(delay)) => Trigger::after_processing_time().delay(duration(&delay)?),
            None => Trigger::after_processing_time(),
            Some(other) => return Err(format!("{other:?} is no delay")),
        },
        "Repeatedly" => Trigger::repeatedly(call.need_trigger("underlying")?),
        "AfterAny" => Trigger::after_any(call.triggers()?),
        "AfterAll" => Trigger::after_all(call.triggers()?),
        "AfterEach" => Trigger::after_each(call.triggers()?),
        "OrFinally" => {
            let main = call.need_trigger("body_trigger")?;
            main.or_finally(call.need_trigger("exit_trigger")?)
        }
        "Always" => Trigger::always(),
        "Never" | "_Never" => Trigger::never(),
        other => return Err(format!("`{other}` is no trigger that is known")),
    };
    call.end()?;
    Ok(trigger)
}

/// A call whose arguments are taken one by one.
struct Call {
    class: String,
    args: std::collections::VecDeque<Expr>,
    named: Vec<(String, Expr)>,
}

impl Call {
    fn parse(text: &str) -> Result<Call, String> {
        let mut parser = Parser { rest: text.trim() };
        let expr = parser.expr()?;
        match parser.rest {
            "" => Call::of(expr),
            rest => Err(format!("`{rest}` is left over of `{text}`")),
        }
    }

    fn of(expr: Expr) -> Result<Call, String> {
        match expr {
            Expr::Call(class, args, named) => Ok(Call { class, args: args.into(), named }),
            other => Err(format!("{other:?} is no class")),
        }
    }

    /// The next argument, or the one of this name.
    fn take(&mut self, name: &str) -> Result<Option<Expr>, String> {
        let named = self.named.iter().position(|(n, _)| n == name);
        match (self.args.pop_front(), named) {
            (Some(_), Some(_)) => Err(format!("{} has two values for `{name}`", self.class)),
            (Some(expr), None) => Ok(Some(expr)),
            (None, Some(at)) => Ok(Some(self.named.remove(at).1)),
            (None, None) => Ok(None),
        }
    }

    fn duration(&mut self, name: &str) -> Result<Duration, String> {
        match self.take(name)? {
            Some(Expr::Number(seconds)) => duration(&seconds),
            Some(other) => Err(format!("{other:?} is no number of seconds")),
            None => Err(format!("{} needs `{name}`", self.class)),
        }
    }

    fn offset(&mut self) -> Result<Duration, String> {
        let none = self.args.is_empty() && !self.named.iter().any(|(n, _)| n == "offset");
        if none { Ok(Duration::ZERO) } else { self.duration("offset") }
    }

    fn trigger(&mut self, name: &str) -> Result<Option<Trigger>, String> {
        match self.take(name)? {
            Some(Expr::Call(class, ..)) if class == "None" => Ok(None),
            Some(expr) => Call::of(expr).and_then(trigger_of).map(Some),
            None => Ok(None),
        }
    }

    fn need_trigger(&mut self, name: &str) -> Result<Trigger, String> {
        let trigger = self.trigger(name)?;
        trigger.ok_or_else(|| format!("{} needs `{name}`", self.class))
    }

    /// All arguments, or those of the one list that there is.
    fn triggers(&mut self) -> Result<Vec<Trigger>, String> {
        let mut all: Vec<Expr> = self.args.drain(..).collect();
        if let [Expr::List(list)] = &mut all[..] {
            all = std::mem::take(list);
        }
        all.into_iter().map(|expr| Call::of(expr).and_then(trigger_of)).collect()
    }

    fn end(&self) -> Result<(), String> {
        if self.args.is_empty() && self.named.is_empty() {
            return Ok(());
        }
        Err(format!("{} takes no {:?} {:?}", self.class, self.args, self.named))
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn eat(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn take_while(&mut self, is_in: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c| !is_in(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        taken.to_owned()
    }

    fn expr(&mut self) -> Result<Expr, String> {
        if self.eat('[') {
            let mut values = Vec::new();
            while !self.eat(']') {
                values.push(self.expr()?);
                if !self.eat(',') && !self.rest.starts_with(']') {
                    return Err(format!("`{}` should go on with `,` or `]`", self.rest));
                }
            }
            return Ok(Expr::List(values));
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            let text = self.take_while(|c| c.is_ascii_digit() || matches!(c, '-' | '.' | 'e'));
            let whole = text.parse().map(Datum::Int);
            let number = whole.or_else(|_| text.parse().map(Datum::float));
            return number.map(Expr::Number).map_err(|_| format!("`{text}` is no number"));
        }
        let class = self.take_while(|c| c.is_alphanumeric() || c == '_');
        if class.is_empty() {
            return Err(format!("`{}` is no expression", self.rest));
        }
        let (mut args, mut named) = (Vec::new(), Vec::new());
        if self.eat('(') {
            while !self.eat(')') {
                match self.expr()? {
                    Expr::Call(name, a, n) if a.is_empty() && n.is_empty() && self.eat('=') => {
                        named.push((name, self.expr()?));
                    }
                    other => args.push(other),
                }
                if !self.eat(',') && !self.rest.starts_with(')') {
                    return Err(format!("`{}` should go on with `,` or `)`", self.rest));
                }
            }
        }
        Ok(Expr::Call(class, args, named))
    }
}
