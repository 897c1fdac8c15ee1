//! What queries 4 and 6 begin with: for each auction that closes, its best bid.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Map;
use crate::nexmark::{Auction, Bid, Event};

/// An auction that was sold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Winner {
    pub(super) auction: u64,
    pub(super) seller: u64,
    pub(super) category: u64,
    pub(super) expires: i64,
    pub(super) price: u64,
}

struct Open {
    auction: Auction,
    best: u64,
}

/// Open auctions, and bids for auctions that are still to come.
#[derive(Default)]
pub(super) struct Winners {
    open: Map<u64, Open>,
    early: Map<u64, Vec<Bid>>,
    closing: BinaryHeap<Reverse<(i64, u64)>>,
    /// Auctions below this were opened.
    opened: u64,
}

impl Winners {
    /// Takes an event; events come in the order of their times.
    pub(super) fn process(&mut self, event: Event, won: &mut impl FnMut(Winner)) {
        match event {
            Event::Bid(bid) => {
                self.close(bid.time, won);
                if let Some(open) = self.open.get_mut(&bid.auction) {
                    offer(open, &bid);
                } else if bid.auction >= self.opened {
                    self.early.entry(bid.auction).or_default().push(bid);
                }
            }
            Event::Auction(auction) => {
                self.close(auction.time, won);
                self.opened = auction.id + 1;
                self.closing.push(Reverse((auction.expires, auction.id)));
                let id = auction.id;
                let mut open = Open { auction, best: 0 };
                for bid in self.early.remove(&id).into_iter().flatten() {
                    offer(&mut open, &bid);
                }
                self.open.insert(id, open);
            }
            Event::Person(_) => {}
        }
    }

    /// Closes all auctions.
    pub(super) fn finish(mut self, won: &mut impl FnMut(Winner)) {
        self.close(i64::MAX, won);
    }

    #[inline]
    fn close(&mut self, now: i64, won: &mut impl FnMut(Winner)) {
        while let Some(&Reverse((expires, id))) = self.closing.peek()
            && expires <= now
        {
            self.closing.pop();
            if let Some(Open { auction, best: price @ 1.. }) = self.open.remove(&id) {
                let Auction { seller, category, .. } = auction;
                won(Winner { auction: id, seller, category, expires, price });
            }
        }
    }
}

#[inline]
fn offer(open: &mut Open, bid: &Bid) {
    if bid.price >= open.auction.reserve && bid.price > open.best && bid.time < open.auction.expires {
        open.best = bid.price;
    }
}
