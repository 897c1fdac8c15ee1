//! What may change between a run and the one that goes on from its checkpoint.

use std::collections::{BTreeMap, BTreeSet};

use super::{Graph, GraphSpec, NodeSpec, Op};

impl Graph {
    /// The paths of the transforms that keep nothing between bundles: they may be added and removed between a run and
    /// the one that goes on from its checkpoint.
    pub fn stateless(&self) -> BTreeSet<String> {
        let keeps_nothing = |op: &Op| match op {
            Op::Element(factory) => !factory.requires_stable_input(),
            Op::Flatten(_) | Op::Redistribute(_) => true,
            Op::Impulse
            | Op::TestStream(_)
            | Op::Live(_)
            | Op::AssignWatermark(_)
            | Op::Group(_)
            | Op::View(_)
            | Op::Splittable(_) => false,
        };
        self.nodes.iter().filter(|n| keeps_nothing(&n.op)).map(|n| n.step.path().to_owned()).collect()
    }
}

/// A graph with what is needed to compare it.
struct Side<'a> {
    transforms: BTreeMap<&'a str, &'a NodeSpec>,
    /// Who makes each collection, and as which of its outputs.
    makers: BTreeMap<usize, (&'a NodeSpec, usize)>,
    stateless: &'a BTreeSet<String>,
}

impl<'a> Side<'a> {
    fn new(spec: &'a GraphSpec, stateless: &'a BTreeSet<String>) -> Side<'a> {
        let made = |t: &'a NodeSpec| t.outputs.iter().enumerate().map(move |(i, output)| (*output, (t, i)));
        Side {
            transforms: spec.transforms.iter().map(|t| (t.path.as_str(), t)).collect(),
            makers: spec.transforms.iter().flat_map(made).collect(),
            stateless,
        }
    }

    /// The outputs that `of` reads; where one is of a stateless transform that `other` does not have, what that reads.
    fn inputs(&self, of: &NodeSpec, other: &Side<'_>) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut open = of.inputs.clone();
        while let Some(input) = open.pop() {
            match self.makers.get(&input) {
                Some((maker, _)) if !other.has(maker) && self.stateless.contains(&maker.path) => {
                    open.extend(&maker.inputs);
                }
                Some((maker, 0)) => drop(names.insert(format!("`{}`", maker.path))),
                Some((maker, i)) => drop(names.insert(format!("`{}` output {i}", maker.path))),
                None => drop(names.insert(format!("collection {input}, which nothing makes"))),
            }
        }
        names
    }

    fn has(&self, transform: &NodeSpec) -> bool {
        self.transforms.contains_key(transform.path.as_str())
    }
}

impl GraphSpec {
    /// Why a run of this graph cannot be gone on with as a run of `now`: a line for each transform that was added,
    /// removed or changed, and how. Nothing when it can. Transforms that keep nothing may be added and removed; those of
    /// the two graphs are named by `stateless` and `now_stateless`, see [`Graph::stateless`].
    pub fn obstacles(
        &self,
        stateless: &BTreeSet<String>,
        now: &GraphSpec,
        now_stateless: &BTreeSet<String>,
    ) -> Vec<String> {
        let (was, is) = (Side::new(self, stateless), Side::new(now, now_stateless));
        let mut lines = Vec::new();
        for transform in &self.transforms {
            if !is.has(transform) && !stateless.contains(&transform.path) {
                lines.push(format!(
                    "removed: `{}` ({}), built at {}; what it keeps has no place to go",
                    transform.path, transform.urn, transform.built_at
                ));
            }
        }
        for transform in &now.transforms {
            if !was.has(transform) && !now_stateless.contains(&transform.path) {
                lines.push(format!(
                    "added: `{}` ({}), built at {}; it would not know what went before",
                    transform.path, transform.urn, transform.built_at
                ));
            }
        }
        let shapes: BTreeMap<_, _> = now.shapes().into_iter().map(|s| (s.path, s)).collect();
        for mut shape in self.shapes() {
            let (Some(new), Some(old_node), Some(new_node)) =
                (shapes.get(shape.path), was.transforms.get(shape.path), is.transforms.get(shape.path))
            else {
                continue;
            };
            let (inputs, new_inputs) = (was.inputs(old_node, &is), is.inputs(new_node, &was));
            if inputs == new_inputs {
                // What lies between may differ.
                if let Some(as_now) = new.aspects.get("inputs") {
                    shape.aspects.insert("inputs".to_owned(), as_now.clone());
                }
            }
            let mut differences = shape.differences(new);
            if shape.payload != new.payload {
                differences.push(format!("configuration was {} and is {}", shape.payload, new.payload));
            }
            if !differences.is_empty() {
                lines.push(format!("changed: `{}`: {}", shape.path, differences.join("; ")));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Duration, PCollection, Pipeline, window::FixedWindows};

    fn graph(build: impl FnOnce(PCollection<i64>)) -> Graph {
        let p = Pipeline::new();
        build(p.create("Numbers", [1, 2, 3]));
        p.build().unwrap()
    }

    fn obstacles(was: &Graph, now: &Graph) -> Vec<String> {
        was.spec().obstacles(&was.stateless(), &now.spec(), &now.stateless())
    }

    fn counted(numbers: PCollection<i64>) {
        numbers.key_by("Key", |n| n % 2).group_by_key("Group").map("Format", |(k, _)| k);
    }

    #[test]
    fn stateless_transforms_come_and_go() {
        let was = graph(counted);
        let now = graph(|numbers| {
            let odd = numbers.filter("Odd", |n| n % 2 == 1).reshuffle("Spread");
            odd.flatten_with("Twice", [numbers]).key_by("Key", |n| n % 2).group_by_key("Group");
        });
        assert_eq!(obstacles(&was, &was), [""; 0]);
        assert_eq!(obstacles(&was, &now), [""; 0]);
        assert_eq!(obstacles(&now, &was), [""; 0]);
    }

    #[test]
    fn everything_else_is_told() {
        let was = graph(counted);
        let added = graph(|numbers| {
            counted(numbers.clone());
            numbers.key_by("Key2", |n| n % 3).group_by_key("Group2");
        });
        assert!(
            matches!(&obstacles(&was, &added)[..], [one] if one.starts_with("added: `Group2` (beam:transform:group_by_key:v1)"))
        );
        assert!(matches!(&obstacles(&added, &was)[..], [one] if one.starts_with("removed: `Group2`")));
        let renamed =
            graph(|n| drop(n.key_by("Key", |n| n % 2).group_by_key("Regroup").map("Format", |(k, _)| k)));
        assert_eq!(obstacles(&was, &renamed).len(), 3, "removed, added, and another input of Format");
        let windows = graph(|n| counted(n.window_into("Window", FixedWindows::of(Duration::from_secs(9)))));
        let told = obstacles(&was, &windows).join("\n");
        assert!(told.contains("changed: `Group`: windows was") && told.contains("9s"), "{told}");
        let retyped = graph(|n| drop(n.key_by("Key", |n| n.to_string()).group_by_key("Group")));
        let told = obstacles(&was, &retyped).join("\n");
        assert!(told.contains("changed: `Group`: coder was"), "{told}");
        let elsewhere = graph(|n| {
            let keyed = n.key_by("Key", |n| n % 2);
            keyed.filter("Even", |(_, n)| n % 2 == 0);
            n.map("Next", |n| n + 1).key_by("Other", |n| *n).group_by_key("Group").map("Format", |(k, _)| k);
        });
        // `Key` is still there, so `Group` reads something else and not the same by another way.
        assert_eq!(obstacles(&was, &elsewhere).len(), 1, "{:?}", obstacles(&was, &elsewhere));
    }
}
