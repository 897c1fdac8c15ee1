//! Coders by number.

use std::collections::HashMap;

use purlin_sdk::coder::CoderSpec;

use crate::proto::pipeline::{Coder, FunctionSpec};

/// The coders of a pipeline, each once.
#[derive(Default)]
pub(super) struct Coders {
    ids: HashMap<CoderSpec, String>,
    /// Those of what is behind a length.
    behind: HashMap<CoderSpec, String>,
    all: HashMap<String, Coder>,
}

impl Coders {
    /// The id of a coder. One that engines do not know has a length in front: they would put it there themselves, but
    /// some not everywhere.
    pub(super) fn id(&mut self, spec: &CoderSpec) -> String {
        if let Some(id) = self.ids.get(spec) {
            return id.clone();
        }
        if !is_known(spec) {
            let id = self.id(&CoderSpec::LengthPrefix(Box::new(spec.clone())));
            self.ids.insert(spec.clone(), id.clone());
            return id;
        }
        let component_coder_ids = match spec {
            // What is behind the length is as it is.
            CoderSpec::LengthPrefix(of) => vec![self.plain(of)],
            // A type's coder is as deep as the type.
            _ => spec.components().into_iter().map(|part| self.id(part)).collect(),
        };
        let id = self.add(spec, component_coder_ids);
        self.ids.insert(spec.clone(), id.clone());
        id
    }

    /// The id of a coder whose components are as they are.
    fn plain(&mut self, spec: &CoderSpec) -> String {
        if let Some(id) = self.behind.get(spec) {
            return id.clone();
        }
        let component_coder_ids = spec.components().into_iter().map(|part| self.plain(part)).collect();
        let id = self.add(spec, component_coder_ids);
        self.behind.insert(spec.clone(), id.clone());
        id
    }

    fn add(&mut self, spec: &CoderSpec, component_coder_ids: Vec<String>) -> String {
        let id = format!("coder-{}", self.all.len());
        let of = FunctionSpec { urn: spec.urn().to_owned(), payload: spec.payload().to_vec() };
        self.all.insert(id.clone(), Coder { spec: Some(of), component_coder_ids });
        id
    }

    pub(super) fn all(self) -> HashMap<String, Coder> {
        self.all
    }
}

/// Whether engines can step over what the coder writes. Of rows some cannot, although their coder is Beam's.
fn is_known(spec: &CoderSpec) -> bool {
    spec.is_standard() && !matches!(spec, CoderSpec::Row(_))
}

/// A coder as it is submitted.
pub(super) fn submitted(spec: &CoderSpec) -> CoderSpec {
    let part = |of: &CoderSpec| Box::new(submitted(of));
    match spec {
        CoderSpec::Kv(key, value) => CoderSpec::Kv(part(key), part(value)),
        CoderSpec::Iterable(of) => CoderSpec::Iterable(part(of)),
        CoderSpec::Nullable(of) => CoderSpec::Nullable(part(of)),
        CoderSpec::ShardedKey(of) => CoderSpec::ShardedKey(part(of)),
        known if is_known(known) => known.clone(),
        unknown => CoderSpec::LengthPrefix(Box::new(unknown.clone())),
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::coder::trace;

    use super::*;

    /// A coder as it is read back.
    fn read(all: &HashMap<String, Coder>, id: &str) -> CoderSpec {
        let coder = &all[id];
        let spec = coder.spec.as_ref().unwrap();
        let parts: Vec<CoderSpec> = coder.component_coder_ids.iter().map(|id| read(all, id)).collect();
        CoderSpec::from_parts(&spec.urn, &spec.payload, parts).unwrap()
    }

    #[test]
    fn each_coder_is_there_once_and_comes_back() {
        let mut coders = Coders::default();
        let first = trace::<(String, Vec<Option<i64>>)>().unwrap();
        let id = coders.id(&first);
        let other = coders.id(&trace::<(String, i64)>().unwrap());
        assert_ne!(id, other);
        assert_eq!(coders.id(&first), id);
        let strings = coders.id(&CoderSpec::StringUtf8);
        let all = coders.all();
        assert_eq!(read(&all, &id), first);
        assert_eq!(all[&id].component_coder_ids[0], strings);
        // kv, string, iterable, nullable, varint, and the other kv.
        assert_eq!(all.len(), 6);
    }
}
