//! W4: Nexmark's queries, each as Beam's suite has it.

mod source;
mod winners;

use std::collections::HashMap;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use purlin_derive::KeyedState;
use purlin_sdk::{
    Apply, Combine, CombineFn, DoFn, Duration, Emitter, KeyedDoFn, PCollection, ParDo, ProcessContext,
    Result, View, WindowInto,
    state::{Bag, Value},
    window::{FixedWindows, GlobalWindows, Sessions, SlidingWindows, Trigger},
};
use purlin_transforms::{Count, Join, Max, Mean};
use serde::{Deserialize, Serialize};

use super::answers::{add_up, start};
use crate::nexmark::{
    self, Bid, CATEGORY, Event, GAP_MS, LAST, PERIOD_MS, WINDOW_MS, euros, is_looked_for, is_near,
};
use crate::{Failure, Outcome, Params};

/// Runs a query, whose results add to the sum.
fn query(
    params: &Params,
    build: impl FnOnce(PCollection<Event>, &Arc<AtomicU64>),
) -> Result<Outcome, Failure> {
    let sum = Arc::new(AtomicU64::new(0));
    super::run(params, |p| build(source::Events::read(p, params), &sum))?;
    Ok(Outcome::new(sum.load(Ordering::Relaxed), params.n))
}

fn bids(events: &PCollection<Event>) -> PCollection<Bid> {
    events.flat_map("Bids", Event::bid)
}

fn fixed() -> FixedWindows {
    FixedWindows::of(Duration::from_millis(WINDOW_MS))
}

fn sliding() -> SlidingWindows {
    SlidingWindows::of(Duration::from_millis(WINDOW_MS), Duration::from_millis(PERIOD_MS))
}

/// Query 0: all events go through.
pub fn q0(params: &Params) -> Result<Outcome, Failure> {
    query(params, |events, sum| add_up(&events, |event, _| nexmark::q0(event), sum))
}

/// Query 1: the bids in euros.
pub fn q1(params: &Params) -> Result<Outcome, Failure> {
    query(params, |events, sum| {
        let euros = bids(&events).map("Euros", |bid| Bid { price: euros(bid.price), ..bid });
        add_up(&euros, |bid, _| nexmark::q1(bid), sum);
    })
}

/// Query 2: the bids for some auctions.
pub fn q2(params: &Params) -> Result<Outcome, Failure> {
    query(params, |events, sum| {
        let found =
            bids(&events).filter("LookedFor", is_looked_for).map("Select", |bid| (bid.auction, bid.price));
        add_up(&found, |(auction, price), _| nexmark::q2(*auction, *price), sum);
    })
}

/// A near person's name, city and state, or an auction.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Seller {
    Person((String, String, String)),
    Auction(u64),
}

impl Seller {
    /// What query 3 takes of an event, by the person's id.
    fn of(event: Event) -> Option<(u64, Seller)> {
        match event {
            Event::Person(p) if is_near(&p) => Some((p.id, Seller::Person((p.name, p.city, p.state)))),
            Event::Auction(a) if a.category == CATEGORY => Some((a.seller, Seller::Auction(a.id))),
            _ => None,
        }
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Known {
    person: Value<(String, String, String)>,
    waiting: Bag<u64>,
}

/// Joins a person, who comes once, with auctions that come before and after.
#[derive(Clone, Debug)]
struct JoinSellers;

impl KeyedDoFn for JoinSellers {
    type Key = u64;
    type Value = Seller;
    type Output = ((String, String, String), u64);
    type State = Known;

    fn process(
        &mut self,
        _: &u64,
        seller: Seller,
        known: &mut Known,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, Self::Output>,
    ) -> Result {
        match seller {
            Seller::Person(person) => {
                for auction in known.waiting.take() {
                    out.emit((person.clone(), auction));
                }
                known.person.write(person);
            }
            Seller::Auction(auction) => match known.person.read() {
                Some(person) => out.emit((person.clone(), auction)),
                None => known.waiting.add(auction),
            },
        }
        Ok(())
    }
}

/// Query 3: near persons and their auctions in a category, however far apart they come.
pub fn q3(params: &Params) -> Result<Outcome, Failure> {
    query(params, |events, sum| {
        let found = events.flat_map("Sellers", Seller::of).par_do_keyed("Join", JoinSellers);
        add_up(&found, |((name, city, state), auction), _| nexmark::q3(name, city, state, *auction), sum);
    })
}

/// Query 4: the average winning price of each category in sliding windows.
pub fn q4(params: &Params) -> Result<Outcome, Failure> {
    query(params, |events, sum| {
        let means = winners::of(&events)
            .window_into("Windows", sliding())
            .map("Category", |sold| (sold.category, sold.price))
            .apply("Mean", Mean::per_key());
        add_up(&means, |(category, mean), cx| nexmark::q4(*category, start(cx), *mean), sum);
    })
}

/// Keeps the auctions with most bids.
#[derive(Clone, Debug)]
struct Hottest;

impl CombineFn for Hottest {
    type Input = (u64, u64);
    type Accumulator = Vec<(u64, u64)>;
    type Output = Vec<(u64, u64)>;

    fn create(&self) -> Vec<(u64, u64)> {
        Vec::new()
    }

    fn add_input(&self, hottest: &mut Vec<(u64, u64)>, (auction, count): (u64, u64)) {
        let most = hottest.first().map_or(0, |(_, most)| *most);
        if count > most {
            hottest.clear();
        }
        if count >= most {
            hottest.push((auction, count));
        }
    }

    fn merge(&self, hottest: &mut Vec<(u64, u64)>, other: Vec<(u64, u64)>) {
        for counted in other {
            self.add_input(hottest, counted);
        }
    }

    fn extract(&self, hottest: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
        hottest
    }
}

/// Query 5: the auctions with most bids in sliding windows.
pub fn q5(params: &Params) -> Result<Outcome, Failure> {
    query(params, |events, sum| {
        let hottest = bids(&events)
            .map("Auction", |bid| bid.auction)
            .window_into("Windows", sliding())
            .apply("Count", Count::per_element())
            .apply("Hottest", Combine::globally(Hottest).without_defaults());
        let answer = |hottest: &Vec<(u64, u64)>, cx: &ProcessContext<'_>| {
            let answers = hottest.iter().map(|(auction, count)| nexmark::q5(start(cx), *auction, *count));
            crate::checksum::of(answers)
        };
        add_up(&hottest, answer, sum);
    })
}

/// The mean price of a seller's last auctions; an auction is when it closes, its id, and its price.
#[derive(Clone, Debug)]
struct MeanOfLast;

impl CombineFn for MeanOfLast {
    type Input = (i64, u64, u64);
    type Accumulator = Vec<(i64, u64, u64)>;
    type Output = f64;

    fn create(&self) -> Self::Accumulator {
        Vec::new()
    }

    fn add_input(&self, last: &mut Self::Accumulator, sold: (i64, u64, u64)) {
        let at = last.partition_point(|other| *other < sold);
        last.insert(at, sold);
        if last.len() > LAST {
            last.remove(0);
        }
    }

    fn merge(&self, last: &mut Self::Accumulator, other: Self::Accumulator) {
        for sold in other {
            self.add_input(last, sold);
        }
    }

    fn extract(&self, last: Self::Accumulator) -> f64 {
        last.iter().map(|(_, _, price)| price).sum::<u64>() as f64 / last.len() as f64
    }
}

/// Query 6: the average price of each seller's last auctions, again whenever one closes. Which averages come in between
/// depends on which auctions come together, so only the last of each seller is checked.
pub fn q6(params: &Params) -> Result<Outcome, Failure> {
    let last: Arc<Mutex<HashMap<u64, (i64, f64)>>> = Arc::default();
    let told = last.clone();
    query(params, |events, _| {
        let each = Trigger::repeatedly(Trigger::after_count(1));
        winners::of(&events)
            .map("Seller", |sold| (sold.seller, (sold.expires, sold.auction, sold.price)))
            .window_into("Running", WindowInto::of(GlobalWindows).trigger(each).accumulating())
            .combine_per_key("Mean", MeanOfLast)
            .map_cx("Last", move |(seller, mean): (u64, f64), cx| {
                let mut last = told.lock().unwrap_or_else(PoisonError::into_inner);
                let known = last.entry(seller).or_insert((-1, 0.0));
                if cx.pane().index > known.0 {
                    *known = (cx.pane().index, mean);
                }
                Ok(())
            });
    })?;
    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let answers = last.iter().map(|(seller, (_, mean))| nexmark::q6(*seller, *mean));
    Ok(Outcome::new(crate::checksum::of(answers), params.n))
}

/// Lets the bids with a window's highest price through.
#[derive(Clone, Debug)]
struct IsHighest(View<u64>);

impl DoFn for IsHighest {
    type Input = Bid;
    type Output = Bid;

    fn process(&mut self, bid: Bid, cx: &ProcessContext<'_>, out: &mut Emitter<'_, Bid>) -> Result {
        if cx.side(&self.0)? == bid.price {
            out.emit(bid);
        }
        Ok(())
    }
}

/// Query 7: the bids with the highest price of fixed windows: the price is a side input.
pub fn q7(params: &Params) -> Result<Outcome, Failure> {
    query(params, |events, sum| {
        let bids = bids(&events).window_into("Windows", fixed());
        let highest = bids
            .map("Price", |bid| bid.price)
            .apply("Max", Max::globally().without_defaults())
            .view_as_singleton("Highest");
        let found =
            bids.par_do_with("IsHighest", ParDo::of(IsHighest(highest.clone())).side(&highest)).main();
        add_up(&found, |bid, cx| nexmark::q7(start(cx), bid.auction, bid.bidder, bid.price), sum);
    })
}

/// Query 8: persons and the auctions they open in the window in which they register.
pub fn q8(params: &Params) -> Result<Outcome, Failure> {
    query(params, |events, sum| {
        let persons = events
            .flat_map("Persons", Event::person)
            .window_into("PersonWindows", fixed())
            .map("Person", |person| (person.id, person.name));
        let auctions = events
            .flat_map("Auctions", Event::auction)
            .window_into("AuctionWindows", fixed())
            .map("Auction", |auction| (auction.seller, auction.reserve));
        let found = (persons, auctions).apply("Join", Join::inner());
        add_up(&found, |(id, (name, reserve)), cx| nexmark::q8(start(cx), *id, name, *reserve), sum);
    })
}

/// Query 11: each bidder's bids by session, or by 100,000.
pub fn q11(params: &Params) -> Result<Outcome, Failure> {
    query(params, |events, sum| {
        let often = Trigger::repeatedly(Trigger::after_count(100_000));
        let sessions = WindowInto::of(Sessions::with_gap(Duration::from_millis(GAP_MS)))
            .trigger(often)
            .discarding()
            .allowed_lateness(Duration::from_millis(WINDOW_MS / 2));
        let counts = bids(&events)
            .map("Bidder", |bid| bid.bidder)
            .window_into("Sessions", sessions)
            .apply("Count", Count::per_element());
        add_up(&counts, |(bidder, count), cx| nexmark::q11(*bidder, start(cx), *count), sum);
    })
}

/// Query 12: each bidder's bids, ten seconds on the wall after the first.
pub fn q12(params: &Params) -> Result<Outcome, Failure> {
    query(params, |events, sum| {
        let delayed = Trigger::after_processing_time().delay(Duration::from_millis(WINDOW_MS));
        let windows = WindowInto::of(GlobalWindows).trigger(Trigger::repeatedly(delayed)).discarding();
        let counts = bids(&events)
            .map("Bidder", |bid| bid.bidder)
            .window_into("Clock", windows)
            .apply("Count", Count::per_element());
        add_up(&counts, |(bidder, count), _| nexmark::q12(*bidder, *count), sum);
    })
}
