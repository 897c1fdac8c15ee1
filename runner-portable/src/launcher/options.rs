//! The options of a job.

use std::collections::BTreeMap;

use prost_types::{ListValue, Struct, Value, value::Kind};

/// The command line of the program, by which a worker builds the pipeline again: JSON, a list of texts.
pub(crate) const ARGUMENTS: &str = "beam:option:purlin_argv:v1";
/// The fingerprint of the pipeline.
pub(crate) const FINGERPRINT: &str = "beam:option:purlin_fingerprint:v1";

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OptionValue(Value);

impl OptionValue {
    /// A text.
    pub(crate) fn text(text: impl Into<String>) -> OptionValue {
        OptionValue(Value { kind: Some(Kind::StringValue(text.into())) })
    }

    /// As it is written on a command line: `true` and `false` are no texts, nor is a list in brackets. Numbers are:
    /// those of a message are floats, and engines read both.
    pub(crate) fn parse(text: &str) -> OptionValue {
        match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value @ (serde_json::Value::Bool(_) | serde_json::Value::Array(_))) => {
                OptionValue(json(&value))
            }
            _ => OptionValue::text(text),
        }
    }
}

fn json(value: &serde_json::Value) -> Value {
    let kind = match value {
        serde_json::Value::Bool(b) => Kind::BoolValue(*b),
        serde_json::Value::Array(values) => {
            Kind::ListValue(ListValue { values: values.iter().map(json).collect() })
        }
        serde_json::Value::String(text) => Kind::StringValue(text.clone()),
        other => Kind::StringValue(other.to_string()),
    };
    Value { kind: Some(kind) }
}

/// The name that an option has among Beam's: `max_bundle_size` and `max-bundle-size` are
/// `beam:option:max_bundle_size:v1`.
pub(super) fn full_name(name: &str) -> String {
    if name.starts_with("beam:option:") {
        return name.to_owned();
    }
    format!("beam:option:{}:v1", name.trim_start_matches("--").replace('-', "_"))
}

/// All options of a job.
pub(super) fn options(given: &BTreeMap<String, OptionValue>) -> Struct {
    Struct { fields: given.iter().map(|(name, value)| (full_name(name), value.0.clone())).collect() }
}

/// The text that the option `name` has.
pub(crate) fn text_option<'a>(options: &'a Struct, name: &str) -> Option<&'a str> {
    match options.fields.get(name)?.kind.as_ref()? {
        Kind::StringValue(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_beams() {
        let given = [("max-bundle-size", "10"), ("streaming", "true"), ("experiments", r#"["a", "b"]"#)];
        let given = given.map(|(name, value)| (name.to_owned(), OptionValue::parse(value))).into();
        let options = options(&given);
        assert_eq!(text_option(&options, "beam:option:max_bundle_size:v1"), Some("10"));
        assert_eq!(options.fields["beam:option:streaming:v1"].kind, Some(Kind::BoolValue(true)));
        let Some(Kind::ListValue(list)) = &options.fields["beam:option:experiments:v1"].kind else {
            panic!("{options:?}")
        };
        assert_eq!(list.values.len(), 2);
        assert_eq!(full_name("beam:option:x:v2"), "beam:option:x:v2");
    }
}
