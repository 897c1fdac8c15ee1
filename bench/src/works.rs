//! The table of works. To add a system, add its line: `System::new("name", function).targets(&[(1, 1.2)])`.

use crate::hand::{w1, w2, w3};
use crate::purlin;
use crate::{Input, System, Work};

/// Keys of the works in which ten events fold into one result.
const FEW: u64 = 10_000;

/// Keys of the work in which hardly any do.
const MANY: u64 = 1_000_000;

/// Numbers of threads on which there is something to exchange or merge.
const SEVERAL: &[usize] = &[2, 4, 8, 16];

/// What the design must reach before anything is built on it, on one thread and on two.
const TWICE: &[(usize, f64)] = &[(1, 2.0), (2, 2.0)];

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
            System::new("purlin", purlin::w1::counted).targets(TWICE),
            System::new("hand-naive", w1::naive).only_on(&[1]),
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
            System::new("purlin-fused", purlin::w2::fused).targets(TWICE),
            System::new("purlin", purlin::w2::plain).targets(TWICE),
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
            System::new("purlin-fused", purlin::w2::fused_own_times).targets(TWICE),
            System::new("purlin", purlin::w2::plain_own_times).targets(TWICE),
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
            System::new("purlin", purlin::w3::tumbling).targets(TWICE),
            System::new("hand-exchange", w3::exchanged).only_on(SEVERAL),
            System::new("hand-naive", w3::naive).only_on(&[1]),
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
            System::new("purlin", purlin::w3::tumbling).targets(TWICE),
            System::new("hand-merge", w3::merged).only_on(SEVERAL),
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
    fn names_are_unique_and_the_first_system_runs_everywhere() {
        let mut names = HashSet::new();
        for work in WORKS {
            assert!(names.insert(work.name), "{} is there twice", work.name);
            let mut systems = HashSet::new();
            assert!(work.systems.iter().all(|system| systems.insert(system.name)));
            assert!((1..64).all(|threads| work.systems[0].runs_on(threads)));
        }
    }
}
