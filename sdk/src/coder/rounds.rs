//! What the rounds of probing one type have in common.

use std::{
    any::type_name,
    cell::{Cell, RefCell},
    collections::HashMap,
    fmt,
};

use serde::de::DeserializeSeed;

use super::{CoderSpec, probe::Probe};

/// Deeper than any type of fields in fields; only a type that must contain itself gets there.
const MAX_DEPTH: usize = 64;
/// Questions in one round: types that refer to each other in many ways would otherwise be walked for ever.
const MAX_STEPS: usize = 20_000;

/// Why a type cannot be written without the names of its fields and types.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) path: String,
    pub(super) type_name: &'static str,
    pub(super) why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Any,
    Flatten,
    /// A struct is larger than what it reads.
    Skips,
}

/// What was found where a value was asked for.
#[derive(Debug)]
pub(super) enum Found {
    /// A `u8`: alone an integer, in a sequence a byte.
    Byte,
    Spec(CoderSpec),
}

impl Found {
    pub(super) fn spec(self) -> CoderSpec {
        match self {
            Found::Byte => CoderSpec::VarInt,
            Found::Spec(spec) => spec,
        }
    }
}

#[derive(Default)]
struct Variants {
    next: usize,
    /// The variant that came to an end in the fewest steps: what ends a recursion.
    shortest: Option<(usize, usize)>,
}

/// What is remembered from round to round.
#[derive(Default)]
pub(super) struct Rounds {
    fault: RefCell<Option<Fault>>,
    path: RefCell<Vec<&'static str>>,
    active: RefCell<Vec<&'static str>>,
    enums: RefCell<HashMap<&'static str, Variants>>,
    attempts: RefCell<HashMap<&'static str, usize>>,
    asked: Cell<Option<(&'static str, usize)>>,
    new_variant: Cell<bool>,
    /// How many structs what is being looked at lies in, and where fields are to hold as little as may be.
    structs: Cell<usize>,
    least: Cell<Option<usize>>,
    met_least: Cell<bool>,
    steps: Cell<usize>,
}

/// Whether more is to be learned by another round, the value that was made up, and what was found.
type Tried<T> = (bool, Option<T>, Option<Found>);

impl Rounds {
    /// Probes `T` once. Whether more is to be learned by another round, the value that was made up if this one came to
    /// its end, and what was found.
    pub(super) fn round<S: DeserializeSeed<'static>>(&self, seed: S) -> Result<Tried<S::Value>, Fault> {
        self.path.borrow_mut().clear();
        self.active.borrow_mut().clear();
        self.asked.set(None);
        self.new_variant.set(false);
        self.steps.set(0);
        self.structs.set(0);
        let mut found = None;
        let made = self.visit(seed, &mut found, None, 0).ok();
        if let Some(fault) = self.fault.borrow_mut().take() {
            return Err(fault);
        }
        let again = self.new_variant.get() || (made.is_none() && self.try_another_value());
        Ok((again, made, found))
    }

    /// A value whose fields that lie in `structs` structs hold as little as may be: no options, no elements, zeros.
    /// Nothing when there are no such fields.
    pub(super) fn least<S: DeserializeSeed<'static>>(
        &self,
        structs: usize,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        self.least.set(Some(structs));
        self.met_least.set(false);
        let round = self.round(seed);
        self.least.set(None);
        round.map(|(_, made, _)| made.filter(|_| self.met_least.get()))
    }

    /// Whether what is being looked at is to hold as little as may be.
    pub(super) fn is_least(&self) -> bool {
        let least = self.least.get() == Some(self.structs.get());
        self.met_least.set(self.met_least.get() || least);
        least
    }

    /// Runs `look` on the fields of a struct.
    pub(super) fn in_fields<R>(&self, look: impl FnOnce() -> R) -> R {
        self.structs.set(self.structs.get() + 1);
        let made = look();
        self.structs.set(self.structs.get() - 1);
        made
    }

    /// The last value that was asked for is taken to be the one that was refused.
    fn try_another_value(&self) -> bool {
        match self.asked.get() {
            Some((type_name, values)) => {
                let mut attempts = self.attempts.borrow_mut();
                let attempt = attempts.entry(type_name).or_default();
                *attempt += 1;
                *attempt < values
            }
            None => false,
        }
    }

    /// One of `values`, the next one after each that was refused.
    pub(super) fn value<T: Copy>(&self, type_name: &'static str, values: &[T]) -> T {
        self.asked.set(Some((type_name, values.len())));
        let attempt = self.attempts.borrow().get(type_name).copied().unwrap_or(0);
        values[attempt.min(values.len() - 1)]
    }

    /// Lets `seed` look around, as the part `field` of what is being looked at, or the whole.
    pub(super) fn visit<'de, S: DeserializeSeed<'de>>(
        &self,
        seed: S,
        found: &mut Option<Found>,
        field: Option<&'static str>,
        depth: usize,
    ) -> Result<S::Value, Refused> {
        self.step(depth)?;
        let ty = type_name::<S::Value>();
        let look = || self.inside(ty, || seed.deserialize(Probe::new(self, found, ty, depth)));
        match field {
            Some(field) => self.named(field, look),
            None => look(),
        }
    }

    /// Runs `look` with `name` on the path that a fault is reported with.
    pub(super) fn named<R>(&self, name: &'static str, look: impl FnOnce() -> R) -> R {
        self.path.borrow_mut().push(name);
        let made = look();
        self.path.borrow_mut().pop();
        made
    }

    /// Runs `look` inside the type of that name.
    pub(super) fn inside<R>(&self, ty: &'static str, look: impl FnOnce() -> R) -> R {
        self.active.borrow_mut().push(unboxed(ty));
        let made = look();
        self.active.borrow_mut().pop();
        made
    }

    /// Whether the type of that name is being looked at already.
    pub(super) fn is_inside(&self, ty: &'static str) -> bool {
        self.active.borrow().contains(&unboxed(ty))
    }

    /// The variant of an enum to look at: one that was not seen, or the one that is soonest at its end.
    pub(super) fn variant(&self, ty: &'static str, count: usize) -> usize {
        let mut enums = self.enums.borrow_mut();
        let seen = enums.entry(ty).or_default();
        if seen.next >= count {
            return seen.shortest.map_or(0, |(_, variant)| variant);
        }
        self.new_variant.set(true);
        seen.next += 1;
        seen.next - 1
    }

    /// The variant came to its end; it was begun after `before` steps.
    pub(super) fn variant_ended(&self, ty: &'static str, variant: usize, before: usize) {
        let steps = self.steps() - before;
        let mut enums = self.enums.borrow_mut();
        let shortest = &mut enums.entry(ty).or_default().shortest;
        if shortest.is_none_or(|(fewest, _)| steps < fewest) {
            *shortest = Some((steps, variant));
        }
    }

    pub(super) fn steps(&self) -> usize {
        self.steps.get()
    }

    pub(super) fn step(&self, depth: usize) -> Result<(), Refused> {
        self.steps.set(self.steps.get() + 1);
        if depth > MAX_DEPTH || self.steps.get() > MAX_STEPS {
            return Err(Refused);
        }
        Ok(())
    }

    /// The type `type_name` cannot be written by the default coder.
    pub(super) fn fail(&self, type_name: &'static str, why: Why) -> Refused {
        let path = self.path.borrow().join(".");
        self.fault.borrow_mut().get_or_insert(Fault { path, type_name, why });
        Refused
    }

    /// The type around asks for the name of a field or a variant, by a type that derived code hides: as a key of a map
    /// when it flattens, as the tag of an enum otherwise.
    pub(super) fn fail_by_name(&self, key: bool) -> Refused {
        let owner = self.active.borrow().iter().rev().nth(1).copied().unwrap_or("a type");
        if key {
            return self.fail(owner, Why::Flatten);
        }
        // The tag has a part of the path of its own, a key has none.
        let tag = self.path.borrow_mut().pop();
        let refused = self.fail(owner, Why::Any);
        self.path.borrow_mut().extend(tag);
        refused
    }
}

/// The type in the box: a type that contains itself does so in one.
fn unboxed(mut ty: &'static str) -> &'static str {
    let boxes = ["alloc::boxed::Box<", "alloc::sync::Arc<", "alloc::rc::Rc<"];
    while let Some(inner) = boxes.iter().find_map(|of| ty.strip_prefix(of)?.strip_suffix('>')) {
        ty = inner;
    }
    ty
}

/// The type did not take what it was given, or cannot be given anything.
#[derive(Debug)]
pub(super) struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value that was made up is refused")
    }
}

impl std::error::Error for Refused {}

impl serde::de::Error for Refused {
    fn custom<T: fmt::Display>(_: T) -> Refused {
        Refused
    }
}
