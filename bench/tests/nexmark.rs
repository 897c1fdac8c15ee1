//! The queries' answers against the plainest model, on an input of a few windows.

use purlin_bench::nexmark::{Event, Nexmark, Preloaded};
use purlin_bench::{Params, Place, hand, works};

const EVENTS: u64 = 160_000;

#[test]
fn hand_and_purlin_give_the_models_answers() {
    let events: Vec<Event> = (0..EVENTS).map(Nexmark::event).collect();
    let mut queries = 0;
    for work in works::WORKS.iter().filter(|work| work.name.starts_with("W4")) {
        let query = work.name.trim_start_matches("W4");
        let expected = hand::w4::model(query, &events);
        assert_ne!(expected, 0, "{query} has no answer");
        for system in work.systems {
            let Place::Here(run) = system.place else { continue };
            for threads in [1, 2].into_iter().filter(|threads| system.runs_on(*threads)) {
                let preloaded = Preloaded::new(EVENTS).into();
                let outcome = run(&Params { n: EVENTS, threads, preloaded, ..Params::default() }).unwrap();
                assert_eq!(outcome.checksum, expected, "{query}: {} on {threads} threads", system.name);
            }
        }
        queries += 1;
    }
    assert_eq!(queries, 11);
}
