use purlin_derive::KeyedState;
use purlin_sdk::state::{Bag, Timer};

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Cart {
    items: Bag<String>,
    expiry: Timer,
    #[timer(event)]
    last: Bag<String>,
}

fn main() {}
