//! Coders by number.

use std::collections::HashMap;

use purlin_sdk::coder::CoderSpec;

use crate::proto::pipeline::{Coder, FunctionSpec};

/// The coders of a pipeline, each once.
#[derive(Default)]
pub(super) struct Coders {
    ids: HashMap<CoderSpec, String>,
    all: HashMap<String, Coder>,
}

impl Coders {
    /// The id of a coder.
    pub(super) fn id(&mut self, spec: &CoderSpec) -> String {
        if let Some(id) = self.ids.get(spec) {
            return id.clone();
        }
        // A type's coder is as deep as the type.
        let component_coder_ids = spec.components().into_iter().map(|part| self.id(part)).collect();
        let id = format!("coder-{}", self.ids.len());
        let of = FunctionSpec { urn: spec.urn().to_owned(), payload: spec.payload().to_vec() };
        self.all.insert(id.clone(), Coder { spec: Some(of), component_coder_ids });
        self.ids.insert(spec.clone(), id.clone());
        id
    }

    pub(super) fn all(self) -> HashMap<String, Coder> {
        self.all
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
