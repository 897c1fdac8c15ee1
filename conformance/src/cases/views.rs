//! Kinds of views. Beam's `ViewTest`.

use std::collections::BTreeMap;

use purlin_sdk::{
    Element, Emitter, PCollection, ParDo, ProcessContext, Result, Runner, View,
    window::{FixedWindows, GlobalWindows},
};

use super::support::{Sum, at, collect, secs};

/// What `f` makes of the view for each element.
fn read<V: Clone + Send + Sync + 'static, O: Element>(
    main: &PCollection<i64>,
    name: &str,
    view: &View<V>,
    f: impl Fn(i64, V) -> O + Clone + Send + 'static,
) -> PCollection<O> {
    let given = view.clone();
    let reader = move |x: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, O>| -> Result {
        out.emit(f(x, cx.side(&given)?));
        Ok(())
    };
    main.par_do_with(name, ParDo::from_fn(reader).side(view)).main()
}

/// The results of combining per key are a map, as Beam's `testCombinedMapSideInput`.
pub fn a_combine_as_map(r: &dyn Runner) {
    let seen = collect(r, |p| {
        let sums = p.create("Pairs", [("a", 1_i64), ("a", 20), ("b", 3)].map(|(k, v)| (k.to_owned(), v)));
        let view = sums.combine_per_key("Sum", Sum).view_as_map("View");
        let main = p.create("Main", [1_i64]);
        read(&main, "Read", &view, |x, map| (x, map.get("a").copied(), map.get("b").copied(), map.len()))
    });
    assert_eq!(seen, [(1, Some(21), Some(3), 2)]);
}

/// A singleton's default may be nothing, and values may be nothing, as Beam's `testSideInputWithNullDefault`.
pub fn a_default_of_nothing(r: &dyn Runner) {
    let seen = collect(r, |p| {
        let view = p.create("Side", Vec::<Option<i64>>::new()).view_as_singleton_or("View", None);
        read(&p.create("Main", [1_i64, 2]), "Read", &view, |x, none| (x, none))
    });
    assert_eq!(seen, [(1, None), (2, None)]);
    let seen = collect(r, |p| {
        let view = p.create("Side", [None::<i64>]).view_as_singleton("View");
        read(&p.create("Main", [1_i64]), "Read", &view, |x, none| (x, none))
    });
    assert_eq!(seen, [(1, None)]);
}

/// Elements of a view may be lists themselves, as Beam's `testSideInputWithNestedIterables`.
pub fn lists_in_views(r: &dyn Runner) {
    let seen = collect(r, |p| {
        let lists = p.create("Side", [vec![1_i64, 2], vec![], vec![3]]);
        let all = lists.view_as_list("View");
        let main = p.create("Main", [0_i64]);
        read(&main, "Read", &all, |_, lists| {
            let mut lists: Vec<Vec<i64>> = lists.iter().cloned().collect();
            lists.sort();
            lists
        })
    });
    assert_eq!(seen, [vec![vec![], vec![1, 2], vec![3]]]);
    let grouped = collect(r, |p| {
        let groups = p.create("Side", [(1_i64, 10_i64), (1, 11)]).group_by_key("Group");
        let view = groups.map("Values", |(k, v)| (k, v.into_vec().len())).view_as_singleton("View");
        read(&p.create("Main", [0_i64]), "Read", &view, |_, group| group)
    });
    assert_eq!(grouped, [(1, 2)]);
}

/// Each kind of view has a value per window; where the side input has none, it is empty.
pub fn views_by_window(r: &dyn Runner) {
    let fixed = || FixedWindows::of(secs(10));
    let seen = collect(r, |p| {
        let times = [(1_i64, at(1)), (2, at(11)), (3, at(12)), (4, at(25))];
        let main = p.create_timestamped("Main", times).window_into("MainWindows", fixed());
        let pairs = [
            (("k".to_owned(), 10_i64), at(2)),
            (("k".to_owned(), 20), at(15)),
            (("l".to_owned(), 21), at(16)),
        ];
        let side = p.create_timestamped("Side", pairs).window_into("SideWindows", fixed());
        let (map, multi) = (side.view_as_map("Map"), side.view_as_multimap("Multi"));
        let list = side.map("Value", |(_, v)| v).view_as_list("List");
        let keys = |entries: BTreeMap<String, i64>| format!("{entries:?}");
        let a = read(&main, "ReadMap", &map, move |x, map| {
            (x, keys(["k", "l"].iter().filter_map(|k| Some(((*k).to_owned(), *map.get(*k)?))).collect()))
        });
        let b =
            read(&main, "ReadMulti", &multi, |x, map| (x, format!("{:?} {:?}", map.get("k"), map.get("l"))));
        let c = read(&main, "ReadList", &list, |x, list| {
            let mut values: Vec<i64> = list.iter().copied().collect();
            values.sort_unstable();
            (x, format!("{values:?} of {}", list.len()))
        });
        p.flatten("All", [a, b, c])
    });
    let second = ["[20, 21] of 2", "[20] [21]", "{\"k\": 20, \"l\": 21}"];
    let mut expected: Vec<(i64, String)> = Vec::new();
    for (x, texts) in [
        (1, ["[10] of 1", "[10] []", "{\"k\": 10}"]),
        (2, second),
        (3, second),
        (4, ["[] of 0", "[] []", "{}"]),
    ] {
        expected.extend(texts.map(|text| (x, text.to_owned())));
    }
    expected.sort();
    assert_eq!(seen, expected);
}

/// A singleton for each window, and one for all windows.
pub fn singletons_by_window(r: &dyn Runner) {
    let times = || [(1_i64, at(1)), (2, at(11)), (3, at(21))];
    let fixed = || FixedWindows::of(secs(10));
    let seen = collect(r, |p| {
        let main = p.create_timestamped("Main", times()).window_into("MainWindows", fixed());
        let side = p.create_timestamped("Side", times().map(|(x, t)| (x * 100, t + secs(3))));
        let own = side.window_into("SideWindows", fixed()).view_as_singleton("Own");
        let sum =
            side.window_into("All", GlobalWindows).combine_globally("Sum", Sum).view_as_singleton("SumView");
        let own = read(&main, "ReadOwn", &own, |x, own| (x, own));
        p.flatten("Both", [own, read(&main, "ReadSum", &sum, |x, sum| (x, sum))])
    });
    assert_eq!(seen, [(1, 100), (1, 600), (2, 200), (2, 600), (3, 300), (3, 600)]);
}
