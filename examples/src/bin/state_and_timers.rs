//! State and timers: a DoFn that remembers, for each key and window, and acts when a time has come.
//!
//! What a customer orders within a minute goes out in one parcel: each order is kept in a bag, and a timer at the
//! minute's end sends them all.
//!
//! ```text
//! cargo run -p purlin-examples --bin state_and_timers
//! ```

use purlin::{
    prelude::*,
    state::{Bag, Timer},
};

/// Packs what customers order
#[derive(clap::Args, Clone)]
struct Options {
    /// How long orders are gathered
    #[arg(long, default_value = "1m")]
    window: Duration,
}

/// Seconds since midnight, customer, what was ordered.
const ORDERS: [(i64, &str, &str); 6] = [
    (3, "ann", "tea"),
    (20, "bob", "salt"),
    (41, "ann", "milk"),
    (61, "ann", "bread"),
    (62, "bob", "oil"),
    (119, "bob", "tea"),
];

#[derive(KeyedState)]
struct Waiting {
    items: Bag<String>,
    #[timer(event)]
    send: Timer,
}

/// Sends everything that a customer ordered in a window when the window ends.
#[derive(Clone)]
struct Parcels;

impl KeyedDoFn for Parcels {
    type Key = String;
    type Value = String;
    type Output = String;
    type State = Waiting;

    fn process(
        &mut self,
        _: &String,
        item: String,
        state: &mut Waiting,
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, String>,
    ) -> Result {
        state.items.add(item);
        state.send.set(cx, cx.window().max_timestamp())
    }

    fn on_timer(
        &mut self,
        _: WaitingTimer,
        customer: &String,
        state: &mut Waiting,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        let mut items = state.items.take();
        items.sort();
        out.emit(format!("{} {customer}: {}", cx.window(), items.join(", ")));
        Ok(())
    }
}

fn build(p: &Pipeline, options: &Options) {
    let orders = ORDERS.map(|(at, who, what)| ((who.to_owned(), what.to_owned()), Timestamp::from_secs(at)));
    p.create_timestamped("Orders", orders)
        .window_into("Windows", FixedWindows::of(options.window))
        .par_do_keyed("Parcels", Parcels)
        .map("Print", |line| println!("{line}"));
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}
