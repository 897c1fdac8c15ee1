//! DoFns with state and timers, by the names that scenarios call them.

use purlin_derive::KeyedState;
use purlin_sdk::{
    Duration, Emitter, KeyedDoFn, ProcessContext, Result, TimerContext, Timestamp,
    state::{Bag, Combining, Set, Timer, TimerFamily, Value},
};
use purlin_transforms::SumFn;

use super::Pairs;
use crate::golden::{datum::Datum, record::Recorder};

/// A label, a key and a value.
type Emission = (String, Datum, Datum);

/// Runs `pc` through a program, and takes down what it emits.
pub(super) fn run(name: &str, pc: &Pairs, recorder: &Recorder) -> std::result::Result<(), String> {
    let emitted = match name {
        "RunningSum" => pc.par_do_keyed(name, RunningSum),
        "BagBuffer" => pc.par_do_keyed(name, BagBuffer),
        "SetDedup" => pc.par_do_keyed(name, SetDedup),
        "EventTimer" => pc.par_do_keyed(name, EventTimer),
        "TwoTimers" => pc.par_do_keyed(name, TwoTimers),
        "LoopTimer" => pc.par_do_keyed(name, LoopTimer),
        "FamilyTimer" => pc.par_do_keyed(name, FamilyTimer),
        "ProcTimer" => pc.par_do_keyed(name, ProcTimer),
        "WindowEndTimer" => pc.par_do_keyed(name, WindowEndTimer),
        other => return Err(format!("`{other}` is no program that is known")),
    };
    recorder.record_as("Record", &emitted, |emission| emission);
    Ok(())
}

fn int(value: &Datum) -> Result<i64> {
    value.to_int().map_err(purlin_sdk::DoFnError::msg)
}

fn emit(out: &mut Emitter<'_, Emission>, label: &str, key: &Datum, value: Datum) {
    out.emit((label.to_owned(), key.clone(), value));
}

const STEP: Duration = Duration::from_secs(5);

macro_rules! program {
    (
        $(#[$doc:meta])*
        $name:ident, $state:ident {
            process($key:ident, $value:ident, $s:ident, $cx:ident, $out:ident) $process:block
            $(on_timer($timer:pat, $tkey:ident, $ts:ident, $tcx:ident, $tout:ident) $on_timer:block)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        struct $name;

        impl KeyedDoFn for $name {
            type Key = Datum;
            type Value = Datum;
            type Output = Emission;
            type State = $state;

            fn process(
                &mut self,
                $key: &Datum,
                $value: Datum,
                $s: &mut $state,
                $cx: &ProcessContext<'_>,
                $out: &mut Emitter<'_, Emission>,
            ) -> Result $process

            $(fn on_timer(
                &mut self,
                $timer: purlin_sdk::TimerOf<Self>,
                $tkey: &Datum,
                $ts: &mut $state,
                $tcx: &TimerContext<'_>,
                $tout: &mut Emitter<'_, Emission>,
            ) -> Result $on_timer)?
        }
    };
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct SumState {
    sum: Value<i64>,
}

program! {
    /// Emits the sum so far with each element.
    RunningSum, SumState {
        process(key, value, s, _cx, out) {
            let sum = s.sum.read().copied().unwrap_or(0) + int(&value)?;
            s.sum.write(sum);
            emit(out, "element", key, Datum::Int(sum));
            Ok(())
        }
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct BufferState {
    items: Bag<Datum>,
    count: Combining<SumFn<i64>>,
}

program! {
    /// Emits three elements at a time.
    BagBuffer, BufferState {
        process(key, value, s, _cx, out) {
            s.items.add(value);
            s.count.add(1);
            if s.count.read() >= 3 {
                emit(out, "flush", key, Datum::List(s.items.take()).sorted());
                s.count.clear();
            }
            Ok(())
        }
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct DedupState {
    seen: Set<Datum>,
}

program! {
    /// Says of each value whether it is the first of its kind.
    SetDedup, DedupState {
        process(key, value, s, _cx, out) {
            let label = if s.seen.add(value.clone()) { "first" } else { "duplicate" };
            emit(out, label, key, value);
            Ok(())
        }
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct EventState {
    items: Bag<Datum>,
    #[timer(event)]
    t: Timer,
}

program! {
    /// Gathers until ten seconds after the last element.
    EventTimer, EventState {
        process(_key, value, s, cx, _out) {
            s.items.add(value);
            s.t.set(cx, cx.timestamp() + Duration::from_secs(10))
        }
        on_timer(_timer, key, s, _cx, out) {
            emit(out, "timer", key, Datum::List(s.items.take()).sorted());
            Ok(())
        }
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct TwoState {
    #[timer(event)]
    a: Timer,
    #[timer(event)]
    b: Timer,
}

program! {
    /// Sets two timers, and clears one by 0 and the other by -1.
    TwoTimers, TwoState {
        process(_key, value, s, cx, _out) {
            match int(&value)? {
                0 => s.a.clear(),
                -1 => s.b.clear(),
                _ => {
                    s.a.set(cx, cx.timestamp() + STEP)?;
                    s.b.set(cx, cx.timestamp() + Duration::from_secs(10))?;
                }
            }
            Ok(())
        }
        on_timer(timer, key, _s, _cx, out) {
            let label = match timer {
                TwoStateTimer::A => "A",
                TwoStateTimer::B => "B",
            };
            emit(out, label, key, Datum::Null);
            Ok(())
        }
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct LoopState {
    n: Value<i64>,
    #[timer(event)]
    t: Timer,
}

program! {
    /// A timer that sets itself again, three times in all.
    LoopTimer, LoopState {
        process(_key, _value, s, cx, _out) {
            s.t.set(cx, cx.timestamp() + STEP)
        }
        on_timer(_timer, key, s, cx, out) {
            let n = s.n.read().copied().unwrap_or(0) + 1;
            s.n.write(n);
            emit(out, "loop", key, Datum::Int(n));
            if n < 3 {
                s.t.set(cx, cx.fire_timestamp() + STEP)?;
            }
            Ok(())
        }
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct FamilyState {
    #[timer(event)]
    tags: TimerFamily,
}

program! {
    /// A timer for each value.
    FamilyTimer, FamilyState {
        process(_key, value, s, cx, _out) {
            s.tags.tag(&format!("tag{value}")).set(cx, cx.timestamp() + Duration::from_secs(10))
        }
        on_timer(timer, key, _s, _cx, out) {
            let FamilyStateTimer::Tags(tag) = timer;
            emit(out, "fam", key, Datum::Text(tag));
            Ok(())
        }
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct ProcState {
    items: Bag<Datum>,
    #[timer(processing)]
    t: Timer,
}

program! {
    /// Gathers until the deadline, in processing time, of the first element.
    ProcTimer, ProcState {
        process(_key, value, s, cx, _out) {
            let [value, deadline] = value.to_list().map_err(purlin_sdk::DoFnError::msg)? else {
                return Err(purlin_sdk::DoFnError::msg(format!("{value} should be a value and a deadline")));
            };
            if s.items.is_empty() {
                let deadline = deadline.to_millis().map_err(purlin_sdk::DoFnError::msg)?;
                s.t.set(cx, Timestamp::saturating_from_millis(deadline))?;
            }
            s.items.add(value.clone());
            Ok(())
        }
        on_timer(_timer, key, s, _cx, out) {
            emit(out, "flush", key, Datum::List(s.items.take()).sorted());
            Ok(())
        }
    }
}

program! {
    /// Counts until the end of the window.
    WindowEndTimer, LoopState {
        process(_key, _value, s, cx, _out) {
            let n = s.n.read().copied().unwrap_or(0) + 1;
            s.n.write(n);
            s.t.set(cx, cx.window().max_timestamp())
        }
        on_timer(_timer, key, s, _cx, out) {
            emit(out, "eow", key, Datum::Int(s.n.read().copied().unwrap_or(0)));
            Ok(())
        }
    }
}
