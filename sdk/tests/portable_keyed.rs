//! Keyed DoFns on state and timers of an engine's: the same as in a run of ours.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use proptest::prelude::*;
use purlin_derive::KeyedState;
use purlin_sdk::{
    Clock, CombineFn, DoFnError, Duration, Emitter, KeyedDoFn, KeyedParDo, ManualClock, Pipeline,
    PipelineError, ProcessContext, Result, Step, Tag, TimerContext, Timestamp, WindowInto,
    batch::{AnyBatch, Batch, Meta, Row, WindowSet},
    coder::{Coder, CoderSpec, Context, TimerCoder, TimerData, TimerFiring, default_coder, encode_window},
    exec::{
        Boundary, BundleCx, BundleInput, CellAddress, Checks, Effects, KernelSpec, KeyedLink, PortableGroup,
        PortableKeyed, RunEnv, Slot, StageInstance, StateAccess, TimerBytes,
    },
    graph::{Graph, Op},
    state::{Bag, Combining, Map, Multimap, OrderedList, Set, TimeDomain, Timer, TimerFamily, Value},
    testing::KeyedTester,
    window::{FixedWindows, PaneInfo, Window},
};

fn at(s: i64) -> Timestamp {
    Timestamp::from_secs(s)
}

fn ten(n: i64) -> Window {
    Window::interval(at(10 * n), at(10 * n + 10))
}

/// A sum.
#[derive(Clone, Default)]
struct Sum;

impl CombineFn for Sum {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;
    fn create(&self) -> i64 {
        0
    }
    fn add_input(&self, acc: &mut i64, x: i64) {
        *acc += x;
    }
    fn merge(&self, acc: &mut i64, other: i64) {
        *acc += other;
    }
    fn extract(&self, acc: i64) -> i64 {
        acc
    }
}

/// Every kind of cell and timer.
#[derive(KeyedState, Debug)]
#[keyed_state(crate = "purlin_sdk")]
struct Everything {
    value: Value<i64>,
    bag: Bag<String>,
    sum: Combining<Sum>,
    map: Map<String, i64>,
    set: Set<i64>,
    list: OrderedList<i64>,
    multi: Multimap<i64, String>,
    #[timer(event)]
    alarm: Timer,
    #[timer(processing)]
    flush: Timer,
    #[timer(event)]
    per: TimerFamily,
}

/// What an element does: a number that says what, and one for how much.
type Command = (u8, i64);

/// Does to its state what elements say, and emits what is there then.
#[derive(Clone)]
struct Obey;

impl KeyedDoFn for Obey {
    type Key = String;
    type Value = Command;
    type Output = (String, String);
    type State = Everything;

    const ON_WINDOW_EXPIRATION: bool = true;

    fn process(
        &mut self,
        key: &String,
        (what, x): Command,
        s: &mut Everything,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, (String, String)>,
    ) -> Result {
        // A timer is set no later than its window ends.
        let time = |x: i64| (cx.timestamp() + Duration::from_secs(x)).min(cx.window().max_timestamp());
        match what {
            0 => s.value.write(x),
            1 => s.bag.add(x.to_string()),
            2 => s.sum.add(x),
            3 => drop(s.map.put(x.to_string(), x)),
            4 => drop(s.set.add(x)),
            5 => s.list.add(at(x), x),
            6 => s.multi.put(x % 2, x.to_string()),
            7 => s.alarm.set(cx, time(x))?,
            8 => s.flush.set_after(cx, Duration::from_secs(x))?,
            9 => s.per.tag(&(x % 3).to_string()).set(cx, time(x))?,
            10 => drop(s.value.take()),
            11 => drop(s.bag.take()),
            12 => s.sum.clear(),
            13 => drop(s.map.remove(&x.to_string())),
            14 => drop(s.set.remove(&x)),
            15 => s.list.clear_range(at(0)..at(x)),
            16 => drop(s.multi.remove(&(x % 2))),
            17 => s.alarm.clear(),
            18 => s.flush.clear(),
            19 => s.per.clear(&(x % 3).to_string()),
            20 => s.bag.clear(),
            _ => s.per.clear_all(),
        }
        out.emit((key.clone(), format!("{what} {x}: {}", shown(s))));
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: EverythingTimer,
        key: &String,
        s: &mut Everything,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, (String, String)>,
    ) -> Result {
        s.bag.add("fired".to_owned());
        // One that goes on until its window ends, and one that is set by another.
        if timer == EverythingTimer::Alarm {
            let next = cx.fire_timestamp() + Duration::from_secs(2);
            if next <= cx.window().max_timestamp() {
                s.alarm.set(cx, next)?;
            }
        }
        if timer == EverythingTimer::Flush && !s.alarm.is_set() {
            s.alarm.set(cx, cx.window().max_timestamp())?;
        }
        out.emit((key.clone(), format!("{timer:?} of {}: {}", cx.fire_timestamp(), shown(s))));
        Ok(())
    }

    fn on_window_expiration(
        &mut self,
        key: &String,
        s: &mut Everything,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, (String, String)>,
    ) -> Result {
        out.emit((key.clone(), format!("the end of {}: {}", cx.window(), shown(s))));
        Ok(())
    }
}

/// The same, but not told when a window expires.
#[derive(Clone)]
struct Untold;

impl KeyedDoFn for Untold {
    type Key = String;
    type Value = Command;
    type Output = (String, String);
    type State = Everything;
    fn process(
        &mut self,
        key: &String,
        command: Command,
        s: &mut Everything,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, (String, String)>,
    ) -> Result {
        Obey.process(key, command, s, cx, out)
    }
    fn on_timer(
        &mut self,
        timer: EverythingTimer,
        key: &String,
        s: &mut Everything,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, (String, String)>,
    ) -> Result {
        Obey.on_timer(timer, key, s, cx, out)
    }
}

fn shown(s: &Everything) -> String {
    format!("{s:?} {:?} {:?} {:?}", s.sum.read(), s.alarm.time(), s.per.tags().collect::<Vec<_>>())
}

/// Bags of bytes.
#[derive(Default)]
struct Memory {
    bags: Mutex<HashMap<CellAddress, Vec<u8>>>,
    calls: Mutex<Vec<String>>,
    broken: Mutex<bool>,
}

impl Memory {
    fn call(&self, what: &str, cell: &CellAddress) {
        self.calls.lock().unwrap().push(format!("{what} {}", cell.cell));
    }

    /// What was called since the last time.
    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

impl StateAccess for Memory {
    fn get(&self, cells: &[CellAddress]) -> Result<Vec<Vec<u8>>> {
        if *self.broken.lock().unwrap() {
            return Err(DoFnError::msg("the engine is gone"));
        }
        self.calls.lock().unwrap().push(format!("get {}", cells.len()));
        let bags = self.bags.lock().unwrap();
        Ok(cells.iter().map(|cell| bags.get(cell).cloned().unwrap_or_default()).collect())
    }

    fn append(&self, cell: &CellAddress, items: Vec<u8>) -> Result {
        self.call("append", cell);
        self.bags.lock().unwrap().entry(cell.clone()).or_default().extend(items);
        Ok(())
    }

    fn clear(&self, cell: &CellAddress) -> Result {
        self.call("clear", cell);
        self.bags.lock().unwrap().remove(cell);
        Ok(())
    }
}

/// A timer that is set: family, key, tag, window.
type TimerKey = (String, String, String, Window);

/// An engine with one keyed DoFn.
struct Engine {
    keyed: Arc<dyn PortableKeyed>,
    link: Arc<KeyedLink>,
    stage: Option<StageInstance>,
    memory: Arc<Memory>,
    timers: BTreeMap<TimerKey, TimerFiring>,
    watermark: Timestamp,
    clock: ManualClock,
    window: CoderSpec,
    /// The sizes of the pieces in which the last bundle's timers came.
    pieces: Vec<usize>,
    out: Vec<((String, String), Timestamp, Window)>,
}

fn graph<D: KeyedDoFn<Key = String, Value = Command>>(dofn: D, windowed: bool) -> Graph {
    let p = Pipeline::new();
    let mut input = p.create("In", [("a".to_owned(), (0_u8, 0_i64))]);
    if windowed {
        input = input.window_into("Tens", WindowInto::of(FixedWindows::of(Duration::from_secs(10))));
    }
    input.par_do_keyed("Keyed", dofn);
    p.build().unwrap()
}

fn keyed_of(graph: &Graph) -> Result<Arc<dyn PortableKeyed>> {
    let node = graph.nodes.iter().find(|n| n.step.path() == "Keyed").expect("there is such a transform");
    let Op::Group(factory) = &node.op else { panic!("{node:?} is no grouping") };
    match factory.portable()? {
        PortableGroup::Keyed(keyed) => Ok(keyed),
        other => panic!("it is to {other:?}"),
    }
}

/// The key as an engine has it that does not know its coder.
fn prefixed() -> CoderSpec {
    CoderSpec::LengthPrefix(Box::new(CoderSpec::StringUtf8))
}

impl Engine {
    fn of<D: KeyedDoFn<Key = String, Value = Command>>(dofn: D, windowed: bool) -> Engine {
        let keyed = keyed_of(&graph(dofn, windowed)).unwrap();
        let window = if windowed { CoderSpec::IntervalWindow } else { CoderSpec::GlobalWindow };
        let coder = CoderSpec::Timer(Box::new(prefixed()), Box::new(window.clone()));
        let families = keyed.timers().into_iter().map(|t| (t.name, coder.clone()));
        Engine {
            link: KeyedLink::new(prefixed(), window.clone(), families),
            keyed,
            stage: None,
            memory: Arc::default(),
            timers: BTreeMap::new(),
            watermark: Timestamp::MIN,
            clock: ManualClock::default(),
            window,
            pieces: Vec::new(),
            out: Vec::new(),
        }
    }

    fn coder(&self) -> TimerCoder<String> {
        let own = default_coder::<String>().unwrap();
        let key = purlin_sdk::coder::rewrapped(&own, &prefixed()).unwrap();
        TimerCoder::new(key, self.window.clone()).unwrap()
    }

    fn instance(&self) -> StageInstance {
        let step = Step::new("Keyed", std::panic::Location::caller());
        let kernel = self.keyed.kernel(&KernelSpec { step: step.clone() }, &self.link).unwrap();
        let out = Box::new(Batch::<(String, String)>::default());
        StageInstance::new(vec![
            Slot { step: step.clone(), kernel, input: self.keyed.input(), routes: vec![vec![1]] },
            Slot { step, kernel: Box::new(Boundary::new(0)), input: out, routes: Vec::new() },
        ])
    }

    fn bundle(&mut self, batches: Vec<AnyBatch>, fired: Vec<TimerBytes>) -> Result<(), PipelineError> {
        self.link.begin(self.memory.clone());
        fired.into_iter().for_each(|timers| self.link.fire(timers));
        let env = RunEnv {
            options: Arc::new(()),
            clock: self.clock.handle(),
            parallelism: 1,
            atomic: false,
            checks: Checks { recode: true },
        };
        let mut cx = BundleCx::new(Arc::new(env), Effects::default());
        cx.now = self.clock.now();
        let mut stage = self.stage.take().unwrap_or_else(|| self.instance());
        stage.run(BundleInput::Batches(batches), &cx)?;
        self.stage = Some(stage);
        for (_, mut batch) in cx.into_done().effects.outputs {
            let batch = batch.as_any().downcast_mut::<Batch<(String, String)>>().unwrap();
            for (i, value) in batch.values.iter().enumerate() {
                let row = Row::of(&batch.meta, i);
                self.out.push((value.clone(), row.time(), row.windows().as_slice()[0].clone()));
            }
        }
        let coder = self.coder();
        let ended = self.link.end();
        self.pieces = ended.iter().map(|piece| piece.timers.len()).collect();
        for TimerBytes { family, timers } in ended {
            let mut rest = &timers[..];
            while !rest.is_empty() {
                let TimerData { key, tag, windows, firing } =
                    coder.decode(&mut rest, Context::Nested).unwrap();
                let name = (family.clone(), key, tag, windows[0].clone());
                match firing {
                    Some(firing) => drop(self.timers.insert(name, firing)),
                    None => {
                        let was_set = self.timers.remove(&name).is_some();
                        assert!(was_set, "{name:?} is cleared and was not set");
                    }
                }
            }
        }
        Ok(())
    }

    fn elements(&mut self, elements: &[(String, Command, i64)], window: &Window) {
        let mut batch = Batch::default();
        for (key, command, time) in elements {
            let meta = Meta::constant(at(*time), WindowSet::One(window.clone()), PaneInfo::NO_FIRING);
            if window.max_timestamp() >= self.watermark {
                batch.push((key.clone(), *command), Row::of(&meta, 0));
            }
        }
        self.bundle(vec![Box::new(batch)], Vec::new()).unwrap();
    }

    /// Fires what is due, until nothing is.
    fn settle(&mut self) {
        loop {
            let times: HashMap<String, TimeDomain> =
                self.keyed.timers().into_iter().map(|t| (t.name, t.time)).collect();
            let (watermark, now) = (self.watermark, self.clock.now());
            let due = |(family, ..): &TimerKey, firing: &TimerFiring| match times[family] {
                TimeDomain::Event => firing.fire_timestamp < watermark,
                TimeDomain::Processing => firing.fire_timestamp <= now,
            };
            let fired: Vec<_> =
                self.timers.iter().filter(|(k, f)| due(k, f)).map(|(k, f)| (k.clone(), *f)).collect();
            if fired.is_empty() {
                return;
            }
            let coder = self.coder();
            let mut timers = Vec::new();
            for (name, firing) in fired {
                self.timers.remove(&name);
                let (family, key, tag, window) = name;
                let mut firing = firing;
                if times[&family] == TimeDomain::Processing {
                    // As Prism does.
                    firing.fire_timestamp = firing.hold_timestamp;
                }
                let data = TimerData { key, tag, windows: vec![window], firing: Some(firing) };
                let mut bytes = Vec::new();
                coder.encode(&data, Context::Nested, &mut bytes).unwrap();
                timers.push(TimerBytes { family, timers: bytes });
            }
            self.bundle(Vec::new(), timers).unwrap();
        }
    }

    fn advance(&mut self, watermark: Timestamp) {
        self.watermark = watermark;
        self.settle();
    }

    fn advance_clock(&mut self, by: Duration) {
        self.clock.advance(by);
        self.settle();
    }

    /// What came out, by key, in order.
    fn per_key(&mut self) -> PerKey {
        per_key(std::mem::take(&mut self.out))
    }

    fn holds(&self) -> Timestamp {
        self.timers.values().map(|t| t.hold_timestamp).min().unwrap_or(Timestamp::MAX)
    }
}

type PerKey = BTreeMap<String, Vec<(String, Timestamp, Window)>>;

fn per_key(all: Vec<((String, String), Timestamp, Window)>) -> PerKey {
    let mut keys = PerKey::new();
    for ((key, what), time, window) in all {
        keys.entry(key).or_default().push((what, time, window));
    }
    keys
}

#[derive(Clone, Debug)]
enum Move {
    Elements(Vec<(String, Command, i64)>),
    Watermark(i64),
    Clock(i64),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let element = (0..3_u8, 0..22_u8, 0..12_i64, 0..10_i64)
        .prop_map(|(key, what, x, time)| (format!("k{key}"), (what, x), time));
    let one = prop_oneof![
        6 => proptest::collection::vec(element, 1..6).prop_map(Move::Elements),
        2 => (0..5_i64).prop_map(Move::Watermark),
        1 => (0..8_i64).prop_map(Move::Clock),
    ];
    proptest::collection::vec(one, 0..14)
}

fn compared<D>(dofn: D, moves: &[Move], bundled: bool) -> Result<(), TestCaseError>
where
    D: KeyedDoFn<Key = String, Value = Command, Output = (String, String)>,
{
    let mut engine = Engine::of(dofn.clone(), true);
    let mut ours = KeyedTester::of(dofn);
    let window = ten(0);
    ours.window(window.clone());
    let mut watermark = 0;
    for step in moves {
        match step {
            Move::Elements(all) if bundled => {
                engine.elements(all, &window);
                engine.settle();
                ours.process_bundle_at(all.iter().map(|(k, c, t)| ((k.clone(), *c), at(*t)))).unwrap();
            }
            Move::Elements(all) => {
                for one in all {
                    engine.elements(std::slice::from_ref(one), &window);
                    engine.settle();
                    ours.at(at(one.2)).process(one.0.clone(), one.1).unwrap();
                }
            }
            Move::Watermark(by) => {
                watermark += by;
                engine.advance(at(watermark));
                ours.advance_watermark(at(watermark)).unwrap();
            }
            Move::Clock(by) => {
                engine.advance_clock(Duration::from_secs(*by));
                ours.advance_clock(Duration::from_secs(*by)).unwrap();
            }
        }
        prop_assert_eq!(engine.per_key(), per_key(ours.main_with_windows()));
        prop_assert_eq!(engine.holds().min(engine.watermark), ours.output_watermark());
    }
    engine.advance(Timestamp::MAX);
    ours.finish().unwrap();
    prop_assert_eq!(engine.per_key(), per_key(ours.main_with_windows()));
    prop_assert!(engine.timers.is_empty(), "{:?} are set still", engine.timers);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn an_engine_and_a_run_of_ours_do_the_same(moves in moves(), bundled in any::<bool>()) {
        compared(Untold, &moves, bundled)?;
        compared(Obey, &moves, bundled)?;
    }
}

fn command(what: u8, x: i64) -> (String, Command, i64) {
    ("k".to_owned(), (what, x), 1)
}

#[test]
fn only_what_has_changed_is_written_and_a_bag_that_grew_is_appended_to() {
    let mut engine = Engine::of(Untold, false);
    engine.elements(&[command(1, 7), command(0, 3)], &Window::Global);
    assert_eq!(engine.memory.calls(), ["get 8", "append value", "append bag"]);
    engine.elements(&[command(1, 8), command(1, 9)], &Window::Global);
    assert_eq!(engine.memory.calls(), ["get 8", "append bag"]);
    engine.elements(&[command(0, 4)], &Window::Global);
    assert_eq!(engine.memory.calls(), ["get 8", "clear value", "append value"]);
    engine.elements(&[command(11, 0), command(10, 0)], &Window::Global);
    assert_eq!(engine.memory.calls(), ["get 8", "clear value", "clear bag"]);
    // What is cleared and was empty is not told.
    engine.elements(&[command(10, 0), command(20, 0)], &Window::Global);
    assert_eq!(engine.memory.calls(), ["get 8"]);
    engine.elements(&[command(7, 9)], &Window::Global);
    assert_eq!(engine.memory.calls(), ["get 8", "append purlin:timers"]);
    assert!(engine.memory.bags.lock().unwrap().keys().all(|cell| &*cell.cell == "purlin:timers"));
}

#[test]
fn a_bundle_asks_once_for_the_keys_of_a_batch() {
    let mut engine = Engine::of(Untold, true);
    let of = |key: &str, n| (key.to_owned(), (1, n), 2);
    engine.elements(&[of("a", 1), of("b", 2), of("a", 3)], &ten(0));
    assert_eq!(engine.memory.calls()[0], "get 16");
    let mut window = Vec::new();
    encode_window(&CoderSpec::IntervalWindow, &ten(0), &mut window).unwrap();
    let cell = CellAddress { cell: "bag".into(), window: window.into(), key: b"\x01a"[..].into() };
    assert!(
        engine.memory.bags.lock().unwrap().contains_key(&cell),
        "key and window are encoded as the engine says"
    );
}

#[test]
fn a_window_that_expired_leaves_nothing() {
    let mut engine = Engine::of(Obey, true);
    engine.elements(&[command(1, 7), command(8, 100), command(9, 3)], &ten(0));
    assert_eq!(engine.holds(), at(1), "the processing-time timer holds at its element");
    engine.advance(at(11));
    assert!(engine.memory.bags.lock().unwrap().is_empty());
    assert!(engine.timers.is_empty());
    let out: Vec<_> = engine.per_key().remove("k").unwrap().into_iter().map(|(what, ..)| what).collect();
    assert!(out[3].starts_with("Per(\"0\")") && out[4].starts_with("Flush"), "{out:?}");
    assert!(out.last().unwrap().starts_with("the end of"), "{out:?}");
}

#[test]
fn a_bundle_that_fails_writes_nothing_and_says_why() {
    let mut engine = Engine::of(Untold, false);
    *engine.memory.broken.lock().unwrap() = true;
    let batch = {
        let mut batch = Batch::default();
        batch.push(("k".to_owned(), (0_u8, 1_i64)), Row::of(&Meta::default(), 0));
        Box::new(batch)
    };
    let e = engine.bundle(vec![batch], Vec::new()).unwrap_err().to_string();
    assert!(e.contains("the engine is gone") && e.contains("Keyed"), "{e}");
    assert!(engine.link.end().is_empty());
    *engine.memory.broken.lock().unwrap() = false;
    let cells = engine.keyed.cells();
    assert_eq!(cells.last().map(String::as_str), Some("purlin:timers"));
    engine.elements(&[command(0, 1)], &Window::Global);
    for bytes in engine.memory.bags.lock().unwrap().values_mut() {
        bytes.pop();
    }
    let batch = {
        let mut batch = Batch::default();
        batch.push(("k".to_owned(), (0_u8, 1_i64)), Row::of(&Meta::default(), 0));
        Box::new(batch)
    };
    let e = engine.bundle(vec![batch], Vec::new()).unwrap_err().to_string();
    assert!(e.contains("its state `value` cannot be read"), "{e}");
}

#[test]
fn an_engine_that_removes_state_before_its_timers_fire_is_told() {
    let mut engine = Engine::of(Untold, true);
    engine.elements(&[command(7, 3)], &ten(0));
    engine.memory.bags.lock().unwrap().clear();
    let (name, firing) = engine.timers.pop_first().unwrap();
    let fire = |engine: &mut Engine, firing: TimerFiring| {
        let data = TimerData {
            key: name.1.clone(),
            tag: String::new(),
            windows: vec![name.3.clone()],
            firing: Some(firing),
        };
        let mut timers = Vec::new();
        engine.coder().encode(&data, Context::Nested, &mut timers).unwrap();
        engine.bundle(Vec::new(), vec![TimerBytes { family: name.0.clone(), timers }])
    };
    let e = fire(&mut engine, firing).unwrap_err().to_string();
    assert!(e.contains("timer `Some(Alarm)`") && e.contains("removed the state"), "{e}");
    // One that was cleared, as Prism fires it.
    let pane = PaneInfo { is_first: false, ..PaneInfo::NO_FIRING };
    fire(&mut engine, TimerFiring { pane, ..firing }).unwrap();
}

#[test]
fn many_timers_go_out_in_pieces() {
    let mut engine = Engine::of(Untold, false);
    let elements: Vec<_> = (0..30_000).map(|n| (format!("a key of some length {n}"), (7, 5), 1)).collect();
    engine.elements(&elements, &Window::Global);
    assert_eq!(engine.timers.len(), 30_000);
    let [first, second] = engine.pieces[..] else { panic!("{:?}", engine.pieces) };
    assert!(first < (1 << 20) + 100 && second < first, "{first} {second}");
}

/// Nothing kept, nothing set.
#[derive(Clone)]
struct Stateless;

impl KeyedDoFn for Stateless {
    type Key = String;
    type Value = Command;
    type Output = (String, String);
    type State = ();
    fn process(
        &mut self,
        key: &String,
        _: Command,
        (): &mut (),
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, (String, String)>,
    ) -> Result {
        out.emit((key.clone(), "seen".to_owned()));
        Ok(())
    }
}

#[test]
fn what_keeps_nothing_asks_for_nothing() {
    let mut engine = Engine::of(Stateless, false);
    assert!(engine.keyed.cells().is_empty() && engine.keyed.timers().is_empty());
    engine.elements(&[command(0, 0)], &Window::Global);
    assert_eq!(engine.per_key().len(), 1);
    assert!(engine.memory.calls().is_empty());
}

#[test]
fn what_an_engine_cannot_do_is_refused_or_told() {
    const LATE: Tag<(String, Command)> = Tag::new("late");
    let p = Pipeline::new();
    let input = p.create("In", [("a".to_owned(), (0_u8, 0_i64))]);
    input.par_do_keyed_with("Keyed", KeyedParDo::of(Stateless).late_data(LATE));
    let refused = keyed_of(&p.build().unwrap()).err().unwrap().to_string();
    assert!(refused.contains("late_data"), "{refused}");

    let with = |par_do: KeyedParDo<Stateless>| {
        let p = Pipeline::new();
        let input = p.create("In", [("a".to_owned(), (0_u8, 0_i64))]);
        input.par_do_keyed_with("Keyed", par_do);
        keyed_of(&p.build().unwrap())
    };
    let refused = with(KeyedParDo::of(Stateless).time_sorted()).err().unwrap().to_string();
    assert!(refused.contains("time_sorted") && refused.contains("OrderedList"), "{refused}");
    assert!(with(KeyedParDo::of(Stateless).stable_input()).unwrap().requires_stable_input());

    let keyed = keyed_of(&graph(Obey, false)).unwrap();
    let spec = KernelSpec { step: Step::new("Keyed", std::panic::Location::caller()) };
    let link = KeyedLink::new(CoderSpec::StringUtf8, CoderSpec::GlobalWindow, []);
    let e = keyed.kernel(&spec, &link).err().unwrap().to_string();
    assert!(e.contains("timers `alarm`"), "{e}");
}
