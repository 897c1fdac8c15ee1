//! Keys must be equal exactly when their encodings are.

use std::collections::{HashMap, hash_map::Entry};

use crate::{Key, Phase, PipelineError, Step, coder::bincode, exec::KernelResult};

/// Watches the keys of a grouping. Here keys are grouped by `Eq` and `Hash`, on an engine by their encoding, so a type
/// where the two disagree gives another result there.
pub(super) struct KeyLaw<K> {
    step: Step,
    by_key: HashMap<K, Vec<u8>>,
    by_bytes: HashMap<Vec<u8>, K>,
}

/// Enough to find a broken type, without keeping every key there is.
const WATCHED: usize = 10_000;

impl<K: Key> KeyLaw<K> {
    pub(super) fn new(step: Step) -> KeyLaw<K> {
        KeyLaw { step, by_key: HashMap::new(), by_bytes: HashMap::new() }
    }

    pub(super) fn check<'a>(&mut self, keys: impl Iterator<Item = &'a K>) -> KernelResult {
        for key in keys {
            if self.by_key.len() >= WATCHED {
                return Ok(());
            }
            let mut bytes = Vec::new();
            bincode::encode(key, &mut bytes)
                .map_err(|e| PipelineError::user(self.step.clone(), Phase::Coder, e))?;
            match self.by_key.entry(key.clone()) {
                Entry::Occupied(e) if *e.get() != bytes => {
                    return Err(self.broken("equal keys encode differently"));
                }
                Entry::Occupied(_) => continue,
                Entry::Vacant(e) => {
                    e.insert(bytes.clone());
                }
            }
            if self.by_bytes.insert(bytes, key.clone()).is_some_and(|other| other != *key) {
                return Err(self.broken("different keys have the same encoding"));
            }
        }
        Ok(())
    }

    fn broken(&self, what: &str) -> PipelineError {
        PipelineError::contract(
            self.step.clone(),
            Phase::Coder,
            format!(
                "`{}` cannot be a key: {what}, so an engine that groups by bytes would group otherwise; make \
                 `Eq`, `Hash` and `Serialize` look at the same fields",
                std::any::type_name::<K>()
            ),
        )
    }
}
