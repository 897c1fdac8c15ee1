//! What queries 4 and 6 begin with: for each auction that closes, its best bid.

use purlin_derive::KeyedState;
use purlin_sdk::{
    Emitter, KeyedDoFn, PCollection, ProcessContext, Result, TimerContext, Timestamp,
    state::{Bag, Timer, Value},
};
use serde::{Deserialize, Serialize};

use crate::nexmark::Event;

/// How long a bid waits for an auction that is not open yet, in milliseconds; after that, it has closed.
const WAIT_MS: i64 = 1_000;

/// An auction that was sold.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sold {
    pub(super) auction: u64,
    pub(super) seller: u64,
    pub(super) category: u64,
    pub(super) expires: i64,
    pub(super) price: u64,
}

/// What is known of an auction when it opens.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Opened {
    seller: u64,
    category: u64,
    reserve: u64,
    expires: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Offer {
    Auction(Opened),
    Bid { price: u64, time: i64 },
}

impl Offer {
    fn of(event: Event) -> Option<(u64, Offer)> {
        match event {
            Event::Auction(a) => {
                let opened =
                    Opened { seller: a.seller, category: a.category, reserve: a.reserve, expires: a.expires };
                Some((a.id, Offer::Auction(opened)))
            }
            Event::Bid(bid) => Some((bid.auction, Offer::Bid { price: bid.price, time: bid.time })),
            Event::Person(_) => None,
        }
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct House {
    auction: Value<Opened>,
    best: Value<u64>,
    early: Bag<(u64, i64)>,
    #[timer(event)]
    close: Timer,
}

/// Sells an auction to its best bid when it closes.
#[derive(Clone, Debug)]
struct Sell;

/// Takes a bid if it is the best so far.
fn offer(auction: &Opened, best: &mut Value<u64>, price: u64, time: i64) {
    let better = best.read().is_none_or(|best| price > *best);
    if better && price >= auction.reserve && time < auction.expires {
        best.write(price);
    }
}

impl KeyedDoFn for Sell {
    type Key = u64;
    type Value = Offer;
    type Output = Sold;
    type State = House;

    fn process(
        &mut self,
        _: &u64,
        value: Offer,
        house: &mut House,
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, Sold>,
    ) -> Result {
        match value {
            Offer::Auction(auction) => {
                for (price, time) in house.early.take() {
                    offer(&auction, &mut house.best, price, time);
                }
                house.auction.write(auction);
                // Its last millisecond: when the watermark has passed that, all bids have come.
                house.close.set(cx, Timestamp::saturating_from_millis(auction.expires - 1))?;
            }
            Offer::Bid { price, time } => match house.auction.read().copied() {
                Some(auction) => offer(&auction, &mut house.best, price, time),
                None => {
                    house.early.add((price, time));
                    if !house.close.is_set() {
                        house.close.set(cx, Timestamp::saturating_from_millis(time + WAIT_MS))?;
                    }
                }
            },
        }
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: HouseTimer,
        id: &u64,
        house: &mut House,
        _: &TimerContext<'_>,
        out: &mut Emitter<'_, Sold>,
    ) -> Result {
        let HouseTimer::Close = timer;
        house.early.clear();
        if let (Some(opened), Some(price)) = (house.auction.take(), house.best.take()) {
            let Opened { seller, category, expires, .. } = opened;
            out.emit(Sold { auction: *id, seller, category, expires, price });
        }
        Ok(())
    }
}

/// The auctions that are sold, each at its last millisecond.
pub(super) fn of(events: &PCollection<Event>) -> PCollection<Sold> {
    events.flat_map("Offers", Offer::of).par_do_keyed("Sell", Sell)
}
