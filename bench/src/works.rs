//! The table of works. To add a system, add its line: `System::new("name", function).held(&[vs("hand", &[(1, 1.2)])])`.
//!
//! The targets are bounds that Purlin is held to, on one thread and on two.

use crate::hand::{small, w1, w2, w2x, w3, w4, w5, w6, w7};
use crate::{Against, Comparison, Input, System, Work, purlin, vs, within};

/// Keys of the works in which ten events fold into one result.
const FEW: u64 = 10_000;

/// Keys of the work in which hardly any do.
const MANY: u64 = 1_000_000;

/// Events of an auction house: 100 s of event time, ten windows.
const AUCTION_EVENTS: u64 = 1_000_000;

/// Numbers of threads on which there is something to exchange or merge.
const SEVERAL: &[usize] = &[2, 4, 8, 16];

/// One thread.
const ONE: &[usize] = &[1];

/// A bound on one thread and on two.
const fn both<const RATIO: u32>() -> &'static [(usize, f64)] {
    const { &[(1, RATIO as f64 / 100.0), (2, RATIO as f64 / 100.0)] }
}

/// What the direct runner, which checks everything, is held to.
const TWENTY: &[Comparison] = &[vs("purlin", &[(1, 20.0)])];

/// All works.
pub const WORKS: &[Work] = &[
    Work {
        name: "W1",
        title: "word count, Zipf text, 10^5 words",
        input: Input::Text,
        n: 50_000_000,
        quick: 2_000_000,
        systems: &[
            System::new("hand", w1::counted),
            System::new("purlin", purlin::w1::counted)
                .held(&[vs("hand", both::<130>()), vs("renoir", &[(1, 0.75)])]),
            System::peer("renoir"),
            System::peer("renoir-lines"),
            System::peer("timely"),
            System::peer("ironbeam"),
            System::new("hand-naive", w1::naive).only_on(ONE),
        ],
    },
    Work {
        name: "W2",
        title: "map, filter, map, sum; all events at one time",
        input: Input::Events { keys: FEW },
        n: 20_000_000,
        quick: 500_000,
        systems: &[
            System::new("hand", w2::constant_times),
            System::new("purlin-fused", purlin::w2::fused).held(&[
                vs("hand", &[(1, 1.2)]),
                vs("renoir", &[(1, 1.15)]),
                within(Against::OneThread, &[(2, 1.15)]),
                within(Against::OneThreadWall, &[(2, 0.6)]),
            ]),
            System::new("purlin", purlin::w2::plain).held(&[
                vs("hand", &[(1, 1.5)]),
                within(Against::OneThread, &[(2, 1.15)]),
                within(Against::OneThreadWall, &[(2, 0.6)]),
            ]),
            System::peer("renoir"),
            System::peer("timely"),
            System::peer("ironbeam"),
            System::new("hand-unstored", w2::unstored),
        ],
    },
    Work {
        name: "W2t",
        title: "map, filter, map, sum; a timestamp beside each event",
        input: Input::Events { keys: FEW },
        n: 20_000_000,
        quick: 500_000,
        systems: &[
            System::new("hand", w2::own_times),
            System::new("purlin-fused", purlin::w2::fused_own_times)
                .held(&[vs("hand", &[(1, 1.5)]), within(Against::OneThread, &[(2, 1.15)])]),
            System::new("purlin", purlin::w2::plain_own_times)
                .held(&[vs("hand", &[(1, 2.0)]), within(Against::OneThread, &[(2, 1.15)])]),
        ],
    },
    Work {
        name: "W2x",
        title: "map, filter, an exchange by key, map, sum",
        input: Input::Events { keys: FEW },
        n: 20_000_000,
        quick: 500_000,
        systems: &[
            System::new("hand", w2x::exchanged),
            System::new("purlin", purlin::w2x::keyed).held(&[
                vs("hand", &[(2, 1.3)]),
                vs("renoir", &[(1, 0.5), (2, 0.6)]),
                vs("timely", &[(1, 0.5)]),
            ]),
            System::new("purlin-reshuffle", purlin::w2x::reshuffled),
            System::peer("renoir"),
            System::peer("timely"),
        ],
    },
    Work {
        name: "W3",
        title: "count per key and 10 s window, 10^4 keys",
        input: Input::Events { keys: FEW },
        n: 20_000_000,
        quick: 500_000,
        systems: &[
            System::new("hand", w3::merged),
            System::new("purlin", purlin::w3::tumbling).held(&[
                vs("hand", &[(1, 1.25)]),
                vs("renoir", &[(1, 0.2)]),
                vs("timely", &[(2, 0.8)]),
                within(Against::OneThreadWall, &[(2, 0.65)]),
            ]),
            System::peer("renoir"),
            System::peer("timely"),
            System::peer("ironbeam"),
            System::new("hand-exchange", w3::exchanged).only_on(SEVERAL),
            System::new("hand-naive", w3::naive).only_on(ONE),
        ],
    },
    Work {
        name: "W3m",
        title: "count per key and 10 s window, 10^6 keys",
        input: Input::Events { keys: MANY },
        n: 10_000_000,
        quick: 500_000,
        systems: &[
            System::new("hand", w3::exchanged),
            System::new("purlin", purlin::w3::tumbling).held(&[
                vs("hand", &[(1, 1.25)]),
                vs("renoir", &[(1, 0.2)]),
                vs("timely", &[(2, 0.8)]),
            ]),
            System::peer("renoir"),
            System::peer("timely"),
            System::peer("ironbeam"),
            System::new("hand-merge", w3::merged).only_on(SEVERAL),
        ],
    },
    Work {
        name: "W3s",
        title: "count per key and 10 s window every 1 s, 10^4 keys",
        input: Input::Events { keys: FEW },
        n: 5_000_000,
        quick: 300_000,
        systems: &[
            System::new("hand", w3::sliding::panes),
            System::new("purlin", purlin::w3::sliding).held(&[
                vs("hand", both::<125>()),
                vs("renoir", both::<30>()),
                vs("timely", &[]),
            ]),
            System::peer("renoir"),
            System::peer("timely"),
        ],
    },
    Work {
        name: "W4q0",
        title: "Nexmark query 0: all events go through",
        input: Input::Nexmark,
        n: AUCTION_EVENTS,
        quick: 150_000,
        systems: &[
            System::new("hand", w4::q0),
            System::new("purlin", purlin::w4::q0).held(&[vs("renoir", both::<115>())]),
            System::peer("renoir"),
        ],
    },
    Work {
        name: "W4q1",
        title: "Nexmark query 1: bids in euros",
        input: Input::Nexmark,
        n: AUCTION_EVENTS,
        quick: 150_000,
        systems: &[
            System::new("hand", w4::q1),
            System::new("purlin", purlin::w4::q1).held(&[vs("renoir", both::<115>())]),
            System::peer("renoir"),
        ],
    },
    Work {
        name: "W4q2",
        title: "Nexmark query 2: bids for some auctions",
        input: Input::Nexmark,
        n: AUCTION_EVENTS,
        quick: 150_000,
        systems: &[
            System::new("hand", w4::q2),
            System::new("purlin", purlin::w4::q2).held(&[vs("renoir", both::<115>())]),
            System::peer("renoir"),
        ],
    },
    Work {
        name: "W4q3",
        title: "Nexmark query 3: join of persons and auctions",
        input: Input::Nexmark,
        n: AUCTION_EVENTS,
        quick: 150_000,
        systems: &[
            System::new("hand", w4::q3).only_on(ONE),
            System::new("purlin", purlin::w4::q3)
                .held(&[vs("hand", both::<150>()), vs("renoir", both::<50>())]),
            System::peer("renoir"),
        ],
    },
    Work {
        name: "W4q4",
        title: "Nexmark query 4: average price by category, sliding windows",
        input: Input::Nexmark,
        n: AUCTION_EVENTS,
        quick: 150_000,
        systems: &[
            System::new("hand", w4::q4).only_on(ONE),
            System::new("purlin", purlin::w4::q4)
                .held(&[vs("hand", both::<150>()), vs("renoir", both::<50>())]),
            System::peer("renoir"),
        ],
    },
    Work {
        name: "W4q5",
        title: "Nexmark query 5: auctions with most bids, sliding windows",
        input: Input::Nexmark,
        n: AUCTION_EVENTS,
        quick: 150_000,
        systems: &[
            System::new("hand", w4::q5).only_on(ONE),
            System::new("purlin", purlin::w4::q5)
                .held(&[vs("hand", both::<150>()), vs("renoir", both::<50>())]),
            System::peer("renoir"),
        ],
    },
    Work {
        name: "W4q6",
        title: "Nexmark query 6: average of each seller's last ten",
        input: Input::Nexmark,
        n: AUCTION_EVENTS,
        quick: 150_000,
        systems: &[
            System::new("hand", w4::q6).only_on(ONE),
            System::new("purlin", purlin::w4::q6)
                .held(&[vs("hand", both::<150>()), vs("renoir", both::<50>())]),
            System::peer("renoir"),
        ],
    },
    Work {
        name: "W4q7",
        title: "Nexmark query 7: highest bids, fixed windows",
        input: Input::Nexmark,
        n: AUCTION_EVENTS,
        quick: 150_000,
        systems: &[
            System::new("hand", w4::q7).only_on(ONE),
            System::new("purlin", purlin::w4::q7)
                .held(&[vs("hand", both::<150>()), vs("renoir", both::<50>())]),
            System::peer("renoir"),
        ],
    },
    Work {
        name: "W4q8",
        title: "Nexmark query 8: join in fixed windows",
        input: Input::Nexmark,
        n: AUCTION_EVENTS,
        quick: 150_000,
        systems: &[
            System::new("hand", w4::q8).only_on(ONE),
            System::new("purlin", purlin::w4::q8)
                .held(&[vs("hand", both::<150>()), vs("renoir", both::<50>())]),
            System::peer("renoir"),
        ],
    },
    Work {
        name: "W4q11",
        title: "Nexmark query 11: bids by bidder and session",
        input: Input::Nexmark,
        n: AUCTION_EVENTS,
        quick: 150_000,
        systems: &[
            System::new("hand", w4::q11).only_on(ONE),
            System::new("purlin", purlin::w4::q11).held(&[vs("hand", &[])]),
        ],
    },
    Work {
        name: "W4q12",
        title: "Nexmark query 12: bids by bidder, processing time",
        input: Input::Nexmark,
        n: AUCTION_EVENTS,
        quick: 150_000,
        systems: &[
            System::new("hand", w4::q12).only_on(ONE),
            System::new("purlin", purlin::w4::q12).held(&[vs("hand", &[])]),
        ],
    },
    Work {
        name: "W5",
        title: "latency at 100,000 events/s",
        input: Input::Nothing,
        n: 500_000,
        quick: 20_000,
        systems: &[
            System::new("hand", w5::each).only_on(ONE),
            System::new("purlin", purlin::w5::each).held(&[within(Against::P99(10.0), both::<100>())]),
        ],
    },
    Work {
        name: "W5w",
        title: "latency at 100,000 events/s, windows of 10 ms",
        input: Input::Nothing,
        n: 500_000,
        quick: 20_000,
        systems: &[
            System::new("hand", w5::windowed).only_on(ONE),
            System::new("purlin", purlin::w5::windowed).held(&[within(Against::P99(10.0), both::<100>())]),
        ],
    },
    Work {
        name: "W6",
        title: "a stateful DoFn with a timer, 10^6 keys",
        input: Input::Events { keys: MANY },
        n: 5_000_000,
        quick: 200_000,
        systems: &[
            System::new("hand", w6::still),
            System::new("purlin", purlin::w6::still).held(&[vs("hand", both::<200>())]),
        ],
    },
    Work {
        name: "W7",
        title: "group by key, small records, 512 MB",
        input: Input::Events { keys: MANY },
        n: 100_000_000,
        quick: 200_000,
        systems: &[
            System::new("hand", w7::grouped),
            System::new("purlin", purlin::w7::grouped).held(&[within(Against::Memory(640.0), both::<100>())]),
        ],
    },
    Work {
        name: "W8e",
        title: "start-up, an empty pipeline",
        input: Input::Nothing,
        n: 1,
        quick: 1,
        systems: &[
            System::new("hand", small::closures).only_on(ONE),
            System::new("purlin", purlin::small::transforms),
        ],
    },
    Work {
        name: "W8t",
        title: "start-up, 1,000 transforms",
        input: Input::Nothing,
        n: 1_000,
        quick: 1_000,
        systems: &[
            System::new("hand", small::closures).only_on(ONE),
            System::new("purlin", purlin::small::transforms),
        ],
    },
    Work {
        name: "W9",
        title: "side-input join, 10^4 keys",
        input: Input::Events { keys: FEW },
        n: 10_000_000,
        quick: 300_000,
        systems: &[System::new("hand", small::looked_up), System::new("purlin", purlin::small::looked_up)],
    },
    Work {
        name: "W10",
        title: "a splittable DoFn with 10^7 claims",
        input: Input::Nothing,
        n: 10_000_000,
        quick: 300_000,
        systems: &[
            System::new("hand", small::claimed),
            System::new("purlin", purlin::small::claimed)
                .held(&[within(Against::Nanoseconds(15.0), &[(1, 1.0)])]),
        ],
    },
    Work {
        name: "D1",
        title: "W1 in small, for the direct runner",
        input: Input::Text,
        n: 5_000_000,
        quick: 500_000,
        systems: &[
            System::new("hand", w1::counted),
            System::new("purlin", purlin::w1::counted).only_on(ONE),
            System::new("purlin-direct", purlin::w1::counted_direct).only_on(ONE).held(TWENTY),
        ],
    },
    Work {
        name: "D2",
        title: "W2 in small, for the direct runner",
        input: Input::Events { keys: FEW },
        n: 1_000_000,
        quick: 50_000,
        systems: &[
            System::new("hand", w2::constant_times),
            System::new("purlin", purlin::w2::plain).only_on(ONE),
            System::new("purlin-direct", purlin::w2::plain_direct).only_on(ONE).held(TWENTY),
        ],
    },
    Work {
        name: "D3",
        title: "W3 in small, for the direct runner",
        input: Input::Events { keys: FEW },
        n: 1_000_000,
        quick: 50_000,
        systems: &[
            System::new("hand", w3::merged),
            System::new("purlin", purlin::w3::tumbling).only_on(ONE),
            System::new("purlin-direct", purlin::w3::tumbling_direct).only_on(ONE).held(TWENTY),
        ],
    },
];

/// The work with a name.
pub fn named(name: &str) -> Option<&'static Work> {
    WORKS.iter().find(|work| work.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_the_first_system_runs_here_on_one_thread() {
        let mut names = HashSet::new();
        for work in WORKS {
            assert!(names.insert(work.name), "{} is there twice", work.name);
            let mut systems = HashSet::new();
            assert!(work.systems.iter().all(|system| systems.insert(system.name)));
            assert!(matches!(work.systems[0].place, crate::Place::Here(_)) && work.systems[0].runs_on(1));
        }
    }

    #[test]
    fn comparisons_are_with_systems_that_are_there() {
        for work in WORKS {
            for held in work.systems.iter().flat_map(System::comparisons) {
                if let Against::System(name) = held.against {
                    assert!(work.systems.iter().any(|system| system.name == name), "{}: {name}", work.name);
                }
            }
        }
    }
}
