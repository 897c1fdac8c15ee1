//! W4: Nexmark. Queries 0 to 2 take blocks on several threads; the others are loops of one thread, since events come in
//! the order of their times and what comes next may need all that came before.

mod groups;
mod winners;

use std::collections::HashMap as StdHashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

pub use self::groups::{q5, q7, q8, q11, q12};
use self::winners::{Winner, Winners};
use super::on_threads;
use crate::nexmark::{
    Auction, Bid, CATEGORY, Event, LAST, PERIOD_MS, Person, Preloaded, WINDOW_MS, euros, is_looked_for,
    is_near, q0 as answer0, q1 as answer1, q2 as answer2, q3 as answer3, q4 as answer4, q6 as answer6,
};
use crate::{Failure, Outcome, Params, checksum};

type Map<K, V> = HashMap<K, V, FixedState>;

/// Query 0: all events go through.
///
/// # Errors
/// None.
pub fn q0(params: &Params) -> Result<Outcome, Failure> {
    stateless(params, |event| answer0(&event))
}

/// Query 1: the bids in euros.
///
/// # Errors
/// None.
pub fn q1(params: &Params) -> Result<Outcome, Failure> {
    stateless(params, |event| match event {
        Event::Bid(bid) => answer1(&Bid { price: euros(bid.price), ..bid }),
        _ => 0,
    })
}

/// Query 2: the bids for some auctions.
///
/// # Errors
/// None.
pub fn q2(params: &Params) -> Result<Outcome, Failure> {
    stateless(params, |event| match event {
        Event::Bid(bid) if is_looked_for(&bid) => answer2(bid.auction, bid.price),
        _ => 0,
    })
}

/// A seller as query 3 knows them: a near person's name, city and state, and auctions that wait for the person.
#[derive(Default)]
struct Seller {
    person: Option<(String, String, String)>,
    waiting: Vec<u64>,
}

/// Query 3: near persons and their auctions in a category, however far apart they come.
///
/// # Errors
/// None.
pub fn q3(params: &Params) -> Result<Outcome, Failure> {
    let mut sellers: Map<u64, Seller> = Map::default();
    let mut sum = 0_u64;
    let mut add = |(name, city, state): &(String, String, String), auction| {
        sum = sum.wrapping_add(answer3(name, city, state, auction));
    };
    for_each(&params.preloaded, |event| match event {
        Event::Person(person) if is_near(&person) => {
            let seller = sellers.entry(person.id).or_default();
            let person = (person.name, person.city, person.state);
            for auction in seller.waiting.drain(..) {
                add(&person, auction);
            }
            seller.person = Some(person);
        }
        Event::Auction(auction) if auction.category == CATEGORY => {
            let seller = sellers.entry(auction.seller).or_default();
            match &seller.person {
                Some(person) => add(person, auction.id),
                None => seller.waiting.push(auction.id),
            }
        }
        _ => {}
    });
    Ok(Outcome::new(sum, params.n))
}

/// Query 4: the average winning price of each category in sliding windows.
///
/// # Errors
/// None.
pub fn q4(params: &Params) -> Result<Outcome, Failure> {
    let mut windows: Map<(i64, u64), (u64, u64)> = Map::default();
    winners(&params.preloaded, |winner| {
        let last = (winner.expires - 1).div_euclid(PERIOD_MS) * PERIOD_MS;
        for start in (0..WINDOW_MS / PERIOD_MS).map(|back| last - back * PERIOD_MS) {
            let (sum, count) = windows.entry((start, winner.category)).or_default();
            *sum += winner.price;
            *count += 1;
        }
    });
    // Ten categories and windows a second: that they stay until the end costs nothing.
    let answers = windows
        .into_iter()
        .map(|((start, category), (sum, count))| answer4(category, start, sum as f64 / count as f64));
    Ok(Outcome::new(checksum::of(answers), params.n))
}

/// Query 6: the average price of each seller's last auctions.
///
/// # Errors
/// None.
pub fn q6(params: &Params) -> Result<Outcome, Failure> {
    let mut sellers: Map<u64, Vec<(i64, u64, u64)>> = Map::default();
    winners(&params.preloaded, |winner| {
        let last = sellers.entry(winner.seller).or_default();
        // Winners come by the end of their auctions.
        if last.len() == LAST {
            last.remove(0);
        }
        last.push((winner.expires, winner.auction, winner.price));
    });
    let answers = sellers.into_iter().map(|(seller, last)| {
        let sum: u64 = last.iter().map(|(_, _, price)| price).sum();
        answer6(seller, sum as f64 / last.len() as f64)
    });
    Ok(Outcome::new(checksum::of(answers), params.n))
}

fn for_each(events: &Preloaded, mut process: impl FnMut(Event)) {
    for block in 0..events.blocks() {
        for event in events.take(block) {
            process(event);
        }
    }
}

fn winners(events: &Preloaded, mut won: impl FnMut(Winner)) {
    let mut winners = Winners::default();
    for_each(events, |event| winners.process(event, &mut won));
    winners.finish(&mut won);
}

fn stateless(params: &Params, answer: impl Fn(Event) -> u64 + Sync) -> Result<Outcome, Failure> {
    let claims = AtomicU64::new(0);
    let sums = on_threads(params.threads.max(1), |_| {
        let mut sum = 0_u64;
        loop {
            let block = claims.fetch_add(1, Ordering::Relaxed);
            if block >= params.preloaded.blocks() {
                return sum;
            }
            for event in params.preloaded.take(block) {
                sum = sum.wrapping_add(answer(event));
            }
        }
    });
    Ok(Outcome::new(checksum::of(sums), params.n))
}

/// The answers of a query by the plainest means there are, for the test that compares.
pub fn model(query: &str, events: &[Event]) -> u64 {
    let bids =
        || events.iter().filter_map(|event| if let Event::Bid(bid) = event { Some(bid) } else { None });
    let all_auctions: Vec<&Auction> = events
        .iter()
        .filter_map(|event| if let Event::Auction(a) = event { Some(a) } else { None })
        .collect();
    let all_persons: Vec<&Person> =
        events.iter().filter_map(|event| if let Event::Person(p) = event { Some(p) } else { None }).collect();
    let (auctions, persons) = (|| all_auctions.iter().copied(), || all_persons.iter().copied());
    let sliding = |time: i64| {
        (0..WINDOW_MS / PERIOD_MS).map(move |back| (time.div_euclid(PERIOD_MS) - back) * PERIOD_MS)
    };
    let fixed = |time: i64| time.div_euclid(WINDOW_MS) * WINDOW_MS;
    // All bids by auction, then the winner of each auction that has one.
    let mut by_auction: StdHashMap<u64, Vec<&Bid>> = StdHashMap::new();
    bids().for_each(|bid| by_auction.entry(bid.auction).or_default().push(bid));
    let won = || {
        auctions().filter_map(|auction| {
            let bids = by_auction.get(&auction.id)?.iter();
            let valid = bids.filter(|bid| bid.time < auction.expires && bid.price >= auction.reserve);
            Some((auction, valid.map(|bid| bid.price).max()?))
        })
    };
    match query {
        "q0" => checksum::of(events.iter().map(answer0)),
        "q1" => checksum::of(bids().map(|bid| answer1(&Bid { price: euros(bid.price), ..bid.clone() }))),
        "q2" => {
            checksum::of(bids().filter(|bid| is_looked_for(bid)).map(|bid| answer2(bid.auction, bid.price)))
        }
        "q3" => checksum::of(auctions().filter(|auction| auction.category == CATEGORY).flat_map(|auction| {
            let sellers = persons().filter(|person| person.id == auction.seller && is_near(person));
            sellers.map(|person| answer3(&person.name, &person.city, &person.state, auction.id))
        })),
        "q4" => {
            let mut prices: StdHashMap<(i64, u64), Vec<u64>> = StdHashMap::new();
            for (auction, price) in won() {
                for start in sliding(auction.expires - 1) {
                    prices.entry((start, auction.category)).or_default().push(price);
                }
            }
            checksum::of(
                prices.into_iter().map(|((start, category), prices)| answer4(category, start, mean(&prices))),
            )
        }
        "q5" => {
            let mut counts: StdHashMap<i64, StdHashMap<u64, u64>> = StdHashMap::new();
            for bid in bids() {
                for start in sliding(bid.time) {
                    *counts.entry(start).or_default().entry(bid.auction).or_default() += 1;
                }
            }
            checksum::of(counts.into_iter().flat_map(|(start, counts)| {
                let most = counts.values().copied().max().unwrap_or(0);
                let hottest = counts.into_iter().filter(move |(_, count)| *count == most);
                hottest.map(move |(auction, count)| crate::nexmark::q5(start, auction, count))
            }))
        }
        "q6" => {
            let mut prices: StdHashMap<u64, Vec<(i64, u64, u64)>> = StdHashMap::new();
            for (auction, price) in won() {
                prices.entry(auction.seller).or_default().push((auction.expires, auction.id, price));
            }
            checksum::of(prices.into_iter().map(|(seller, mut prices)| {
                prices.sort_unstable();
                let last: Vec<u64> = prices.iter().rev().take(LAST).map(|(_, _, price)| *price).collect();
                answer6(seller, mean(&last))
            }))
        }
        "q7" => {
            let mut most: StdHashMap<i64, u64> = StdHashMap::new();
            bids().for_each(|bid| {
                let most = most.entry(fixed(bid.time)).or_default();
                *most = bid.price.max(*most);
            });
            let highest = bids().filter(|bid| most[&fixed(bid.time)] == bid.price);
            checksum::of(highest.map(|b| crate::nexmark::q7(fixed(b.time), b.auction, b.bidder, b.price)))
        }
        "q8" => checksum::of(persons().flat_map(|person| {
            let opened = auctions()
                .filter(|auction| auction.seller == person.id && fixed(auction.time) == fixed(person.time));
            opened.map(|a| crate::nexmark::q8(fixed(person.time), person.id, &person.name, a.reserve))
        })),
        "q11" => {
            let mut times: StdHashMap<u64, Vec<i64>> = StdHashMap::new();
            bids().for_each(|bid| times.entry(bid.bidder).or_default().push(bid.time));
            checksum::of(times.into_iter().flat_map(|(bidder, times)| {
                let sessions: Vec<&[i64]> = times.chunk_by(|a, b| b - a < crate::nexmark::GAP_MS).collect();
                let answer = |session: &&[i64]| crate::nexmark::q11(bidder, session[0], session.len() as u64);
                sessions.iter().map(answer).collect::<Vec<_>>()
            }))
        }
        "q12" => checksum::of(bids().map(|bid| crate::nexmark::q12(bid.bidder, 1))),
        _ => 0,
    }
}

fn mean(prices: &[u64]) -> f64 {
    prices.iter().sum::<u64>() as f64 / prices.len() as f64
}
