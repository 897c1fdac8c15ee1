//! Queries 5, 7, 8, 11 and 12: what happens in windows and sessions.

use super::{Map, for_each};
use crate::nexmark::{
    Event, GAP_MS, PERIOD_MS, WINDOW_MS, q5 as answer5, q7 as answer7, q8 as answer8, q11 as answer11,
    q12 as answer12,
};
use crate::{Failure, Outcome, Params, checksum};

/// Query 5: the auctions with most bids in sliding windows, by panes of a period.
///
/// # Errors
/// None.
pub fn q5(params: &Params) -> Result<Outcome, Failure> {
    const PANES: usize = (WINDOW_MS / PERIOD_MS) as usize;
    // The pane that is filled is the last one.
    let mut panes: [Map<u64, u64>; PANES] = Default::default();
    let (mut current, mut sum) = (0_i64, 0_u64);
    let mut merged: Map<u64, u64> = Map::default();
    let mut close = |panes: &mut [Map<u64, u64>; PANES], current: i64| {
        for (auction, count) in panes.iter().flatten() {
            *merged.entry(*auction).or_insert(0) += count;
        }
        let most = merged.values().copied().max().unwrap_or(0);
        let start = (current + 1) * PERIOD_MS - WINDOW_MS;
        let hottest = merged.drain().filter(|(_, count)| *count == most);
        sum = sum.wrapping_add(checksum::of(hottest.map(|(auction, count)| answer5(start, auction, count))));
        panes.rotate_left(1);
        panes[PANES - 1].clear();
    };
    for_each(&params.preloaded, |event| {
        let Event::Bid(bid) = event else { return };
        let pane = bid.time.div_euclid(PERIOD_MS);
        while current < pane {
            close(&mut panes, current);
            current += 1;
        }
        *panes[PANES - 1].entry(bid.auction).or_insert(0) += 1;
    });
    for _ in 0..PANES {
        close(&mut panes, current);
        current += 1;
    }
    Ok(Outcome::new(sum, params.n))
}

/// Query 7: the bids with the highest price of fixed windows.
///
/// # Errors
/// None.
pub fn q7(params: &Params) -> Result<Outcome, Failure> {
    let (mut window, mut highest, mut bids, mut sum) = (0_i64, 0_u64, Vec::new(), 0_u64);
    let mut close = |window: i64, highest: u64, bids: &mut Vec<(u64, u64)>| {
        let answers =
            bids.drain(..).map(|(auction, bidder)| answer7(window * WINDOW_MS, auction, bidder, highest));
        sum = sum.wrapping_add(checksum::of(answers));
    };
    for_each(&params.preloaded, |event| {
        let Event::Bid(bid) = event else { return };
        let of = bid.time.div_euclid(WINDOW_MS);
        if of != window {
            close(window, highest, &mut bids);
            (window, highest) = (of, 0);
        }
        if bid.price > highest {
            highest = bid.price;
            bids.clear();
        }
        if bid.price == highest {
            bids.push((bid.auction, bid.bidder));
        }
    });
    close(window, highest, &mut bids);
    Ok(Outcome::new(sum, params.n))
}

/// A person of query 8: the name, or the reserves of auctions that wait for it.
enum New {
    Name(String),
    Waiting(Vec<u64>),
}

/// Query 8: persons and the auctions they open in the window in which they register.
///
/// # Errors
/// None.
pub fn q8(params: &Params) -> Result<Outcome, Failure> {
    let mut persons: Map<u64, New> = Map::default();
    let (mut window, mut sum) = (0_i64, 0_u64);
    for_each(&params.preloaded, |event| {
        if matches!(event, Event::Bid(_)) {
            return;
        }
        let of = event.time().div_euclid(WINDOW_MS);
        if of != window {
            window = of;
            persons.clear();
        }
        let start = window * WINDOW_MS;
        match event {
            Event::Person(person) => {
                let before = persons.remove(&person.id);
                if let Some(New::Waiting(reserves)) = before {
                    let answers =
                        reserves.iter().map(|reserve| answer8(start, person.id, &person.name, *reserve));
                    sum = sum.wrapping_add(checksum::of(answers));
                }
                persons.insert(person.id, New::Name(person.name));
            }
            Event::Auction(auction) => {
                match persons.entry(auction.seller).or_insert_with(|| New::Waiting(Vec::new())) {
                    New::Name(name) => {
                        sum = sum.wrapping_add(answer8(start, auction.seller, name, auction.reserve));
                    }
                    New::Waiting(reserves) => reserves.push(auction.reserve),
                }
            }
            Event::Bid(_) => {}
        }
    });
    Ok(Outcome::new(sum, params.n))
}

/// Query 11: each bidder's bids by session.
///
/// # Errors
/// None.
pub fn q11(params: &Params) -> Result<Outcome, Failure> {
    /// How often sessions that have ended are looked for, in milliseconds.
    const SWEEP_MS: i64 = 1_000;
    // First bid, last bid, how many.
    let mut sessions: Map<u64, (i64, i64, u64)> = Map::default();
    let (mut sweep, mut sum) = (SWEEP_MS, 0_u64);
    for_each(&params.preloaded, |event| {
        let Event::Bid(bid) = event else { return };
        if bid.time >= sweep {
            sweep = bid.time + SWEEP_MS;
            sessions.retain(|&bidder, &mut (first, last, count)| {
                let goes_on = bid.time < last + GAP_MS;
                if !goes_on {
                    sum = sum.wrapping_add(answer11(bidder, first, count));
                }
                goes_on
            });
        }
        let (first, last, count) = sessions.entry(bid.bidder).or_insert((bid.time, bid.time, 0));
        if bid.time >= *last + GAP_MS {
            sum = sum.wrapping_add(answer11(bid.bidder, *first, *count));
            (*first, *count) = (bid.time, 0);
        }
        *last = bid.time;
        *count += 1;
    });
    let open = sessions.into_iter().map(|(bidder, (first, _, count))| answer11(bidder, first, count));
    Ok(Outcome::new(sum.wrapping_add(checksum::of(open)), params.n))
}

/// Query 12: each bidder's bids. All are done long before ten seconds have passed on the wall.
///
/// # Errors
/// None.
pub fn q12(params: &Params) -> Result<Outcome, Failure> {
    let mut counts: Map<u64, u64> = Map::default();
    for_each(&params.preloaded, |event| {
        if let Event::Bid(bid) = event {
            *counts.entry(bid.bidder).or_insert(0) += 1;
        }
    });
    let answers = counts.into_iter().map(|(bidder, count)| answer12(bidder, count));
    Ok(Outcome::new(checksum::of(answers), params.n))
}
