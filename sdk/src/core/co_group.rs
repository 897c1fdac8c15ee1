//! Several keyed collections grouped together.

use serde::{Deserialize, Serialize};

use super::{flatten_at, group_by_key_at};
use crate::{Element, Grouped, Key, PCollection, PTransform};

/// Groups two, three or four keyed collections by key: for each key and window one list from each, empty where a
/// collection has nothing.
///
/// ```
/// # use purlin_sdk::{Apply, CoGroupByKey, Pipeline};
/// # let p = Pipeline::new();
/// let emails = p.create("Emails", [("amy".to_owned(), "amy@a.org".to_owned())]);
/// let phones = p.create("Phones", [("amy".to_owned(), 5551)]);
/// (emails, phones).apply("Contacts", CoGroupByKey).map("Count", |(_, (emails, phones))| emails.len() + phones.len());
/// ```
/// All must be in the same windows. They are grouped together, under the first one's trigger: each pane has what all
/// collections have brought since the one before, or with `accumulating` so far. So with panes that discard, what belongs
/// together may come in different panes; the library's `Join` refuses those. Source: Beam's `CoGroupByKey`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CoGroupByKey;

macro_rules! co_group {
    ($Union:ident: $($T:ident $list:ident $n:tt),+) => {
        /// A value of one of the collections.
        #[derive(Clone, Serialize, Deserialize)]
        enum $Union<$($T),+> {
            $($T($T)),+
        }

        impl<Ky: Key, $($T: Element),+> PTransform<($(PCollection<(Ky, $T)>,)+)> for CoGroupByKey {
            type Out = PCollection<(Ky, ($(Grouped<$T>,)+))>;

            #[track_caller]
            fn expand(self, inputs: ($(PCollection<(Ky, $T)>,)+)) -> Self::Out {
                let site = std::panic::Location::caller();
                $(inputs.$n.coder_slot().compare(|a, b| a.0 == b.0);)+
                let tagged: Vec<PCollection<(Ky, $Union<$($T),+>)>> = vec![$(
                    inputs.$n.map(concat!("Tag", stringify!($n)), |(k, v)| (k, $Union::$T(v)))
                ),+];
                let all = flatten_at(inputs.0.pipeline(), "Flatten", site, tagged);
                group_by_key_at(&all, "Group", site).map("Lists", |(key, values)| {
                    $(let mut $list = Vec::new();)+
                    for value in values {
                        match value {
                            $($Union::$T(v) => $list.push(v)),+
                        }
                    }
                    (key, ($(Grouped::from($list),)+))
                })
            }
        }
    };
}

co_group!(Union2: A a 0, B b 1);
co_group!(Union3: A a 0, B b 1, C c 2);
co_group!(Union4: A a 0, B b 1, C c 2, D d 3);
