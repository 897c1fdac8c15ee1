//! Nexmark, as renoir's own `examples/nexmark.rs` has it (query 4 in its optimised form), with the results that Beam's
//! suite defines: windows aligned to time 0, ties kept.

mod winners;

use std::sync::Arc;

use purlin_bench_common::nexmark::{
    Auction, Bid, CATEGORY, Event, LAST, PERIOD_MS, Person, WINDOW_MS, euros, is_looked_for, is_near,
    q0 as answer0, q1 as answer1, q2 as answer2, q3 as answer3, q4 as answer4, q5 as answer5, q6 as answer6,
    q7 as answer7, q8 as answer8,
};
use purlin_bench_common::{Failure, Outcome, Params};
use renoir::Stream;
use renoir::operator::sink::StreamOutput;
use renoir::operator::{Operator, StreamElement};
use renoir::prelude::*;

use crate::aligned::AlignedWindow;
use crate::{BATCH, context, sum};

/// How many events lie between watermarks.
const WATERMARK_EVERY: usize = 1_024;

const FIXED: AlignedWindow = AlignedWindow { size: WINDOW_MS, slide: WINDOW_MS };
const SLIDING: AlignedWindow = AlignedWindow { size: WINDOW_MS, slide: PERIOD_MS };

/// Runs a query.
type Query = fn(&Params) -> Result<Outcome, Failure>;

/// A query by the work's name.
pub fn query(work: &str) -> Result<Query, Failure> {
    Ok(match work {
        "W4q0" => q0,
        "W4q1" => q1,
        "W4q2" => q2,
        "W4q3" => q3,
        "W4q4" => q4,
        "W4q5" => q5,
        "W4q6" => q6,
        "W4q7" => q7,
        "W4q8" => q8,
        _ => return Err(format!("renoir does not do {work}").into()),
    })
}

/// The preloaded events; each replica takes blocks in turn.
fn events(env: &StreamContext, params: &Params) -> Stream<impl Operator<Out = Event> + use<>> {
    let preloaded = Arc::clone(&params.preloaded);
    env.stream_par_iter(move |index, replicas| {
        (index..preloaded.blocks()).step_by(replicas as usize).flat_map(move |block| preloaded.take(block))
    })
    .batch_mode(BatchMode::fixed(BATCH))
}

/// The events with their times, and a watermark now and then.
fn timed(env: &StreamContext, params: &Params) -> Stream<impl Operator<Out = Event> + use<>> {
    let mut count = 0;
    events(env, params).add_timestamps(Event::time, move |_, ts| {
        count = (count + 1) % WATERMARK_EVERY;
        (count == 0).then_some(*ts)
    })
}

/// Adds up answers.
fn add_up(answers: Stream<impl Operator<Out = u64> + 'static>) -> StreamOutput<Vec<u64>> {
    let add = |sum: &mut u64, x: u64| *sum = sum.wrapping_add(x);
    answers.fold_assoc(0, add, add).collect_vec()
}

/// Answers that need the time of a result.
fn with_time<T, Op>(
    results: Stream<Op>,
    answer: impl Fn(T, i64) -> u64 + Clone + Send + 'static,
) -> Stream<impl Operator<Out = u64>>
where
    T: Clone + Send + 'static,
    Op: Operator<Out = T> + 'static,
{
    results.rich_map_custom(move |mut results| match results.next() {
        StreamElement::Timestamped(result, time) => StreamElement::Item(answer(result, time)),
        StreamElement::Item(_) => unreachable!("a window's result has a timestamp"),
        StreamElement::Watermark(time) => StreamElement::Watermark(time),
        StreamElement::FlushBatch => StreamElement::FlushBatch,
        StreamElement::FlushAndRestart => StreamElement::FlushAndRestart,
        StreamElement::Terminate => StreamElement::Terminate,
    })
}

fn q0(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let answers = add_up(events(&env, params).map(|event| answer0(&event)));
    sum(env, answers, params.n)
}

fn q1(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let bids = events(&env, params).filter_map(Event::bid);
    let answers = add_up(bids.map(|bid| Bid { price: euros(bid.price), ..bid }).map(|bid| answer1(&bid)));
    sum(env, answers, params.n)
}

fn q2(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let found = events(&env, params).filter_map(Event::bid).filter(is_looked_for);
    let answers = add_up(found.map(|bid| answer2(bid.auction, bid.price)));
    sum(env, answers, params.n)
}

fn q3(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let mut routes = events(&env, params)
        .route()
        .add_route(|e| matches!(e, Event::Person(_)))
        .add_route(|e| matches!(e, Event::Auction(_)))
        .build()
        .into_iter();
    let (Some(persons), Some(auctions)) = (routes.next(), routes.next()) else {
        return Err("no routes".into());
    };
    let persons = persons.filter_map(Event::person).filter(is_near);
    let auctions = auctions.filter_map(Event::auction).filter(|auction| auction.category == CATEGORY);
    let found = persons.join(auctions, |p: &Person| p.id, |a: &Auction| a.seller).drop_key();
    let answers = add_up(found.map(|(p, a)| answer3(&p.name, &p.city, &p.state, a.id)));
    sum(env, answers, params.n)
}

fn q4(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let means = winners::of(timed(&env, params))
        .flat_map(|(auction, bid)| {
            let last = (auction.expires - 1).div_euclid(PERIOD_MS) * PERIOD_MS;
            (0..WINDOW_MS / PERIOD_MS)
                .map(move |back| ((last - back * PERIOD_MS, auction.category), bid.price))
        })
        .group_by(|(group, _)| *group)
        .fold((0_u64, 0_u64), |(sum, count), (_, price)| {
            *sum += price;
            *count += 1;
        })
        .unkey();
    let answers = add_up(
        means.map(|((start, category), (sum, count))| answer4(category, start, sum as f64 / count as f64)),
    );
    sum(env, answers, params.n)
}

/// Keeps what has most.
fn keep_most<T>((most, all): &mut (u64, Vec<T>), count: u64, of: impl IntoIterator<Item = T>) {
    if count > *most {
        *most = count;
        all.clear();
    }
    if count == *most {
        all.extend(of);
    }
}

fn q5(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let counts = timed(&env, params)
        .filter_map(Event::bid)
        .map(|bid| bid.auction)
        .group_by(|auction| *auction)
        .map(|_| ())
        .window(SLIDING)
        .count()
        .unkey();
    // A count's time is its window's end, so a window that starts there has all counts of one window.
    let hottest = counts
        .window_all(AlignedWindow { size: PERIOD_MS, slide: PERIOD_MS })
        .fold((0_u64, Vec::new()), |hottest, (auction, count)| keep_most(hottest, *count as u64, [*auction]))
        .drop_key();
    let answers = add_up(with_time(hottest, |(count, auctions): (u64, Vec<u64>), time| {
        let start = time - PERIOD_MS - WINDOW_MS;
        auctions.iter().map(|auction| answer5(start, *auction, count)).fold(0, u64::wrapping_add)
    }));
    sum(env, answers, params.n)
}

fn q6(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let means = winners::of(timed(&env, params))
        .map(|(auction, bid)| (auction.seller, (auction.expires, auction.id, bid.price)))
        .group_by(|(seller, _)| *seller)
        .fold(Vec::new(), |last, (_, sold)| {
            let at = last.partition_point(|other| *other < sold);
            last.insert(at, sold);
            if last.len() > LAST {
                last.remove(0);
            }
        })
        .unkey();
    let answers = add_up(means.map(|(seller, last): (u64, Vec<(i64, u64, u64)>)| {
        answer6(seller, last.iter().map(|(_, _, price)| price).sum::<u64>() as f64 / last.len() as f64)
    }));
    sum(env, answers, params.n)
}

fn q7(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let highest = timed(&env, params)
        .filter_map(Event::bid)
        .map(|bid| (bid.auction, bid.bidder, bid.price))
        .key_by(|_| ())
        .window(FIXED)
        .fold((0_u64, Vec::new()), |highest, (auction, bidder, price)| {
            keep_most(highest, *price, [(*auction, *bidder)]);
        })
        .drop_key()
        .window_all(FIXED)
        .fold((0_u64, Vec::new()), |highest, (price, bids)| keep_most(highest, *price, bids.iter().copied()))
        .drop_key();
    let answers = add_up(with_time(highest, |(price, bids): (u64, Vec<(u64, u64)>), time| {
        let start = time - 2 * WINDOW_MS;
        let answers = bids.iter().map(|(auction, bidder)| answer7(start, *auction, *bidder, price));
        answers.fold(0, u64::wrapping_add)
    }));
    sum(env, answers, params.n)
}

fn q8(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let mut routes = timed(&env, params)
        .route()
        .add_route(|e| matches!(e, Event::Person(_)))
        .add_route(|e| matches!(e, Event::Auction(_)))
        .build()
        .into_iter();
    let (Some(persons), Some(auctions)) = (routes.next(), routes.next()) else {
        return Err("no routes".into());
    };
    let persons = persons.filter_map(Event::person).map(|person| (person.id, person.name, person.time));
    let auctions = auctions.filter_map(Event::auction).map(|auction| (auction.seller, auction.reserve));
    let found = persons
        .group_by(|(id, _, _)| *id)
        .window_join(FIXED, auctions.group_by(|(seller, _)| *seller))
        .drop_key();
    let answers = add_up(found.map(|((id, name, time), (_, reserve))| {
        answer8(time.div_euclid(WINDOW_MS) * WINDOW_MS, id, &name, reserve)
    }));
    sum(env, answers, params.n)
}
