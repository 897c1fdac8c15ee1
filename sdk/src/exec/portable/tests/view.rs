//! Side inputs of what an engine has gathered.

use std::sync::Arc;

use super::support::{batch, secs};
use crate::{
    DoFnError, Duration, Pipeline, View,
    batch::AnyBatch,
    exec::{ViewSnapshot, ViewSource, ViewValue},
    graph::{Graph, Op},
    window::{FixedWindows, GlobalWindows, Window, WindowFn},
};

/// What a DoFn reads of `view` when the engine has these elements, in two parts.
fn read<V: Clone + Send + Sync + 'static>(
    graph: &Graph,
    view: &View<V>,
    elements: &[(String, i64)],
) -> crate::Result<V> {
    let node = graph.nodes.iter().find(|n| n.step.path() == &**view.path()).expect("there is such a view");
    let Op::View(factory) = &node.op else { panic!("{node:?} is no side input") };
    let boxed = |part: &[(String, i64)]| -> AnyBatch {
        Box::new(batch(part.iter().cloned().map(|value| (value, secs(0), Window::Global))))
    };
    let (first, second) = elements.split_at(elements.len() / 2);
    let value = factory.value_of(vec![boxed(first), boxed(second)])?;
    let mut views = ViewSnapshot::default();
    let ready = [(Window::Global, value)].into_iter().collect();
    views.views.insert(view.path().clone(), (Arc::new(GlobalWindows), ready));
    views.get(view, &Window::Global)
}

fn pair(key: &str, value: i64) -> (String, i64) {
    (key.to_owned(), value)
}

#[test]
fn every_shape_is_made_of_elements() {
    let p = Pipeline::new();
    let pairs = p.create("In", [pair("a", 1)]);
    let one = pairs.view_as_singleton("One");
    let one_or = pairs.view_as_singleton_or("OneOr", pair("none", 0));
    let list = pairs.view_as_list("List");
    let map = pairs.view_as_map("Map");
    let multimap = pairs.view_as_multimap("Multimap");
    let graph = p.build().unwrap();

    let two = [pair("a", 1), pair("b", 2)];
    let same = [pair("a", 1), pair("a", 2)];
    assert_eq!(read(&graph, &one, &two[..1]).unwrap(), two[0]);
    assert!(read(&graph, &one, &two).unwrap_err().to_string().contains("with 2 elements"));
    assert!(read(&graph, &one, &[]).unwrap_err().to_string().contains("empty collection"));
    assert_eq!(read(&graph, &one_or, &[]).unwrap(), pair("none", 0));
    assert_eq!(read(&graph, &list, &same).unwrap().to_vec(), same);
    let read_map = read(&graph, &map, &two).unwrap();
    assert_eq!((read_map.get("a"), read_map.get("b")), (Some(&1), Some(&2)));
    assert!(read(&graph, &map, &same).err().unwrap().to_string().contains("same key twice"));
    assert_eq!(read(&graph, &multimap, &same).unwrap().get("a"), [1, 2]);
}

/// One side input, whose values are windows' ends.
struct Ends(std::sync::atomic::AtomicUsize);

impl ViewSource for Ends {
    fn window_fn(&self, path: &str) -> Option<Arc<dyn WindowFn>> {
        (path == "View").then(|| Arc::new(FixedWindows::of(Duration::from_secs(10))) as Arc<dyn WindowFn>)
    }

    fn value(&self, _: &str, window: &Window) -> crate::Result<ViewValue> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let end = window.max_timestamp().as_millis();
        if end > 50_000 {
            return Err(DoFnError::msg("the engine is gone"));
        }
        Ok(Arc::new(Ok::<i64, String>(end)))
    }
}

#[test]
fn what_is_not_there_is_asked_for_in_the_side_inputs_own_window() {
    let p = Pipeline::new();
    let tens = p.create("In", [1_i64]).window_into("Tens", FixedWindows::of(Duration::from_secs(10)));
    let view = tens.view_as_singleton("View");
    let other = tens.view_as_singleton("Other");
    let source = Arc::new(Ends(0.into()));
    let views = ViewSnapshot { source: Some(source.clone()), ..ViewSnapshot::default() };
    let window = |from, to| Window::interval(secs(from), secs(to));
    assert_eq!(views.get(&view, &window(12, 15)).unwrap(), 19_999);
    assert!(views.get(&view, &window(70, 75)).unwrap_err().to_string().contains("engine is gone"));
    assert!(views.get(&other, &window(12, 15)).unwrap_err().to_string().contains("no side input `Other`"));
    assert_eq!(source.0.load(std::sync::atomic::Ordering::SeqCst), 2);
}

#[test]
fn elements_of_another_type_are_refused() {
    let p = Pipeline::new();
    let list = p.create("In", [1_i64]).view_as_list("List");
    let e = read(&p.build().unwrap(), &list, &[pair("a", 1)]).unwrap_err().to_string();
    assert!(e.contains("another type"), "{e}");
}
