//! Every kind of cell.

use purlin_derive::KeyedState;
use purlin_sdk::{
    CombineFn, Emitter, KeyedDoFn, ProcessContext, Result, Runner,
    state::{Combining, Set},
};
use purlin_transforms::TopFn;

use super::{
    super::{
        probe::{k, outputs, values},
        support::{Log, Numbers, at, run},
    },
    Kinds, Step, Steps, stream,
};

/// The mean of numbers.
#[derive(Clone, Default, Debug)]
pub struct Mean;

impl CombineFn for Mean {
    type Input = i64;
    type Accumulator = (i64, u64);
    type Output = f64;
    fn create(&self) -> (i64, u64) {
        (0, 0)
    }
    fn add_input(&self, acc: &mut (i64, u64), x: i64) {
        acc.0 += x;
        acc.1 += 1;
    }
    fn merge(&self, acc: &mut (i64, u64), other: (i64, u64)) {
        acc.0 += other.0;
        acc.1 += other.1;
    }
    fn extract(&self, (sum, n): (i64, u64)) -> f64 {
        sum as f64 / n as f64
    }
}

/// Does `steps` in one bundle, and each in a bundle of its own: they must say the same.
fn steps(r: &dyn Runner, steps: &'static [Step], expected: &[&str]) {
    let elements = || (0..steps.len() as i64).map(|i| (k(i), at(i)));
    let together = stream().elements(elements());
    let apart = elements().fold(stream(), |s, (x, t)| s.element_at(x, t));
    for stream in [together, apart] {
        let out = outputs(r, &stream, |pc| pc.par_do_keyed("Steps", Steps(steps)));
        assert_eq!(values(out), expected);
    }
}

/// The best two, by a CombineFn with a parameter.
#[derive(KeyedState, Debug)]
#[keyed_state(crate = "purlin_sdk")]
struct Best {
    #[combine(TopFn::largest(2))]
    best: Combining<TopFn<i64>>,
}

#[derive(Clone)]
struct BestTwo;

impl KeyedDoFn for BestTwo {
    type Key = String;
    type Value = i64;
    type Output = Vec<i64>;
    type State = Best;
    fn process(
        &mut self,
        _: &String,
        x: i64,
        s: &mut Best,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, Vec<i64>>,
    ) -> Result {
        s.best.add(x);
        out.emit(s.best.read());
        Ok(())
    }
}

/// A CombineFn is given where the state is declared.
pub fn combining_state_with_a_parameter(r: &dyn Runner) {
    let stream = [3, 1, 9, 5].into_iter().fold(stream(), |s, x| s.element_at(k(x), at(0)));
    let log = Log::default();
    run(r, |p| log.note("Collect", &p.apply("Stream", stream).par_do_keyed("Best", BestTwo)));
    assert_eq!(log.take(), [vec![3], vec![3, 1], vec![9, 3], vec![9, 5]]);
}

/// Values: written, read, taken.
pub fn values_of_a_key(r: &dyn Runner) {
    steps(
        r,
        &[
            |s| format!("{:?}", s.value.read()),
            |s| {
                s.value.write(1);
                s.value.write(2);
                format!("{:?}", s.value.read())
            },
            |s| format!("{:?} {:?}", s.value.take(), s.value.read()),
            |s| {
                s.value.write(3);
                s.value.clear();
                format!("{}", s.value.is_empty())
            },
        ],
        &["None", "Some(2)", "Some(2) None", "true"],
    );
}

/// Bags: what was read stays as it was when more is added.
pub fn bags(r: &dyn Runner) {
    steps(
        r,
        &[
            |s| format!("{:?} {}", s.bag.read(), s.bag.is_empty()),
            |s| {
                s.bag.add(3);
                let read = s.bag.read().to_vec();
                s.bag.add(1);
                s.bag.add(3);
                format!("{read:?} {:?} {}", s.bag.read(), s.bag.len())
            },
            |s| format!("{:?} {:?}", s.bag.take(), s.bag.read()),
            |s| {
                s.bag.add(9);
                s.bag.clear();
                format!("{:?}", s.bag)
            },
        ],
        &["[] true", "[3] [3, 1, 3] 3", "[3, 1, 3] []", "[]"],
    );
}

/// Sets: each value once; adding says whether it is new.
pub fn sets(r: &dyn Runner) {
    steps(
        r,
        &[
            |s| format!("{:?}", [97, 42, 42, 12].map(|x| s.set.add(x))),
            |s| format!("{} {:?} {}", s.set.len(), s.set, s.set.contains(&42)),
            |s| format!("{} {} {:?}", s.set.remove(&42), s.set.remove(&42), s.set),
            |s| {
                s.set.clear();
                format!("{} {}", s.set.is_empty(), s.set.add(42))
            },
        ],
        &["[true, true, false, true]", "3 {97, 42, 12} true", "true false {97, 12}", "true true"],
    );
}

/// Maps: put, read, put if absent, whether or not anybody looks at what that says.
pub fn maps(r: &dyn Runner) {
    steps(
        r,
        &[
            |s| format!("{:?} {:?}", s.map.put("a".into(), 97), s.map.put("b".into(), 42)),
            |s| {
                let snapshot: Vec<_> = s.map.iter().map(|(k, v)| format!("{k}{v}")).collect();
                let old = s.map.put("b".into(), 33);
                s.map.put_if_absent("b".into(), 1);
                s.map.put_if_absent("c".into(), 12);
                s.map.get_or_put_with("d".into(), || 5);
                format!("{} {old:?} {:?}", snapshot.join(" "), s.map)
            },
            |s| format!("{:?} {:?} {}", s.map.get("b").copied(), s.map.remove("a"), s.map.contains_key("a")),
            |s| format!("{:?} {:?}", s.map.keys().collect::<Vec<_>>(), s.map.values().collect::<Vec<_>>()),
            |s| {
                s.map.clear();
                format!("{} {}", s.map.is_empty(), s.map.len())
            },
        ],
        &[
            "None None",
            "a97 b42 Some(42) {\"a\": 97, \"b\": 33, \"c\": 12, \"d\": 5}",
            "Some(33) Some(97) false",
            "[\"b\", \"c\", \"d\"] [33, 12, 5]",
            "true 0",
        ],
    );
}

/// Put and removed again and again; an iterator sees what was there when it was taken.
pub fn b079_sequences_on_a_map(r: &dyn Runner) {
    steps(
        r,
        &[
            |s| {
                s.map.put("a".into(), 1);
                s.map.put("b".into(), 2);
                let taken: Vec<(String, i64)> = s.map.iter().map(|(k, v)| (k.clone(), *v)).collect();
                s.map.put("c".into(), 3);
                s.map.remove("b");
                format!("{taken:?}")
            },
            |s| format!("{:?} {:?}", s.map.remove("c"), s.map.remove("a")),
            |s| format!("{:?}", s.map.put("a".into(), 1)),
            |s| format!("{:?}", s.map.remove("a")),
            |s| format!("{:?}", s.map.put("a".into(), 2)),
            |s| format!("{:?}", s.map.remove("a")),
            |s| format!("{:?} {}", s.map.get("a"), s.map.is_empty()),
            |s| {
                for _ in 0..2 {
                    s.map.remove("a");
                    s.map.put("a".into(), 7);
                }
                s.map.remove("a");
                format!("{:?} {}", s.map.get("a"), s.map.is_empty())
            },
        ],
        &[
            "[(\"a\", 1), (\"b\", 2)]",
            "Some(3) Some(1)",
            "None",
            "Some(1)",
            "None",
            "Some(2)",
            "None true",
            "None true",
        ],
    );
}

/// Multimaps: duplicates are kept, and keys are what they contain.
pub fn multimaps(r: &dyn Runner) {
    steps(
        r,
        &[
            |s| {
                format!(
                    "{:?} {} {}",
                    s.multi.get(&b"a"[..]),
                    s.multi.contains_key(&b"a"[..]),
                    s.multi.is_empty()
                )
            },
            |s| {
                for (key, value) in [("a", 97), ("a", 97), ("b", 33), ("a", 98)] {
                    s.multi.put(key.as_bytes().to_vec(), value);
                }
                format!("{:?}", s.multi.get(&b"a"[..]))
            },
            |s| format!("{} {}", s.multi.keys().count(), s.multi.entries().map(|(_, v)| v).sum::<i64>()),
            |s| {
                let removed = s.multi.remove(&b"a"[..]);
                format!("{removed:?} {:?} {}", s.multi.get(&b"a"[..]), s.multi.is_empty())
            },
            |s| format!("{:?} {}", s.multi.remove(&b"b".to_vec()), s.multi.is_empty()),
            |s| {
                s.multi.put(vec![], 1);
                s.multi.clear();
                format!("{}", s.multi.contains_key(&[][..]))
            },
        ],
        &["[] false true", "[97, 97, 98]", "2 325", "[97, 97, 98] [] false", "[33] true", "false"],
    );
}

/// Ordered lists: by timestamp, ranges from their start on and before their end.
pub fn ordered_lists(r: &dyn Runner) {
    fn read(s: &Kinds) -> String {
        s.list.read().iter().map(|(_, c)| *c).collect()
    }
    fn range(s: &Kinds, from: i64, to: i64) -> String {
        s.list.read_range(at(from)..at(to)).iter().map(|(_, c)| *c).collect()
    }
    steps(
        r,
        &[
            |s| format!("{} {:?}", s.list.is_empty(), s.list.read()),
            |s| {
                for (t, c) in [(42, 'c'), (12, 'a'), (33, 'b'), (12, 'x')] {
                    s.list.add(at(t), c);
                }
                read(s)
            },
            |s| format!("{} {} {}", range(s, 12, 42), range(s, 13, 43), range(s, 43, 100)),
            |s| {
                s.list.clear_range(at(12)..at(33));
                read(s)
            },
            |s| {
                s.list.clear();
                format!("{}", s.list.is_empty())
            },
        ],
        &["true []", "axbc", "axb bc ", "bc", "true"],
    );
}

/// A combining cell reads as the combination of what was added so far.
pub fn combining_state(r: &dyn Runner) {
    steps(
        r,
        &[
            |s| format!("{} {}", s.mean.is_empty(), s.mean.read().is_nan()),
            |s| {
                s.mean.add(1);
                format!("{}", s.mean.read())
            },
            |s| {
                s.mean.add(2);
                format!("{}", s.mean.read())
            },
            |s| {
                s.mean.add_accumulator((6, 1));
                format!("{} {:?}", s.mean.read(), s.mean.accumulator())
            },
            |s| {
                s.mean.clear();
                s.mean.add_accumulator((6, 1));
                format!("{}", s.mean.read())
            },
        ],
        &["true true", "1", "1.5", "3 Some((9, 3))", "6"],
    );
}

/// A set that gets the same thousand numbers ten times, in many bundles and any order.
pub fn b081_a_large_set(r: &dyn Runner) {
    const READ: i64 = -1;
    const CLEAR: i64 = -2;
    #[derive(KeyedState)]
    #[keyed_state(crate = "purlin_sdk")]
    struct Seen {
        all: Set<i64>,
    }
    #[derive(Clone)]
    struct Distinct;
    impl KeyedDoFn for Distinct {
        type Key = String;
        type Value = i64;
        type Output = String;
        type State = Seen;
        fn process(
            &mut self,
            _: &String,
            x: i64,
            s: &mut Seen,
            _: &ProcessContext<'_>,
            out: &mut Emitter<'_, String>,
        ) -> Result {
            match x {
                READ => out.emit(s.all.iter().count().to_string()),
                CLEAR => s.all.clear(),
                x => {
                    s.all.add(x);
                }
            }
            Ok(())
        }
    }
    let mut numbers = Numbers::of(3);
    let mut stream = stream();
    for _ in 0..10 {
        let mut shuffled: Vec<_> = (0..1000).map(|x| (numbers.below(1 << 30), x)).collect();
        shuffled.sort();
        stream = stream.elements(shuffled.into_iter().map(|(_, x)| (k(x), at(0))));
    }
    let then = [READ, CLEAR, 5, READ].into_iter().fold(stream, |s, x| s.element_at(k(x), at(0)));
    assert_eq!(values(outputs(r, &then, |pc| pc.par_do_keyed("Distinct", Distinct))), ["1000", "1"]);
}
