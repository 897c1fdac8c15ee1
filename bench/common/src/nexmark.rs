//! Nexmark's auction house: persons who register, auctions they open, bids. As in Beam's suite, of 50 events one is a
//! person, three are auctions and 46 are bids; half of the bids go to a hot auction, and three of four sellers and
//! bidders are hot persons.
//!
//! Source: Beam's `sdks/java/testing/nexmark`, `GeneratorConfig` and `PersonGenerator`, `AuctionGenerator`,
//! `BidGenerator`; the draws are this crate's own, so that an event is a pure function of its index.

mod answers;
mod generator;
mod preloaded;

use serde::{Deserialize, Serialize};

pub use answers::*;
pub use generator::Nexmark;
pub use preloaded::Preloaded;

/// Somebody who registers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// Unique among persons.
    pub id: u64,
    /// First and last name.
    pub name: String,
    /// An address.
    pub email: String,
    /// A number of four times four digits.
    pub credit_card: String,
    /// A city.
    pub city: String,
    /// Two capital letters.
    pub state: String,
    /// When, in milliseconds.
    pub time: i64,
    /// What brings a person to about 200 bytes.
    pub extra: String,
}

/// Something for sale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Auction {
    /// Unique among auctions.
    pub id: u64,
    /// What is sold.
    pub item: String,
    /// More about it.
    pub description: String,
    /// The least first bid.
    pub initial_bid: u64,
    /// The least price.
    pub reserve: u64,
    /// When it opens, in milliseconds.
    pub time: i64,
    /// Bids are taken before this, in milliseconds.
    pub expires: i64,
    /// A person's id.
    pub seller: u64,
    /// From 10 to 14.
    pub category: u64,
    /// What brings an auction to about 500 bytes.
    pub extra: String,
}

/// An offer for an auction, which may not be open yet, or no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bid {
    /// An auction's id.
    pub auction: u64,
    /// A person's id.
    pub bidder: u64,
    /// In cents.
    pub price: u64,
    /// When, in milliseconds.
    pub time: i64,
    /// What brings a bid to about 100 bytes.
    pub extra: String,
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Somebody registers.
    Person(Person),
    /// An auction opens.
    Auction(Auction),
    /// Somebody bids.
    Bid(Bid),
}

impl Event {
    /// When it happens, in milliseconds.
    pub const fn time(&self) -> i64 {
        match self {
            Event::Person(person) => person.time,
            Event::Auction(auction) => auction.time,
            Event::Bid(bid) => bid.time,
        }
    }

    /// The person, if it is one.
    pub fn person(self) -> Option<Person> {
        if let Event::Person(person) = self { Some(person) } else { None }
    }

    /// The auction, if it is one.
    pub fn auction(self) -> Option<Auction> {
        if let Event::Auction(auction) = self { Some(auction) } else { None }
    }

    /// The bid, if it is one.
    pub fn bid(self) -> Option<Bid> {
        if let Event::Bid(bid) = self { Some(bid) } else { None }
    }
}
