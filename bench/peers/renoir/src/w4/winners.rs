//! The winning bid of each auction: `Q4Unary` of renoir's own Nexmark. Bids that come ahead of their auction count, as
//! in Beam's suite.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use foldhash::fast::FixedState;
use purlin_bench_common::nexmark::{Auction, Bid, Event};
use renoir::Stream;
use renoir::operator::{ElementGenerator, Operator, StreamElement};

#[derive(Default, Clone)]
struct AuctionState {
    auction: Option<Auction>,
    bids: Vec<Bid>,
}

#[derive(Default, Clone)]
struct Winners {
    state: HashMap<u64, AuctionState, FixedState>,
    open: BinaryHeap<(Reverse<i64>, u64)>,
    watermark: i64,
    closing: bool,
}

fn is_valid(bid: &Bid, auction: &Auction) -> bool {
    bid.price >= auction.reserve && bid.time < auction.expires
}

impl Winners {
    fn process<Op: Operator<Out = (u64, Event)>>(
        &mut self,
        mut input: ElementGenerator<'_, Op>,
    ) -> StreamElement<(Auction, Bid)> {
        loop {
            if self.open.peek().is_some_and(|next| next.0.0 < self.watermark) {
                let closed = self.open.pop().and_then(|(_, id)| self.state.remove(&id));
                if let Some(AuctionState { auction: Some(auction), mut bids }) = closed
                    && let Some(winner) = bids.pop()
                {
                    return StreamElement::Item((auction, winner));
                }
                continue;
            }
            if self.closing {
                self.closing = false;
                return StreamElement::FlushAndRestart;
            }
            match input.next() {
                StreamElement::Item((key, event)) | StreamElement::Timestamped((key, event), _) => {
                    match event {
                        Event::Auction(auction) => {
                            self.open.push((Reverse(auction.expires), key));
                            let state = self.state.entry(key).or_default();
                            state.bids.retain(|bid| is_valid(bid, &auction));
                            if let Some(best) = state.bids.iter().max_by_key(|bid| bid.price).cloned() {
                                state.bids.clear();
                                state.bids.push(best);
                            }
                            state.auction = Some(auction);
                        }
                        Event::Bid(bid) => {
                            let state = self.state.entry(key).or_default();
                            match &state.auction {
                                Some(auction) if is_valid(&bid, auction) => match state.bids.first_mut() {
                                    Some(best) if bid.price > best.price => *best = bid,
                                    Some(_) => {}
                                    None => state.bids.push(bid),
                                },
                                Some(_) => {}
                                None => state.bids.push(bid),
                            }
                        }
                        Event::Person(_) => {}
                    }
                }
                StreamElement::Watermark(watermark) => self.watermark = watermark + 1,
                StreamElement::FlushBatch => return StreamElement::FlushBatch,
                StreamElement::Terminate => return StreamElement::Terminate,
                StreamElement::FlushAndRestart => {
                    self.watermark = i64::MAX;
                    self.closing = true;
                }
            }
        }
    }
}

/// Auctions that are sold, with their best bids.
pub fn of(
    events: Stream<impl Operator<Out = Event> + 'static>,
) -> Stream<impl Operator<Out = (Auction, Bid)>> {
    events
        .filter(|event| !matches!(event, Event::Person(_)))
        .group_by(|event| match event {
            Event::Auction(auction) => auction.id,
            Event::Bid(bid) => bid.auction,
            Event::Person(_) => 0,
        })
        .rich_map_custom({
            let mut winners = Winners::default();
            move |input| winners.process(input)
        })
}
