//! What may flow through a pipeline.

use std::hash::Hash;

use serde::{Serialize, de::DeserializeOwned};

/// A type that a [`PCollection`](crate::PCollection) can hold.
///
/// There is nothing to implement: every type that is `Clone + Send + Sync + 'static` and implements serde's
/// `Serialize` and `DeserializeOwned` is an element.
///
/// An element owns what is in it, since it may be sent to another process: a `String`, and no `&str`. rustc says of a
/// `&'static str` that an "implementation of `Deserialize` is not general enough"; call `str::to_owned` on it.
///
/// ```
/// # use serde::{Serialize, Deserialize};
/// #[derive(Clone, Serialize, Deserialize)]
/// struct Order { id: u64, cents: i64 }
/// fn is_element<T: purlin_sdk::Element>() {}
/// is_element::<Order>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a PCollection",
    label = "not an element",
    note = "an element is `Clone + Send + Sync + 'static` with serde's traits: add `#[derive(Clone, serde::Serialize, serde::Deserialize)]` to the type, and own what it borrows"
)]
pub trait Element: Clone + Send + Sync + Serialize + DeserializeOwned + 'static {}

impl<T: Clone + Send + Sync + Serde + 'static> Element for T {}

/// Both traits of serde's. One trait, so that a type without them is one error of the compiler's and not two.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read and written by serde",
    note = "add `#[derive(serde::Serialize, serde::Deserialize)]` to the type"
)]
pub trait Serde: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Serde for T {}

/// An element that can be grouped by.
///
/// Keys are grouped typed, by `Hash + Eq`, and travel encoded, so a key's encoding must be a function of its value.
/// That is why `f64` (NaN differs from itself) and `HashMap` (no fixed order) are not keys.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key",
    label = "not a key",
    note = "a key is an element with `Eq + Hash`: derive them too, `#[derive(Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]`; for floats use an ordered integer form such as `f64::to_bits`, for maps a sorted `Vec` or `BTreeMap`"
)]
pub trait Key: Element + Eq + Hash {}

// What a key needs is said once, and not once for `Eq` and once for `Hash`.
#[diagnostic::do_not_recommend]
impl<T: Element + Eq + Hash> Key for T {}
