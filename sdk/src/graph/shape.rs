//! What of a graph is compared: names instead of numbers and source lines.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{GraphSpec, NodeSpec};

/// A transform as it is compared with another one of the same path. Edges go by the names of what makes them, so the
/// order in which transforms were applied does not show, nor the lines on which they were.
#[derive(Serialize)]
pub(super) struct Shape<'a> {
    pub(super) path: &'a str,
    /// What it is, by the name of each aspect.
    pub(super) aspects: BTreeMap<String, String>,
    pub(super) payload: &'a serde_json::Value,
}

impl GraphSpec {
    /// The transforms as they are compared, by path.
    pub(super) fn shapes(&self) -> Vec<Shape<'_>> {
        let makers = self.makers();
        let mut shapes: Vec<Shape<'_>> = self.transforms.iter().map(|t| self.shape(t, &makers)).collect();
        shapes.sort_by_key(|s| s.path);
        shapes
    }

    /// For each collection, the name of the output that makes it.
    fn makers(&self) -> BTreeMap<usize, String> {
        let mut makers = BTreeMap::new();
        for transform in &self.transforms {
            for (i, output) in transform.outputs.iter().enumerate() {
                let name = match i {
                    0 => format!("`{}`", transform.path),
                    _ => format!("`{}` output {i}", transform.path),
                };
                makers.insert(*output, name);
            }
        }
        makers
    }

    fn shape<'a>(&self, transform: &'a NodeSpec, makers: &BTreeMap<usize, String>) -> Shape<'a> {
        let mut aspects = BTreeMap::new();
        let mut add = |aspect: &str, value: String| aspects.insert(aspect.to_owned(), value);
        let name_of = |input: &usize| match makers.get(input) {
            Some(maker) => maker.clone(),
            None => format!("collection {input}, which nothing makes"),
        };
        add("kind", transform.urn.clone());
        add("inputs", transform.inputs.iter().map(name_of).collect::<Vec<_>>().join(", "));
        add("side inputs", transform.views.join(", "));
        add("number of outputs", transform.outputs.len().to_string());
        for (i, output) in transform.outputs.iter().enumerate() {
            let Some(collection) = self.collections.get(*output) else { continue };
            let of =
                |aspect: &str| if i == 0 { aspect.to_owned() } else { format!("{aspect} of output {i}") };
            add(&of("element type"), collection.element.clone());
            add(&of("coder"), format!("{:?}", collection.coder));
            add(&of("windows"), collection.windowing.clone());
            add(&of("boundedness"), if collection.bounded { "bounded" } else { "unbounded" }.to_owned());
        }
        Shape { path: &transform.path, aspects, payload: &transform.payload }
    }
}

impl Shape<'_> {
    /// What is different, in words: the aspect, what it was, what it is in `now`.
    pub(super) fn differences(&self, now: &Shape<'_>) -> Vec<String> {
        let mut all: Vec<&String> = self.aspects.keys().chain(now.aspects.keys()).collect();
        all.sort();
        all.dedup();
        let value = |shape: &Shape<'_>, aspect: &str| match shape.aspects.get(aspect).map(String::as_str) {
            None | Some("") => "nothing".to_owned(),
            Some(value) => value.to_owned(),
        };
        all.into_iter()
            .map(|aspect| (aspect, value(self, aspect), value(now, aspect)))
            .filter(|(_, was, is)| was != is)
            .map(|(aspect, was, is)| format!("{aspect} was {was} and is {is}"))
            .collect()
    }
}
