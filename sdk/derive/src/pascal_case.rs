//! The variant of a field.

use syn::{Error, Ident, Result};

/// The field's name in Pascal case.
pub(crate) fn variant_of(field: &Ident) -> Result<Ident> {
    let name = field.to_string();
    let pascal: String = name
        .trim_start_matches("r#")
        .split('_')
        .flat_map(|word| {
            let mut letters = word.chars();
            let first = letters.next().into_iter().flat_map(char::to_uppercase);
            first.chain(letters).collect::<Vec<_>>()
        })
        .collect();
    // `Self` is the one keyword in Pascal case, and a name of digits and underscores alone is none.
    let message = format!("no variant can be called `{pascal}`: call the field something else");
    let mut ident = syn::parse_str::<Ident>(&pascal).map_err(|_| Error::new(field.span(), message))?;
    ident.set_span(field.span());
    Ok(ident)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_in_upper_case() {
        let variant = |name: &str| {
            let field = name.strip_prefix("r#").map_or_else(
                || Ident::new(name, proc_macro2::Span::call_site()),
                |raw| Ident::new_raw(raw, proc_macro2::Span::call_site()),
            );
            variant_of(&field).map(|v| v.to_string()).map_err(|e| e.to_string())
        };
        for (name, expected) in
            [("expiry", "Expiry"), ("per_user", "PerUser"), ("r#type", "Type"), ("_at2", "At2")]
        {
            assert_eq!(variant(name).unwrap(), expected);
        }
        assert!(variant("__").unwrap_err().contains("call the field something else"));
        assert!(variant("_1").unwrap_err().contains("call the field something else"));
    }
}
