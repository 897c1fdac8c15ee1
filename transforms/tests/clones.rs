//! What counting costs: no copy of an element.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::Pipeline;
use purlin_transforms::{Count, Distinct};
use serde::{Deserialize, Serialize};

static CLONES: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Counted(i64);

impl Clone for Counted {
    fn clone(&self) -> Counted {
        CLONES.fetch_add(1, Relaxed);
        Counted(self.0)
    }
}

#[test]
fn neither_counting_nor_distinct_clones_an_element() {
    for threads in [1, 4] {
        let p = Pipeline::new();
        let numbers = p.create("Numbers", 0..10_000);
        numbers.map("MakeForCount", |n| Counted(n % 10)).apply("Count", Count::per_element());
        numbers.map("MakeForDistinct", |n| Counted(n % 10)).apply("Distinct", Distinct);
        p.run_on(&ThreadedRunner::new().parallelism(threads)).unwrap().wait().unwrap();
        assert_eq!(CLONES.load(Relaxed), 0, "{threads} threads");
    }
    assert_eq!((Counted(1).clone(), CLONES.load(Relaxed)), (Counted(1), 1));
}
