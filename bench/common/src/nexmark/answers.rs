//! What the queries' results add to the checksum. Each mixes all columns of a result.

use crate::checksum::text;
use crate::generate::splitmix64;

use super::{Bid, Event, Person};

/// How long a window is, in milliseconds, and how far apart sliding ones start.
pub const WINDOW_MS: i64 = 10_000;
/// How far apart sliding windows start.
pub const PERIOD_MS: i64 = 5_000;
/// Query 11: how long a bidder must be still for the session to end.
pub const GAP_MS: i64 = 10_000;
/// Query 6: how many auctions of a seller are averaged.
pub const LAST: usize = 10;

/// Mixes numbers; their order matters.
fn mix<const N: usize>(columns: [u64; N]) -> u64 {
    columns.into_iter().fold(N as u64, |sum, column| splitmix64(sum ^ column))
}

/// Query 0: an event goes through. Cheap, since the query is.
#[inline]
pub const fn q0(event: &Event) -> u64 {
    match event {
        Event::Person(person) => person.id,
        Event::Auction(auction) => auction.id.wrapping_mul(3),
        Event::Bid(bid) => bid.price.wrapping_mul(5),
    }
}

/// Query 1: the price in euros.
#[inline]
pub const fn euros(price: u64) -> u64 {
    price * 908 / 1_000
}

/// Query 1: a bid with its price in euros. Cheap, since the query is.
#[inline]
pub const fn q1(bid: &Bid) -> u64 {
    bid.auction.wrapping_mul(31).wrapping_add(bid.bidder).wrapping_mul(31).wrapping_add(bid.price)
}

/// Query 2: whether a bid is for one of the auctions looked for.
#[inline]
pub const fn is_looked_for(bid: &Bid) -> bool {
    bid.auction.is_multiple_of(123)
}

/// Query 2: an auction and a price.
pub fn q2(auction: u64, price: u64) -> u64 {
    mix([auction, price])
}

/// Query 3: whether a person lives where the query asks.
pub fn is_near(person: &Person) -> bool {
    matches!(person.state.as_str(), "OR" | "ID" | "CA")
}

/// Query 3: the category that the query asks for.
pub const CATEGORY: u64 = 10;

/// Query 3: a person's name, city and state, and an auction.
pub fn q3(name: &str, city: &str, state: &str, auction: u64) -> u64 {
    mix([text(name), text(city), text(state), auction])
}

/// Query 4: a category's average price in a window by its start, rounded.
pub fn q4(category: u64, start: i64, mean: f64) -> u64 {
    mix([category, start as u64, mean.round() as u64])
}

/// Query 5: an auction with most bids in a window by its start.
pub fn q5(start: i64, auction: u64, bids: u64) -> u64 {
    mix([start as u64, auction, bids])
}

/// Query 6: a seller's average price at last, rounded.
pub fn q6(seller: u64, mean: f64) -> u64 {
    mix([seller, mean.round() as u64])
}

/// Query 7: a bid with the highest price of a window by its start.
pub fn q7(start: i64, auction: u64, bidder: u64, price: u64) -> u64 {
    mix([start as u64, auction, bidder, price])
}

/// Query 8: a person and the reserve of an auction opened in the window of their registration, by its start.
pub fn q8(start: i64, person: u64, name: &str, reserve: u64) -> u64 {
    mix([start as u64, person, text(name), reserve])
}

/// Query 11: a bidder's bids in a session by its start.
pub fn q11(bidder: u64, start: i64, bids: u64) -> u64 {
    mix([bidder, start as u64, bids])
}

/// Query 12: a bidder's bids. When panes come depends on the wall clock, so they are added up by a weight.
pub fn q12(bidder: u64, bids: u64) -> u64 {
    splitmix64(bidder).wrapping_mul(bids)
}
