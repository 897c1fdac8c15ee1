//! Derives for pipelines: [`Outputs`].
#![forbid(unsafe_code)]

mod attributes;
mod outputs;
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
