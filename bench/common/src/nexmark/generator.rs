//! Events by index.

use super::{Auction, Bid, Event, Person};
use crate::generate::{below, splitmix64};

/// Persons, auctions and all events in a turn.
const PERSONS: u64 = 1;
const AUCTIONS: u64 = 3;
const TURN: u64 = 50;

/// Events in a millisecond of event time.
const EVENTS_PER_MS: u64 = 10;

/// The first ids, as in Beam's suite.
const FIRST_PERSON: u64 = 1_000;
const FIRST_AUCTION: u64 = 1_000;
const FIRST_CATEGORY: u64 = 10;
const CATEGORIES: u64 = 5;

/// How many persons are active, and how far ahead of the last one an id may lie.
const ACTIVE_PERSONS: u64 = 1_000;
const PERSON_LEAD: u64 = 10;

/// How many auctions are open, and how far ahead of the last one a bid may lie.
const OPEN_AUCTIONS: u64 = 100;
const AUCTION_LEAD: u64 = 10;

/// One hot auction, seller or bidder in so many.
const HOT: u64 = 100;

const FIRST_NAMES: [&str; 11] =
    ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"];
const LAST_NAMES: [&str; 9] =
    ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"];
const STATES: [&str; 6] = ["AZ", "CA", "ID", "OR", "WA", "WY"];
const CITIES: [&str; 10] = [
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
];

/// Makes events.
///
/// ```
/// use purlin_bench_common::nexmark::Nexmark;
///
/// assert_eq!(Nexmark::event(77), Nexmark::event(77));
/// assert!((0..50).filter(|i| Nexmark::event(*i).bid().is_some()).count() == 46);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Nexmark;

impl Nexmark {
    /// The event at an index. Events lie in the order of their times.
    pub fn event(index: u64) -> Event {
        let mut draws = Draws(splitmix64(index ^ 0x6e65_786d_6172_6b00));
        match index % TURN {
            0 => Event::Person(person(index, &mut draws)),
            offset if offset < PERSONS + AUCTIONS => Event::Auction(auction(index, &mut draws)),
            _ => Event::Bid(bid(index, &mut draws)),
        }
    }

    /// When the event at an index happens, in milliseconds.
    pub const fn time(index: u64) -> i64 {
        (index / EVENTS_PER_MS) as i64
    }
}

/// Random numbers of one event.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = splitmix64(self.0);
        below(self.0, bound)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// From 100 to 10^8, each power of ten as likely as any other.
    fn price(&mut self) -> u64 {
        self.0 = splitmix64(self.0);
        let uniform = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        (10_f64.powf(uniform * 6.0) * 100.0).round() as u64
    }

    fn letters(&mut self, len: u64) -> String {
        let mut letters = String::with_capacity(len as usize);
        for _ in 0..len {
            letters.push(char::from(b'a' + self.below(26) as u8));
        }
        letters
    }

    /// What is missing of a size, give or take a fifth.
    fn extra(&mut self, has: usize, size: u64) -> String {
        let missing = size.saturating_sub(has as u64);
        let fifth = missing / 5;
        let len = missing - fifth + self.below(2 * fifth + 1);
        "x".repeat(len as usize)
    }
}

/// How many persons there were before this event or at it, less one.
fn last_person(index: u64) -> u64 {
    // Each turn begins with its only person.
    index / TURN * PERSONS
}

/// How many auctions there were before this event or at it, less one; 0 before the first.
fn last_auction(index: u64) -> u64 {
    let (turn, offset) = (index / TURN, index % TURN);
    let before = turn * AUCTIONS;
    (before + offset.min(AUCTIONS)).saturating_sub(1)
}

fn some_person(index: u64, draws: &mut Draws) -> u64 {
    let persons = last_person(index) + 1;
    let active = persons.min(ACTIVE_PERSONS);
    persons - active + draws.below(active + PERSON_LEAD)
}

fn person(index: u64, draws: &mut Draws) -> Person {
    let name = format!("{} {}", draws.of(&FIRST_NAMES), draws.of(&LAST_NAMES));
    let email = format!("{}@{}.com", draws.letters(7), draws.letters(5));
    let card = |draws: &mut Draws| draws.below(10_000);
    let credit_card = format!("{:04} {:04} {:04} {:04}", card(draws), card(draws), card(draws), card(draws));
    let (city, state) = (draws.of(&CITIES).to_owned(), draws.of(&STATES).to_owned());
    let has = 16 + name.len() + email.len() + credit_card.len() + city.len() + state.len();
    let extra = draws.extra(has, 200);
    let id = FIRST_PERSON + last_person(index);
    Person { id, name, email, credit_card, city, state, time: Nexmark::time(index), extra }
}

fn auction(index: u64, draws: &mut Draws) -> Auction {
    let seller = if draws.below(4) > 0 { last_person(index) / HOT * HOT } else { some_person(index, draws) }
        + FIRST_PERSON;
    let category = FIRST_CATEGORY + draws.below(CATEGORIES);
    let initial_bid = draws.price();
    let reserve = initial_bid + draws.price();
    let len = draws.below(20);
    let item = draws.letters(len);
    let len = draws.below(100);
    let description = draws.letters(len);
    let time = Nexmark::time(index);
    // About as many are open at a time as should be.
    let horizon = Nexmark::time(index + OPEN_AUCTIONS * TURN / AUCTIONS) - time;
    let expires = time + 1 + draws.below((2 * horizon).max(1) as u64) as i64;
    let extra = draws.extra(64 + item.len() + description.len(), 500);
    let id = FIRST_AUCTION + last_auction(index);
    Auction { id, item, description, initial_bid, reserve, time, expires, seller, category, extra }
}

fn bid(index: u64, draws: &mut Draws) -> Bid {
    let last = last_auction(index);
    let auction = if draws.below(2) > 0 {
        last / HOT * HOT
    } else {
        let least = last.saturating_sub(OPEN_AUCTIONS);
        least + draws.below(last - least + 1 + AUCTION_LEAD)
    } + FIRST_AUCTION;
    let bidder =
        if draws.below(4) > 0 { last_person(index) / HOT * HOT + 1 } else { some_person(index, draws) }
            + FIRST_PERSON;
    let price = draws.price();
    let extra = draws.extra(32, 100);
    Bid { auction, bidder, price, time: Nexmark::time(index), extra }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_count_up_and_proportions_are_kept() {
        let (mut persons, mut auctions, mut bids) = (FIRST_PERSON, FIRST_AUCTION, 0);
        for index in 0..5_000 {
            match Nexmark::event(index) {
                Event::Person(person) => {
                    assert_eq!(person.id, persons);
                    persons += 1;
                }
                Event::Auction(auction) => {
                    assert_eq!(auction.id, auctions);
                    assert!(auction.expires > auction.time && auction.reserve >= auction.initial_bid);
                    auctions += 1;
                }
                Event::Bid(bid) => {
                    assert!((100..=100_000_000).contains(&bid.price));
                    assert!(bid.auction < auctions + AUCTION_LEAD + 1);
                    bids += 1;
                }
            }
        }
        assert_eq!((persons - FIRST_PERSON, auctions - FIRST_AUCTION, bids), (100, 300, 4_600));
    }

    #[test]
    fn sizes_and_hot_ids_are_as_asked() {
        let bids: Vec<Bid> = (100_000..150_000).filter_map(|i| Nexmark::event(i).bid()).collect();
        let hot = bids.iter().filter(|bid| bid.auction % HOT == 0).count() as f64 / bids.len() as f64;
        assert!((0.48..0.54).contains(&hot), "{hot}");
        let size = bids.iter().map(|bid| 32 + bid.extra.len()).sum::<usize>() / bids.len();
        assert!((95..105).contains(&size), "{size}");
    }
}
