//! Coders as a descriptor has them.

use std::collections::HashMap;

use purlin_sdk::coder::CoderSpec;

use crate::proto::pipeline::Coder;

/// Coders lie no deeper in each other than this: a descriptor whose coders name each other in a circle ends here.
const DEEPEST: usize = 64;

/// The tree that begins at the coder `id`.
///
/// # Errors
/// When it names a coder that is not there, or one whose components are not its own.
pub(super) fn coder_tree(coders: &HashMap<String, Coder>, id: &str) -> Result<CoderSpec, String> {
    tree(coders, id, DEEPEST)
}

fn tree(coders: &HashMap<String, Coder>, id: &str, depth: usize) -> Result<CoderSpec, String> {
    let coder = coders.get(id).ok_or_else(|| format!("the descriptor has no coder `{id}`"))?;
    let spec = coder.spec.as_ref().ok_or_else(|| format!("the coder `{id}` has no URN"))?;
    let Some(depth) = depth.checked_sub(1) else {
        return Err(format!("the coder `{id}` lies more than {DEEPEST} deep in others"));
    };
    let parts = coder.component_coder_ids.iter().map(|part| tree(coders, part, depth));
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    CoderSpec::from_parts(&spec.urn, &spec.payload, parts).map_err(|e| format!("the coder `{id}`: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::pipeline::FunctionSpec;

    fn coder(urn: &str, parts: &[&str]) -> Coder {
        Coder {
            spec: Some(FunctionSpec { urn: format!("beam:coder:{urn}:v1"), payload: Vec::new() }),
            component_coder_ids: parts.iter().map(|p| (*p).to_owned()).collect(),
        }
    }

    #[test]
    fn a_tree_is_put_together_and_a_circle_is_refused() {
        let coders = HashMap::from([
            ("k".to_owned(), coder("length_prefix", &["s"])),
            ("s".to_owned(), coder("string_utf8", &[])),
            ("kv".to_owned(), coder("kv", &["k", "s"])),
            ("round".to_owned(), coder("iterable", &["round"])),
            ("lost".to_owned(), coder("iterable", &["nowhere"])),
        ]);
        let kv = coder_tree(&coders, "kv").unwrap();
        assert_eq!(kv.to_string(), "kv<length_prefix<string_utf8>, string_utf8>");
        assert!(coder_tree(&coders, "round").unwrap_err().contains("deep in others"));
        assert!(coder_tree(&coders, "lost").unwrap_err().contains("no coder `nowhere`"));
    }
}
