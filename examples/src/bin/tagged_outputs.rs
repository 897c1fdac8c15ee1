//! A transform with several outputs, in two ways.
//!
//! With a [`Tag`] a DoFn emits to a further output by name. With `#[derive(Outputs)]` it emits the variants of an enum,
//! and the compiler knows which outputs there are and what is in them.
//!
//! ```text
//! cargo run -p purlin-examples --bin tagged_outputs
//! ```

use purlin::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(clap::Args, Clone)]
struct Options {}

const BAD: Tag<String> = Tag::new("bad");

/// Reads amounts. What is none goes to the output `BAD`.
#[derive(Clone)]
struct Parse;

impl DoFn for Parse {
    type Input = String;
    type Output = i64;

    fn process(&mut self, text: String, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        match text.parse() {
            Ok(amount) => out.emit(amount),
            Err(_) => {
                cx.counter("bad_amounts").inc(1);
                out.emit_to(BAD, text);
            }
        }
        Ok(())
    }
}

/// An amount, by what it means. Each variant becomes a collection.
#[derive(Clone, Serialize, Deserialize, Outputs)]
enum Booking {
    Income(i64),
    Expense(i64),
    Nothing(()),
}

fn build(p: &Pipeline, _: &Options) {
    let amounts = p.create("Amounts", ["100", "-30", "0", "x", "-5", "7"].map(str::to_owned));

    let parsed = amounts.par_do_with("Parse", ParDo::of(Parse).tag(BAD));
    parsed.tagged(BAD).map("PrintBad", |text| println!("bad: {text}"));

    let bookings = parsed
        .main()
        .map("Sort", |amount| match amount {
            0 => Booking::Nothing(()),
            1.. => Booking::Income(amount),
            _ => Booking::Expense(-amount),
        })
        .split_outputs("Bookings");
    bookings.income.apply("Income", Sum::globally()).map("PrintIncome", |sum| println!("income: {sum}"));
    bookings.expense.apply("Expense", Sum::globally()).map("PrintExpense", |sum| println!("expense: {sum}"));
    bookings.nothing.apply("Nothing", Count::globally()).map("PrintNothing", |n| println!("nothing: {n}"));
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}
