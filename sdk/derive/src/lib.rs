//! Derives for pipelines: [`Outputs`], [`KeyedState`].
#![forbid(unsafe_code)]

mod attributes;
mod errors;
mod keyed_state;
mod outputs;
mod pascal_case;
mod snake_case;

use proc_macro::TokenStream;

/// Makes an enum the outputs of a DoFn: one variant an output, checked by the compiler.
///
/// For `enum Parsed { Order(Order), BadLine(String) }` it makes
/// - `struct ParsedCollections { order: PCollection<Order>, bad_line: PCollection<String> }`, as visible as the enum,
///   which is what `split_outputs` gives: one field a variant, its name in snake case;
/// - the implementation of `Outputs` that puts each element where its variant says.
///
/// Every variant holds one element: `Name(Type)`. The enum has no type parameters and is an element, so it derives
/// `Clone`, `Serialize` and `Deserialize` too.
///
/// ```
/// use purlin_derive::Outputs;
/// use purlin_sdk::Pipeline;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize, Outputs)]
/// #[outputs(crate = "purlin_sdk")] // not needed by who depends on `purlin`
/// enum Parsed {
///     Number(i64),
///     BadLine(String),
/// }
///
/// let p = Pipeline::new();
/// let parsed = p
///     .create("Lines", ["1".to_owned(), "two".to_owned()])
///     .map("Parse", |line| match line.parse() {
///         Ok(n) => Parsed::Number(n),
///         Err(_) => Parsed::BadLine(line),
///     })
///     .split_outputs("Split");
/// parsed.number.map("Double", |n| n * 2);
/// parsed.bad_line.map("Report", |line| format!("not a number: {line}"));
/// assert!(p.build().is_ok());
/// ```
#[proc_macro_derive(Outputs, attributes(outputs))]
pub fn derive_outputs(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    outputs::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct the state of a keyed DoFn: state per key and window, with timers.
///
/// Its fields are cells of `purlin::state` (`Value`, `Bag`, `Combining`, `Map`, `Set`, `OrderedList`, `Multimap`) and
/// timers. A field of type `Timer` or `TimerFamily` says whose time it goes by: `#[timer(event)]` or
/// `#[timer(processing)]`. A `Combining` whose CombineFn has parameters is given it: `#[combine(TopFn::largest(10))]`. State
/// goes by the names of the fields.
///
/// For `struct Cart` it also makes `enum CartTimer`, as visible as the struct, with a variant for each timer, its name
/// in Pascal case; that of a family has the tag: `Per(String)`. `on_timer` is told by it which timer fires.
///
/// ```
/// use purlin_derive::KeyedState;
/// use purlin_sdk::{
///     Duration, Emitter, KeyedDoFn, Pipeline, ProcessContext, Result, TimerContext,
///     state::{Bag, Timer},
/// };
///
/// #[derive(KeyedState)]
/// #[keyed_state(crate = "purlin_sdk")] // not needed by who depends on `purlin`
/// struct Cart {
///     items: Bag<String>,
///     #[timer(event)]
///     expiry: Timer,
/// }
///
/// /// Gives a cart up that nothing was put into for an hour.
/// #[derive(Clone)]
/// struct Abandoned;
///
/// impl KeyedDoFn for Abandoned {
///     type Key = u64;
///     type Value = String;
///     type Output = (u64, Vec<String>);
///     type State = Cart;
///
///     fn process(
///         &mut self,
///         _: &u64,
///         item: String,
///         cart: &mut Cart,
///         cx: &ProcessContext<'_>,
///         _: &mut Emitter<'_, Self::Output>,
///     ) -> Result {
///         cart.items.add(item);
///         cart.expiry.set(cx, cx.timestamp() + Duration::from_hours(1))
///     }
///
///     fn on_timer(
///         &mut self,
///         timer: CartTimer,
///         user: &u64,
///         cart: &mut Cart,
///         _: &TimerContext<'_>,
///         out: &mut Emitter<'_, Self::Output>,
///     ) -> Result {
///         assert_eq!(timer, CartTimer::Expiry);
///         out.emit((*user, cart.items.take()));
///         Ok(())
///     }
/// }
///
/// let p = Pipeline::new();
/// p.create("Clicks", [(7, "shoes".to_owned())]).par_do_keyed("Abandoned", Abandoned);
/// assert!(p.build().is_ok());
/// ```
#[proc_macro_derive(KeyedState, attributes(keyed_state, timer, combine))]
pub fn derive_keyed_state(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    keyed_state::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
