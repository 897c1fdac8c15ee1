//! A side input: a DoFn that looks things up in another collection.
//!
//! Orders are converted to euros by the rates of their day. Rates are a collection like any other, in daily windows;
//! `view_as_map` makes it something to look up in. An order waits until the rates of its window are there.
//!
//! ```text
//! cargo run -p purlin-examples --bin side_input
//! ```

use purlin::prelude::*;

#[derive(clap::Args, Clone)]
struct Options {}

/// Day, currency, euro cents for one unit.
const RATES: [(i64, &str, i64); 4] = [(0, "USD", 90), (0, "GBP", 115), (1, "USD", 95), (1, "GBP", 120)];

/// Day, currency, amount.
const ORDERS: [(i64, &str, i64); 4] = [(0, "USD", 10), (0, "GBP", 2), (1, "USD", 10), (1, "CHF", 7)];

fn build(p: &Pipeline, _: &Options) {
    let rates = daily(p, "Rates", RATES).view_as_map("AsMap");
    let view = rates.clone();
    let convert =
        move |(currency, amount): (String, i64), cx: &ProcessContext<'_>, out: &mut Emitter<'_, String>| {
            let text = match cx.side(&view)?.get(&currency) {
                Some(rate) => format!("{amount} {currency} are {} euro cents", amount * rate),
                None => format!("{amount} {currency}: there is no rate"),
            };
            out.emit(format!("{}: {text}", cx.timestamp()));
            Ok(())
        };
    daily(p, "Orders", ORDERS)
        .par_do_with("Convert", ParDo::from_fn(convert).side(&rates))
        .main()
        .map("Print", |line| println!("{line}"));
}

/// Pairs of currency and number, in a window for each day.
fn daily(p: &Pipeline, name: &str, rows: [(i64, &str, i64); 4]) -> PCollection<(String, i64)> {
    let midnight = |day| Timestamp::EPOCH + Duration::from_days(day);
    let timed = rows.map(|(day, currency, n)| ((currency.to_owned(), n), midnight(day)));
    p.create_timestamped(name, timed)
        .window_into(&format!("{name}ByDay"), FixedWindows::of(Duration::from_days(1)))
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}
