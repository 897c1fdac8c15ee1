//! Scenarios with inputs that are there as a whole.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use purlin_sdk::{Pipeline, Runner, testing::TestStream};

use super::{
    Pairs, elements, ops, sdfs, shapes,
    text::{Part, Text},
};
use crate::golden::{
    datum::Datum,
    record::{Recorder, compare},
    setups,
};

pub(super) fn run(scenario: &Datum, runner: &dyn Runner) -> Result<(), String> {
    let recorder = Recorder::default();
    let pipeline = scenario.need("pipeline")?;
    let text = Text::parse(pipeline.need("text")?.to_text()?)?;
    let inputs = scenario.need("inputs")?;
    let draining = pipeline.get("draining").map_or(Ok(false), Datum::to_bool)?;
    let gate = Gate::new(!draining);
    let handle = setups::start(runner, |p| build(p, &text, inputs, &gate, &recorder))?;
    if draining {
        handle.drain();
        gate.open();
    }
    setups::end(&handle)?;
    compare(scenario.need("expected_multiset")?.to_list()?, &recorder.take())
}

/// Holds the elements back until the pipeline is being drained, so that no work has begun by then.
#[derive(Clone, Debug)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn new(open: bool) -> Gate {
        Gate(Arc::new((Mutex::new(open), Condvar::new())))
    }

    fn open(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let open = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.0.1.wait_while(open, |open| !*open));
    }
}

fn build(p: &Pipeline, text: &Text, inputs: &Datum, gate: &Gate, recorder: &Recorder) -> Result<(), String> {
    match text {
        Text::Line(parts) => {
            let stateful = parts.iter().any(|part| matches!(part, Part::Stateful(_)));
            ops::run(input(p, "Input", inputs, stateful)?, parts, recorder)
        }
        Text::Each(windowing, parts) => {
            let mut all = Vec::new();
            for (name, list) in inputs.to_entries()? {
                let name = name.to_text()?;
                let pc = input(p, &format!("Input {name}"), list, false)?;
                all.push((name.to_owned(), shapes::windowed(&format!("Window {name}"), &pc, windowing)));
            }
            match &parts[..] {
                [Part::Op(op, _), rest @ ..] if op == "cogbk" => {
                    ops::run(shapes::co_grouped(all)?, rest, recorder)
                }
                [Part::Op(op, _), rest @ ..] if op == "flatten" => {
                    let all: Vec<Pairs> = all.into_iter().map(|(_, pc)| pc).collect();
                    ops::run(p.flatten("Flatten", all), rest, recorder)
                }
                other => Err(format!("{other:?} takes no several inputs")),
            }
        }
        Text::Joined { main, side, shape } => {
            let of = |name: &str| input(p, &format!("Input {name}"), inputs.need(name)?, false);
            let main = shapes::windowed("WindowMain", &of("main")?, main);
            let side = shapes::windowed("WindowSide", &of("side")?, side);
            recorder.record("joined", &shapes::joined(&main, &side, shape));
            Ok(())
        }
        Text::Splittable(program, rest) => {
            let gate = gate.clone();
            let elements = input(p, "Input", inputs, false)?.map("Gate", move |element| {
                gate.pass();
                element
            });
            ops::run(sdfs::apply(program, &elements, recorder)?, rest, recorder)
        }
    }
}

/// A collection of a scenario's elements; `in_order` where state makes something of their order.
fn input(p: &Pipeline, name: &str, list: &Datum, in_order: bool) -> Result<Pairs, String> {
    let elements = elements(list)?;
    Ok(match in_order {
        true => p.apply(name, TestStream::new().bounded().elements(elements)),
        false => p.create_timestamped(name, elements),
    })
}
