//! The transform library and the connectors.
//!
//! Transforms are structs that are applied to collections under a name, as everywhere in the model:
//!
//! ```
//! use purlin_sdk::Pipeline;
//! use purlin_transforms::{Count, Top};
//!
//! let p = Pipeline::new();
//! p.create("Words", ["to", "be", "or", "not", "to", "be"].map(str::to_owned))
//!     .apply("Count", Count::per_element())
//!     .apply("Frequent", Top::largest(2).by_key(|(_, n): &(String, u64)| *n));
//! # p.build().unwrap();
//! ```
//!
//! # Aggregation
//! All work per window, and keep the windows of their input.
//!
//! | transform | gives | for an empty collection in the global window |
//! |---|---|---|
//! | [`Count`] | how many elements there are: at all, of each key, of each kind | 0 |
//! | [`Sum`] | the sum | 0 |
//! | [`Mean`] | the arithmetic mean, an `f64` | NaN |
//! | [`Max`], [`Min`] | the greatest or least element | `None` |
//! | [`Top`] | the *n* greatest or least, best first | `[]` |
//! | [`ApproximateQuantiles`] | *n* elements at regular places in the order, from the least to the greatest | `[]` |
//! | [`Latest`] | the element with the greatest timestamp | `None` |
//! | [`ToList`] | all elements as one list | `[]` |
//! | [`Sample`] | some elements, by chance | `[]` |
//! | [`Distinct`] | each element once | nothing |
//!
//! The last column is what the `globally` forms give, and exactly one element of it. Only the global window has a value
//! for nothing: anywhere else a `globally` needs `.without_defaults()`, and then gives nothing for a window without
//! elements. Each of them has a [`CombineFn`](purlin_sdk::CombineFn) of its own ([`CountFn`], [`SumFn`], ...) for
//! `combine_per_key`, `combine_globally` and [`Combine`](purlin_sdk::Combine). Values are combined where they are before
//! anything is sent, so one hot key is no slower than many cold ones.
//!
//! What needs an order takes the elements' own (`Ord`), a closure by `.by(..)`, or a part of the element by
//! `.by_key(..)`; for floats there is [`float_order`], in which NaN has a place.
//!
//! # Pairs
//! [`Keys`], [`Values`] and [`KvSwap`]; [`Join`] on two keyed collections.
//!
//! # Connectors
//! In [`io`].
//!
//! # Sources that make up their elements
//! [`GenerateSequence`] gives numbers, [`PeriodicImpulse`] and [`PeriodicSequence`] give times.
//!
//! Source: <https://beam.apache.org/documentation/transforms/java/overview/>.
#![forbid(unsafe_code)]

mod batches;
mod count;
mod count_distinct;
mod deduplicate;
mod distinct;
mod extremum;
pub mod io;
mod join;
mod keys;
mod kv_swap;
mod latest;
mod mean;
mod number;
mod offsets;
mod order;
mod quantiles;
mod sample;
mod scope;
mod sequence;
pub mod streaming;
mod sum;
mod to_list;
mod to_string;
mod top;
mod values;
mod wait;
mod watch;

pub use batches::{ByteSizeBy, EncodedSize, GroupIntoBatches, GroupIntoShardedBatches, Weigh};
pub use count::{Count, CountFn, CountPerElement};
pub use count_distinct::{ApproximateCountDistinct, CountDistinctFn, Registers};
pub use deduplicate::{Deduplicate, EqualKeys, EqualRepresentatives, EqualValues};
pub use distinct::{Distinct, DistinctBy};
pub use extremum::{Max, MaxFn, Min, MinFn};
pub use join::{FullOuterJoin, InnerJoin, Join, LeftOuterJoin, RightOuterJoin};
pub use keys::Keys;
pub use kv_swap::KvSwap;
pub use latest::{Latest, LatestFn};
pub use mean::{Mean, MeanFn};
pub use number::{Number, Summable};
pub use order::{By, ByKey, Float, Natural, Order, float_order};
pub use quantiles::{ApproximateQuantiles, ApproximateQuantilesFn, Summary};
pub use sample::{Sample, SampleAny, SampleFn};
pub use scope::{Globally, NonEmpty, PerKey};
pub use sequence::{GenerateSequence, PeriodicImpulse, PeriodicSequence, Span};
pub use sum::{Sum, SumFn};
pub use to_list::{ToList, ToListFn};
pub use to_string::{Elements, Iterables, Kvs, ToString};
pub use top::{Top, TopFn};
pub use values::Values;
pub use wait::Wait;
pub use watch::{OwnKey, PollResult, Termination, Watch};
