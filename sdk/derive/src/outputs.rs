//! `#[derive(Outputs)]`.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Error, Fields, Ident, Result, Type, Variant, spanned::Spanned};

use crate::{attributes::crate_path, errors::Errors, snake_case::field_of};

/// One variant.
struct Output<'a> {
    variant: &'a Ident,
    field: Ident,
    element: &'a Type,
    docs: Vec<&'a Attribute>,
}

/// The struct of collections and the implementation, or everything that is wrong with the enum.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let root = crate_path(input, "outputs")?;
    let outputs = outputs_of(input)?;
    let DeriveInput { ident, vis, .. } = input;
    let collections = format_ident!("{ident}Collections");
    let about = format!("The outputs of [`{ident}`], one collection a variant.");
    let fields = outputs.iter().map(|Output { variant, field, element, docs }| {
        let what = format!("The elements of [`{ident}::{variant}`].");
        let docs = if docs.is_empty() { quote!(#[doc = #what]) } else { quote!(#(#docs)*) };
        quote!(#docs #vis #field: #root::PCollection<#element>)
    });
    let declared = outputs.iter().map(|Output { field, element, .. }| {
        let name = field.to_string();
        let name = name.trim_start_matches("r#");
        quote!(#field: outputs.output::<#element>(#name))
    });
    let routed = outputs
        .iter()
        .enumerate()
        .map(|(i, Output { variant, .. })| quote!(#ident::#variant(element) => router.put(#i, element)));
    Ok(quote! {
        #[doc = #about]
        #[derive(Clone, Debug)]
        #vis struct #collections {
            #(#fields,)*
        }

        #[automatically_derived]
        impl #root::Outputs for #ident {
            type Collections = #collections;

            fn declare(outputs: &mut #root::OutputsBuilder<'_>) -> #collections {
                #collections { #(#declared,)* }
            }

            fn route(self, router: &mut #root::OutputRouter<'_>) {
                match self {
                    #(#routed,)*
                }
            }
        }
    })
}

fn outputs_of(input: &DeriveInput) -> Result<Vec<Output<'_>>> {
    let Data::Enum(data) = &input.data else {
        let message = "`Outputs` is derived for an enum with one variant an output, such as `enum Parsed { \
                       Number(i64), BadLine(String) }`";
        return Err(Error::new(input.ident.span(), message));
    };
    let mut errors = Errors::default();
    if !input.generics.params.is_empty() {
        let message = "the outputs of an enum with parameters would need a type for each collection: write the types \
                       out, without parameters";
        errors.add(Error::new(input.generics.span(), message));
    }
    if data.variants.is_empty() {
        let message = "there is no output: give the enum a variant for each, such as `Number(i64)`";
        errors.add(Error::new(input.ident.span(), message));
    }
    let mut outputs = Vec::with_capacity(data.variants.len());
    let mut fields = HashMap::new();
    for variant in &data.variants {
        match output_of(variant) {
            Ok(output) => {
                if let Some(other) = fields.insert(output.field.to_string(), &variant.ident) {
                    let message = format!(
                        "the variants `{other}` and `{}` would both be the field `{}`: call one of them something else",
                        variant.ident, output.field
                    );
                    errors.add(Error::new(variant.ident.span(), message));
                }
                outputs.push(output);
            }
            Err(e) => errors.add(e),
        }
    }
    errors.none_or_all().map(|()| outputs)
}

fn output_of(variant: &Variant) -> Result<Output<'_>> {
    let name = &variant.ident;
    let element = match &variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => &fields.unnamed[0].ty,
        Fields::Unit => {
            let message =
                format!("the output `{name}` has no elements: write `{name}(())`, or name their type");
            return Err(Error::new(name.span(), message));
        }
        Fields::Unnamed(_) => {
            let message = format!(
                "the output `{name}` needs one element type: write a tuple, `{name}((A, B))`, or a struct"
            );
            return Err(Error::new(variant.fields.span(), message));
        }
        Fields::Named(_) => {
            let message = format!(
                "the output `{name}` needs one element type: move the fields to a struct of their own and write \
                 `{name}(ThatStruct)`"
            );
            return Err(Error::new(variant.fields.span(), message));
        }
    };
    let docs = variant.attrs.iter().filter(|a| a.path().is_ident("doc")).collect();
    Ok(Output { variant: name, field: field_of(name)?, element, docs })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(source: &str) -> Vec<String> {
        let input = syn::parse_str(source).unwrap();
        expand(&input).unwrap_err().into_iter().map(|e| e.to_string()).collect()
    }

    #[test]
    fn what_is_no_enum_of_outputs_is_told_what_to_write() {
        for (source, words) in [
            ("struct S(i64);", "enum Parsed { Number(i64)"),
            ("union U { a: u8 }", "enum Parsed { Number(i64)"),
            ("enum E {}", "give the enum a variant"),
            ("enum E<T> { A(T) }", "without parameters"),
            ("enum E<'a> { A(&'a str) }", "without parameters"),
            ("enum E { A }", "write `A(())`"),
            ("enum E { A(u8, u8) }", "write a tuple, `A((A, B))`"),
            ("enum E { A { x: u8 } }", "write `A(ThatStruct)`"),
            ("enum E { BadLine(u8), Bad_Line(u8) }", "both be the field `bad_line`"),
            ("#[outputs(krate = \"x\")] enum E { A(u8) }", "crate = "),
        ] {
            let found = errors(source);
            assert!(matches!(&found[..], [one] if one.contains(words)), "{source}: {found:?}");
        }
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        assert_eq!(errors("enum E<T> { A, B { x: T } }").len(), 3);
    }

    #[test]
    fn the_facade_is_the_default_and_another_crate_can_be_named() {
        let input = syn::parse_str("pub enum E { A(u8) }").unwrap();
        assert!(expand(&input).unwrap().to_string().contains("impl :: purlin :: Outputs for E"));
        let input = syn::parse_str("#[outputs(crate = \"my::sdk\")] pub enum E { A(u8) }").unwrap();
        assert!(expand(&input).unwrap().to_string().contains("impl my :: sdk :: Outputs for E"));
    }
}
