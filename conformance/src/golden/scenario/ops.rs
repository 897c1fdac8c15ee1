//! The steps of batch scenarios.

use purlin_sdk::{Combine, DoFnError, PCollection, Partition};
use purlin_transforms::{
    ApproximateQuantiles, Count, Distinct, GroupIntoBatches, KvSwap, Latest, Mean, Sum, SumFn, ToString, Top,
    Values,
};

use super::{Pairs, programs, shapes, text::Part};
use crate::golden::{datum::Datum, record::Recorder};

/// What there is between two steps.
pub(super) enum Flow {
    Pairs(Pairs),
    Values(PCollection<Datum>),
    /// Taken down already.
    Done,
}

/// Does `parts` with `pc` one after the other, and takes down what is there in the end.
pub(super) fn run(pc: Pairs, parts: &[Part], recorder: &Recorder) -> Result<(), String> {
    let mut flow = Flow::Pairs(pc);
    for (i, part) in parts.iter().enumerate() {
        flow = step(i, flow, part, recorder)?;
    }
    match flow {
        Flow::Pairs(pc) => recorder.record("out", &pc),
        Flow::Values(pc) => {
            recorder.record_as("Record out", &pc, |value| ("out".to_owned(), Datum::Null, value));
        }
        Flow::Done => {}
    }
    Ok(())
}

fn step(i: usize, flow: Flow, part: &Part, recorder: &Recorder) -> Result<Flow, String> {
    let name = &format!("Step {i}");
    let (op, args) = match (part, &flow) {
        (Part::Windows(w), Flow::Pairs(pc)) => return Ok(Flow::Pairs(shapes::windowed(name, pc, w))),
        (Part::Windows(w), Flow::Values(pc)) => {
            return Ok(Flow::Values(pc.window_into(name, w.to_window_into())));
        }
        (Part::Stateful(program), Flow::Pairs(pc)) => {
            programs::run(program, pc, recorder)?;
            return Ok(Flow::Done);
        }
        (Part::Op(op, args), _) => (op.as_str(), args),
        (part, _) => return Err(format!("{part:?} cannot follow there")),
    };
    match flow {
        Flow::Pairs(pc) => of_pairs(name, op, args, &pc, recorder),
        Flow::Values(pc) => of_values(name, op, args, &pc),
        Flow::Done => Err(format!("`{op}` cannot follow there")),
    }
}

fn number(args: &[String]) -> Result<usize, String> {
    let text = args.first().ok_or("a number is missing")?;
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

/// The values as whole numbers.
pub(super) fn ints(name: &str, pc: &Pairs) -> PCollection<(Datum, i64)> {
    pc.map_cx(name, |(key, value), _| Ok((key, value.to_int().map_err(DoFnError::msg)?)))
}

/// Values that a transform made, as values of cases.
fn shown<V: purlin_sdk::Element>(
    name: &str,
    pc: &PCollection<(Datum, V)>,
    show: impl Fn(V) -> Datum + Clone + Send + 'static,
) -> Flow {
    Flow::Pairs(pc.map(&format!("{name} shown"), move |(key, value)| (key, show(value))))
}

fn list(values: Vec<Datum>) -> Datum {
    Datum::List(values)
}

/// Text without quotes.
fn plain(value: &Datum) -> String {
    value.as_text().map_or_else(|| value.to_string(), str::to_owned)
}

fn of_pairs(name: &str, op: &str, args: &[String], pc: &Pairs, recorder: &Recorder) -> Result<Flow, String> {
    let numbers = || ints(&format!("{name} numbers"), pc);
    Ok(match op {
        "gbk" => Flow::Pairs(shapes::grouped(name, pc)),
        "reshuffle" => Flow::Pairs(pc.reshuffle(name)),
        "record" => Flow::Pairs(pc.clone()),
        "distinct" => Flow::Pairs(pc.apply(name, Distinct)),
        "values" => Flow::Values(pc.apply(name, Values)),
        "sum_per_key" => match args.first().and_then(|arg| arg.strip_prefix("hot_key_fanout=")) {
            Some(n) => {
                let sums = Combine::per_key(SumFn::default()).with_hot_key_fanout(number(&[n.to_owned()])?);
                shown(name, &numbers().apply(name, sums), Datum::Int)
            }
            None => shown(name, &numbers().apply(name, Sum::per_key()), Datum::Int),
        },
        "count_per_key" => {
            shown(name, &pc.apply(name, Count::per_key()), |n| Datum::Int(n.try_into().unwrap_or(i64::MAX)))
        }
        "mean_per_key" => shown(name, &numbers().apply(name, Mean::per_key()), Datum::float),
        "latest_per_key" => Flow::Pairs(pc.apply(name, Latest::per_key())),
        "top_per_key" => shown(name, &pc.apply(name, Top::largest_per_key(number(args)?)), list),
        "smallest_per_key" => shown(name, &pc.apply(name, Top::smallest_per_key(number(args)?)), list),
        "group_into_batches" => {
            let batches = pc.apply(name, GroupIntoBatches::of_size(number(args)?));
            shown(name, &batches, |batch| Datum::Int(batch.len() as i64))
        }
        "kv_swap" => Flow::Pairs(pc.apply(name, KvSwap)),
        "to_string_kvs" => {
            let plain = pc.map(&format!("{name} plain"), |(key, value)| (plain(&key), plain(&value)));
            Flow::Values(plain.apply(name, ToString::kvs()).map(&format!("{name} shown"), Datum::Text))
        }
        "partition" => {
            let n = number(args)?;
            let parts = i64::try_from(n).map_err(|e| e.to_string())?;
            let choose = move |(_, value): &(Datum, Datum)| {
                value.to_int().map_or(usize::MAX, |v| v.rem_euclid(parts.max(1)) as usize)
            };
            for (i, part) in pc.apply(name, Partition::of(n, choose)).iter().enumerate() {
                recorder.record(&format!("p{i}"), part);
            }
            Flow::Done
        }
        other => return Err(format!("`{other}` is no step of pairs that is known")),
    })
}

fn of_values(name: &str, op: &str, args: &[String], pc: &PCollection<Datum>) -> Result<Flow, String> {
    let numbers = || {
        let int = |value: Datum, _: &purlin_sdk::ProcessContext<'_>| value.to_int().map_err(DoFnError::msg);
        pc.map_cx(&format!("{name} numbers"), int)
    };
    let shown = |sums: PCollection<i64>| Flow::Values(sums.map(&format!("{name} shown"), Datum::Int));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    Ok(match (op, &args[..]) {
        ("sum_globally", []) => shown(numbers().apply(name, Sum::globally())),
        ("sum_globally", ["without_defaults"]) => {
            shown(numbers().apply(name, Sum::globally().without_defaults()))
        }
        ("approximate_quantiles", [n]) => {
            let n = n.parse().map_err(|_| format!("`{n}` is no number of quantiles"))?;
            let quantiles = ApproximateQuantiles::globally(n);
            // Only the global window has quantiles of nothing.
            let quantiles = match pc.windowing().window_fn.is_global() {
                true => pc.apply(name, quantiles),
                false => pc.apply(name, quantiles.without_defaults()),
            };
            Flow::Values(quantiles.map(&format!("{name} shown"), list))
        }
        ("reshuffle", []) => Flow::Values(pc.reshuffle(name)),
        ("record", []) => Flow::Values(pc.clone()),
        ("distinct", []) => Flow::Values(pc.apply(name, Distinct)),
        (other, _) => return Err(format!("`{other}` is no step of values that is known")),
    })
}
