//! What decides on the watermarks of a pipeline, before it runs.

use serde::{Deserialize, Serialize};

use super::{CollectionId, Graph, Node, Op};

/// What the watermark behind a transform waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatermarkSpec {
    /// The path of the transform.
    pub path: String,
    /// What its output watermark, or its output, waits for besides the watermark of its input.
    pub waits_for: Vec<String>,
}

impl Graph {
    /// Where watermarks come from and where they are held, transform by transform; those that only pass on the watermark
    /// of their input are left out. What holds them in a run is told by [`RunHandle::stall_report`](crate::RunHandle::stall_report).
    ///
    /// ```
    /// use purlin_sdk::{Duration, Pipeline, window::FixedWindows};
    /// let p = Pipeline::new();
    /// let pairs = p.create("Pairs", [("a", 1)].map(|(k, n)| (k.to_owned(), n)));
    /// pairs.window_into("Minutes", FixedWindows::of(Duration::from_minutes(1))).group_by_key("Group");
    /// let told = p.build()?.watermarks();
    /// assert_eq!(told[0].path, "Group");
    /// assert!(told[0].waits_for[0].starts_with("the end of each window of FixedWindows"), "{told:?}");
    /// # Ok::<(), purlin_sdk::BuildErrors>(())
    /// ```
    pub fn watermarks(&self) -> Vec<WatermarkSpec> {
        let spec =
            |node: &Node| WatermarkSpec { path: node.step.path().to_owned(), waits_for: self.waits_of(node) };
        self.nodes.iter().map(spec).filter(|spec| !spec.waits_for.is_empty()).collect()
    }

    fn waits_of(&self, node: &Node) -> Vec<String> {
        let mut waits: Vec<String> = match &node.op {
            Op::Impulse | Op::Element(_) | Op::Redistribute(_) => Vec::new(),
            Op::TestStream(_) => vec!["its script, which says what the watermark is".to_owned()],
            Op::Live(_) => vec!["whoever feeds it, who says what the watermark is".to_owned()],
            Op::Flatten(_) => vec![format!("the slowest of {}", self.producers(&node.inputs))],
            Op::View(_) => vec![self.window_end(node, "value")],
            Op::Group(factory) if factory.urn() == "beam:transform:pardo:v1" => {
                vec!["timers, and elements that wait for their turn".to_owned()]
            }
            Op::Group(_) => vec![self.window_end(node, "result")],
            Op::Splittable(factory) => vec![format!(
                "the estimator `{}` of each restriction that is not done; one that has seen no data holds it at the beginning \
                 of time",
                factory.estimator()
            )],
            Op::AssignWatermark(factory) => {
                let state = factory.group().keyed_state(0, 1);
                let by = state.and_then(|state| state.assigned_by(crate::Timestamp::MIN));
                let strategy = by.map_or_else(|| "its strategy".to_owned(), |by| by.strategy);
                vec![format!(
                    "{strategy}, which goes by the elements; the watermark of its input does not count"
                )]
            }
        };
        let alignment = match &node.op {
            Op::Splittable(factory) => factory.alignment(),
            Op::AssignWatermark(factory) => factory.alignment(),
            _ => None,
        };
        waits.extend(alignment.map(|alignment| {
            format!(
                "the slowest of the alignment group `{}`, when it is more than {} ahead",
                alignment.name(),
                alignment.drift()
            )
        }));
        if !node.views.is_empty() {
            let views = node.views.iter().map(|view| format!("`{view}`")).collect::<Vec<_>>().join(", ");
            waits.push(format!("a value of {views} for the windows of its elements"));
        }
        waits
    }

    /// What a grouping or a view waits for.
    fn window_end(&self, node: &Node, what: &str) -> String {
        let strategy = node.inputs.first().map(|input| &self.collections[input.0].strategy);
        strategy.map_or_else(String::new, |s| {
            format!(
                "the end of each window of {s}; it gives a {what} when the trigger says so: {}",
                s.trigger
            )
        })
    }

    fn producers(&self, collections: &[CollectionId]) -> String {
        let path =
            |id: &CollectionId| format!("`{}`", self.nodes[self.collections[id.0].producer.0].step.path());
        collections.iter().map(path).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Duration, Emitter, ParDo, Pipeline, ProcessContext, Timestamp, watermark::WatermarkStrategy,
        window::FixedWindows,
    };

    #[test]
    fn what_holds_a_watermark_is_known_before_the_run() {
        let p = Pipeline::new();
        let strategy = WatermarkStrategy::for_bounded_out_of_orderness(Duration::from_secs(5))
            .with_timestamp_assigner(|n: &i64| Timestamp::from_secs(*n))
            .with_alignment("plant", Duration::from_secs(60), Duration::from_secs(1));
        let numbers = p.create("Numbers", [1_i64, 2]).assign_watermark("Time", strategy);
        let list = p.create("Names", [1_i64]).view_as_list("List");
        let minutes = FixedWindows::of(Duration::from_minutes(1));
        let look = ParDo::from_fn(|n: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| {
            out.emit(n);
            Ok(())
        });
        let both = numbers.flatten_with("Both", [p.create("More", [3_i64])]);
        both.map("Next", |n| n + 1)
            .par_do_with("Look", look.side(&list))
            .main()
            .window_into("Minutes", minutes)
            .key_by("Key", |n| *n)
            .group_by_key("Group");
        let told = p.build().unwrap().watermarks();
        let told: Vec<_> = told.iter().map(|spec| (spec.path.as_str(), spec.waits_for.join("; "))).collect();
        let of = |path: &str| {
            let found = told.iter().find(|(p, _)| *p == path);
            found.map_or_else(|| panic!("{path} is not in {told:?}"), |(_, waits)| waits.as_str())
        };
        assert!(of("Time").contains("plant") && of("Time").contains("5s"), "{told:?}");
        assert!(of("Both").contains("`Time`") && of("Both").contains("`More"), "{told:?}");
        assert!(of("Look").contains("`List`"), "{told:?}");
        assert!(of("Group").contains("FixedWindows") && of("Group").contains("trigger"), "{told:?}");
        assert!(told.iter().all(|(path, _)| *path != "Next"), "{told:?}");
    }
}
