use purlin_derive::KeyedState;
use purlin_sdk::state::{Bag, Timer};

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Cart {
    items: Bag<String>,
    total: u64,
    #[timer(event)]
    expiry: Timer,
}

fn main() {}
