//! `#[derive(KeyedState)]`.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{
    Data, DeriveInput, Error, Expr, Field, Fields, Generics, Ident, Path, Result, Type, parse_quote,
    spanned::Spanned,
};

use crate::{attributes::crate_path, errors::Errors, pascal_case::variant_of};

/// A field with a timer.
struct Timer<'a> {
    field: &'a Ident,
    name: String,
    variant: Ident,
    family: bool,
    /// `Event` or `Processing`.
    time: Ident,
}

/// A field with anything else.
struct Cell<'a> {
    field: &'a Ident,
    name: String,
    ty: &'a Type,
    /// The CombineFn that is given, of an accumulator.
    combine: Option<Expr>,
}

/// The implementation and the enum of timers, or everything that is wrong with the struct.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let root = crate_path(input, "keyed_state")?;
    let (cells, timers) = parts_of(input)?;
    let DeriveInput { ident, vis, .. } = input;
    let timer_enum = format_ident!("{ident}Timer");
    let about = format!("The timers of [`{ident}`].");
    let variants = timers.iter().map(|Timer { name, variant, family, .. }| {
        let docs = format!("The timer `{name}`.");
        let tag = family.then(|| quote!((::std::string::String)));
        quote!(#[doc = #docs] #variant #tag)
    });
    let implementation = implementation(input, &root, &timer_enum, &cells, &timers);
    Ok(quote! {
        #[doc = #about]
        #[allow(dead_code)]
        #[derive(Clone, Debug, PartialEq, Eq)]
        #vis enum #timer_enum {
            #(#variants,)*
        }

        #implementation
    })
}

fn implementation(
    input: &DeriveInput,
    root: &Path,
    timer_enum: &Ident,
    cells: &[Cell<'_>],
    timers: &[Timer<'_>],
) -> TokenStream {
    let ident = &input.ident;
    let generics = bounded(&input.generics, root, cells);
    let (params, args, bounds) = generics.split_for_impl();
    let state = quote!(#root::state);
    let new = timers.iter().map(|Timer { field, name, family, time, .. }| {
        let ty = timer_type(*family);
        quote!(#field: #state::#ty::new(#name, #state::TimeDomain::#time))
    });
    let default = cells.iter().map(|Cell { field, ty, combine, .. }| match combine {
        // At the type, so that what is said of one that is no cell is said there.
        None => quote_spanned!(ty.span()=> #field: #state::initial::<#ty>()),
        Some(combine) => quote_spanned!(combine.span()=> #field: #state::Combining::of(#combine)),
    });
    let saved_cells = cells.iter().map(|c| c.field);
    let saved_timers = timers.iter().map(|t| t.field);
    let loaded_cells = cells.iter().map(|c| c.field);
    let loaded_timers = timers.iter().map(|t| t.field);
    let each = |method: &str| {
        let method = format_ident!("{method}");
        let cells = cells.iter().map(|c| c.field);
        let timers = timers.iter().map(|t| t.field);
        quote!(
            #(#state::StateCell::#method(&mut self.#cells);)*
            #(#state::TimerCell::#method(&mut self.#timers);)*
        )
    };
    let (begin, undo, keep) = (each("begin"), each("undo"), each("keep"));
    let cell_fields = cells.iter().map(|c| c.field);
    let timer_fields = timers.iter().map(|t| t.field);
    let declared = cells.iter().map(|Cell { name, ty, .. }| quote!(#state::Field::cell::<#ty>(#name)));
    let declared_timers = timers.iter().map(|Timer { name, family, time, .. }| {
        let kind = timer_type(*family);
        quote!(#state::Field::timer(#name, #state::CellKind::#kind, #state::TimeDomain::#time))
    });
    let numbered = cells.iter().enumerate().map(|(i, c)| {
        let field = c.field;
        quote!(#i => ::std::option::Option::Some(&mut self.#field))
    });
    let visits = timers.iter().enumerate().map(|(i, t)| {
        let field = t.field;
        quote!(visit(#i, &mut self.#field))
    });
    let found = timers.iter().enumerate().map(|(i, t)| {
        let field = t.field;
        quote!(#i => ::std::option::Option::Some(&mut self.#field))
    });
    let named = timers.iter().enumerate().map(|(i, Timer { variant, family, .. })| {
        let tag = family.then(|| quote!((::std::string::String::from(tag))));
        quote!(#i => ::std::option::Option::Some(#timer_enum::#variant #tag))
    });
    quote! {
        #[automatically_derived]
        #[allow(unused_variables)]
        impl #params #state::KeyedState for #ident #args #bounds {
            type Timer = #timer_enum;

            fn initial() -> Self {
                Self { #(#default,)* #(#new,)* }
            }

            fn begin(&mut self) {
                #begin
            }

            fn undo(&mut self) {
                #undo
            }

            fn keep(&mut self) {
                #keep
            }

            fn save(&self, out: &mut ::std::vec::Vec<u8>) -> #root::Result {
                #(#state::save(&self.#saved_cells, out)?;)*
                #(#state::TimerCell::save(&self.#saved_timers, out)?;)*
                ::std::result::Result::Ok(())
            }

            fn load(input: &mut &[u8]) -> #root::Result<Self> {
                let mut loaded = Self::initial();
                #(#state::load(&mut loaded.#loaded_cells, input)?;)*
                #(#state::TimerCell::load(&mut loaded.#loaded_timers, input)?;)*
                ::std::result::Result::Ok(loaded)
            }

            fn is_initial(&self) -> bool {
                true
                    #(&& #state::StateCell::is_initial(&self.#cell_fields))*
                    #(&& #state::TimerCell::is_idle(&self.#timer_fields))*
            }

            fn fields() -> ::std::vec::Vec<#state::Field> {
                ::std::vec![#(#declared,)* #(#declared_timers,)*]
            }

            fn cell(&mut self, number: usize) -> ::std::option::Option<&mut dyn #state::AnyCell> {
                match number {
                    #(#numbered,)*
                    _ => ::std::option::Option::None,
                }
            }

            fn for_each_timer(&mut self, visit: &mut dyn FnMut(usize, &mut dyn #state::TimerCell)) {
                #(#visits;)*
            }

            fn timer(&mut self, number: usize) -> ::std::option::Option<&mut dyn #state::TimerCell> {
                match number {
                    #(#found,)*
                    _ => ::std::option::Option::None,
                }
            }

            fn name_timer(number: usize, tag: &str) -> ::std::option::Option<#timer_enum> {
                match number {
                    #(#named,)*
                    _ => ::std::option::Option::None,
                }
            }
        }
    }
}

fn timer_type(family: bool) -> Ident {
    if family { format_ident!("TimerFamily") } else { format_ident!("Timer") }
}

/// The generics, with what the fields need of them.
fn bounded(generics: &Generics, root: &Path, cells: &[Cell<'_>]) -> Generics {
    let mut generics = generics.clone();
    if generics.type_params().next().is_some() {
        let bounds = generics.make_where_clause();
        for Cell { ty, combine, .. } in cells {
            let default = combine.is_none().then(|| quote!(+ ::std::default::Default));
            bounds.predicates.push(parse_quote!(#ty: #root::state::StateCell #default));
        }
    }
    generics
}

fn parts_of(input: &DeriveInput) -> Result<(Vec<Cell<'_>>, Vec<Timer<'_>>)> {
    let example = "a struct whose named fields are cells and timers, such as `struct Cart { items: Bag<Item>, \
                   #[timer(event)] expiry: Timer }`";
    let fields = match &input.data {
        Data::Struct(data) => &data.fields,
        _ => return Err(Error::new(input.ident.span(), format!("`KeyedState` is derived for {example}"))),
    };
    if let Fields::Unnamed(unnamed) = fields {
        let message = format!("state goes by the names of its fields: write {example}");
        return Err(Error::new(unnamed.span(), message));
    }
    let (mut cells, mut timers) = (Vec::new(), Vec::new());
    let mut errors = Errors::default();
    let mut variants = HashMap::new();
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        let name = ident.to_string().trim_start_matches("r#").to_owned();
        match timer_of(field, ident, &name) {
            Ok(None) => match combine_of(field, &name) {
                Ok(combine) => cells.push(Cell { field: ident, name, ty: &field.ty, combine }),
                Err(e) => errors.add(e),
            },
            Ok(Some(timer)) => {
                if let Some(other) = variants.insert(timer.variant.to_string(), ident) {
                    let message = format!(
                        "the timers `{other}` and `{ident}` would both be the variant `{}`: call one of them something \
                         else",
                        timer.variant
                    );
                    errors.add(Error::new(ident.span(), message));
                }
                timers.push(timer);
            }
            Err(e) => errors.add(e),
        }
    }
    errors.none_or_all().map(|()| (cells, timers))
}

/// The CombineFn that a field is given.
fn combine_of(field: &Field, name: &str) -> Result<Option<Expr>> {
    let mut given = None;
    for attribute in field.attrs.iter().filter(|a| a.path().is_ident("combine")) {
        let what = format!("say which CombineFn `{name}` has, once: `#[combine(TopFn::largest(10))]`");
        let said = attribute.parse_args().map_err(|_| Error::new(attribute.span(), &what))?;
        if given.replace(said).is_some() {
            return Err(Error::new(attribute.span(), what));
        }
    }
    Ok(given)
}

/// The timer that a field is, if it is one.
fn timer_of<'a>(field: &'a Field, ident: &'a Ident, name: &str) -> Result<Option<Timer<'a>>> {
    let family = match &field.ty {
        Type::Path(path) => {
            path.path.segments.last().and_then(|last| match last.ident.to_string().as_str() {
                "Timer" => Some(false),
                "TimerFamily" => Some(true),
                _ => None,
            })
        }
        _ => None,
    };
    let how = "`#[timer(event)]` (it goes by the watermark) or `#[timer(processing)]` (it goes by the clock)";
    let mut time = None;
    for attribute in field.attrs.iter().filter(|a| a.path().is_ident("timer")) {
        let said: Result<Ident> = attribute.parse_args();
        let said = match said {
            Ok(said) if said == "event" => format_ident!("Event"),
            Ok(said) if said == "processing" => format_ident!("Processing"),
            _ => return Err(Error::new(attribute.span(), format!("say whose time it is: {how}"))),
        };
        if time.replace(said).is_some() {
            let message = "a timer goes by one time: say it once";
            return Err(Error::new(attribute.span(), message));
        }
    }
    match (family, time) {
        (None, None) => Ok(None),
        (Some(family), Some(time)) => {
            Ok(Some(Timer { field: ident, name: name.to_owned(), variant: variant_of(ident)?, family, time }))
        }
        (Some(_), None) => {
            Err(Error::new(field.ty.span(), format!("say whose time `{name}` goes by: {how}")))
        }
        (None, Some(_)) => {
            let message = format!("`{name}` is to be a timer, so its type is `Timer` or `TimerFamily`");
            Err(Error::new(field.ty.span(), message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(source: &str) -> Vec<String> {
        let input = syn::parse_str(source).unwrap();
        expand(&input).unwrap_err().into_iter().map(|e| e.to_string()).collect()
    }

    #[test]
    fn what_is_no_struct_of_cells_is_told_what_to_write() {
        for (source, words) in [
            ("enum E { A }", "struct Cart { items: Bag<Item>"),
            ("union U { a: u8 }", "struct Cart { items: Bag<Item>"),
            ("struct S(Bag<u8>);", "by the names of its fields"),
            ("struct S { t: Timer }", "say whose time `t` goes by: `#[timer(event)]`"),
            ("struct S { t: purlin::state::TimerFamily }", "say whose time"),
            ("struct S { #[timer] t: Timer }", "say whose time"),
            ("struct S { #[timer(wall)] t: Timer }", "`#[timer(processing)]`"),
            ("struct S { #[timer(event)] #[timer(event)] t: Timer }", "say it once"),
            ("struct S { #[timer(event)] t: Bag<u8> }", "its type is `Timer` or `TimerFamily`"),
            (
                "struct S { #[timer(event)] a_b: Timer, #[timer(event)] a__b: Timer }",
                "both be the variant `AB`",
            ),
            ("struct S { #[combine] c: Combining<C> }", "which CombineFn `c` has"),
            ("struct S { #[combine(a)] #[combine(b)] c: Combining<C> }", "once"),
            ("#[keyed_state(krate = \"x\")] struct S {}", "crate = "),
        ] {
            let found = errors(source);
            assert!(matches!(&found[..], [one] if one.contains(words)), "{source}: {found:?}");
        }
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        assert_eq!(
            errors("struct S { a: Timer, #[timer(event)] b: Bag<u8>, #[timer(x)] c: Timer }").len(),
            3
        );
    }

    #[test]
    fn the_facade_is_the_default_and_parameters_get_their_bounds() {
        let input = syn::parse_str("pub struct S<T> { all: Bag<T> }").unwrap();
        let code = expand(&input).unwrap().to_string();
        assert!(code.contains(":: purlin :: state :: KeyedState for S < T >"), "{code}");
        assert!(code.contains("where Bag < T > : :: purlin :: state :: StateCell"), "{code}");
    }
}
