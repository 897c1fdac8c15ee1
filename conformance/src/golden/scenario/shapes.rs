//! What scenarios do with collections that are windowed already.

use purlin_sdk::{Apply, CoGroupByKey, Grouped, ParDo};

use super::{Kv, Pairs};
use crate::golden::{datum::Datum, windowing::Windowing};

/// The collection in other windows.
pub(super) fn windowed(name: &str, pc: &Pairs, windowing: &Windowing) -> Pairs {
    pc.window_into(name, windowing.to_window_into())
}

fn list(values: Grouped<Datum>) -> Datum {
    Datum::List(values.into_vec()).sorted()
}

/// A sorted list of the values of each key.
pub(super) fn grouped(name: &str, pc: &Pairs) -> Pairs {
    pc.group_by_key(name).map(&format!("{name} sorted"), |(key, values)| (key, list(values)))
}

/// For each key a map from the collections' names to sorted lists.
pub(super) fn co_grouped(inputs: Vec<(String, Pairs)>) -> Result<Pairs, String> {
    let names: Vec<Datum> = inputs.iter().map(|(name, _)| Datum::text(name)).collect();
    let show = move |lists: Vec<Grouped<Datum>>| {
        Datum::Map(names.iter().cloned().zip(lists.into_iter().map(list)).collect())
    };
    let inputs: Vec<Pairs> = inputs.into_iter().map(|(_, pc)| pc).collect();
    Ok(match &inputs[..] {
        [a] => a.group_by_key("CoGroup").map("Show", move |(k, a)| (k, show(vec![a]))),
        [a, b] => (a.clone(), b.clone())
            .apply("CoGroup", CoGroupByKey)
            .map("Show", move |(k, (a, b))| (k, show(vec![a, b]))),
        [a, b, c] => (a.clone(), b.clone(), c.clone())
            .apply("CoGroup", CoGroupByKey)
            .map("Show", move |(k, (a, b, c))| (k, show(vec![a, b, c]))),
        [a, b, c, d] => (a.clone(), b.clone(), c.clone(), d.clone())
            .apply("CoGroup", CoGroupByKey)
            .map("Show", move |(k, (a, b, c, d))| (k, show(vec![a, b, c, d]))),
        other => return Err(format!("{} collections are not grouped together", other.len())),
    })
}

/// How a side input reads.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Its values.
    List,
    /// From keys to values.
    Dict,
    /// From keys to lists of values.
    Multimap,
    /// The one value, or this.
    Singleton(Datum),
}

impl Shape {
    /// `iter`, `list`, `dict`, `multimap` or `singleton(default d)`.
    pub(super) fn parse(text: &str) -> Result<Shape, String> {
        Ok(match text {
            "iter" | "list" => Shape::List,
            "dict" => Shape::Dict,
            "multimap" => Shape::Multimap,
            other => {
                let default = other.strip_prefix("singleton(default ").and_then(|d| d.strip_suffix(')'));
                let default = default.and_then(|d| d.trim().parse().ok());
                Shape::Singleton(Datum::Int(default.ok_or_else(|| format!("`{other}` is no side input"))?))
            }
        })
    }
}

/// Each element of `main` with what it sees of `side`.
pub(super) fn joined(main: &Pairs, side: &Pairs, shape: &Shape) -> Pairs {
    fn join((key, value): Kv, side: Datum) -> Kv {
        (key, Datum::map([("main", value), ("side", side)]))
    }
    let values = || side.map("SideValues", |(_, v)| v);
    macro_rules! join_with {
        ($view:expr, $show:expr) => {{
            let view = $view;
            let seen = view.clone();
            let look = move |element: Kv,
                             cx: &purlin_sdk::ProcessContext<'_>,
                             out: &mut purlin_sdk::Emitter<'_, Kv>| {
                let show = $show;
                out.emit(join(element, show(cx.side(&seen)?)));
                Ok(())
            };
            main.par_do_with("Join", ParDo::from_fn(look).side(&view)).main()
        }};
    }
    match shape {
        Shape::List => join_with!(values().view_as_list("Side"), |list: purlin_sdk::ListView<Datum>| {
            Datum::List(list.to_vec()).sorted()
        }),
        Shape::Dict => join_with!(side.view_as_map("Side"), |map: purlin_sdk::MapView<Datum, Datum>| {
            Datum::Map(map.iter().map(|(k, v)| (k.clone(), v.clone())).collect())
        }),
        Shape::Multimap => {
            join_with!(side.view_as_multimap("Side"), |map: purlin_sdk::MultimapView<Datum, Datum>| {
                let entry = |(k, v): (&Datum, &Vec<Datum>)| (k.clone(), Datum::List(v.clone()).sorted());
                Datum::Map(map.iter().map(entry).collect())
            })
        }
        Shape::Singleton(default) => {
            join_with!(values().view_as_singleton_or("Side", default.clone()), |value: Datum| value)
        }
    }
}
