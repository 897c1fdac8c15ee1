//! The field of a variant.

use syn::{Error, Ident, Result};

/// The variant's name in snake case, raw where it is a keyword.
pub(crate) fn field_of(variant: &Ident) -> Result<Ident> {
    let name = variant.to_string();
    let snake = snake_case(name.trim_start_matches("r#"));
    if let Ok(mut ident) = syn::parse_str::<Ident>(&snake) {
        ident.set_span(variant.span());
        return Ok(ident);
    }
    if matches!(snake.as_str(), "self" | "super" | "crate" | "_") {
        let message = format!("no field can be called `{snake}`: call the variant something else");
        return Err(Error::new(variant.span(), message));
    }
    Ok(Ident::new_raw(&snake, variant.span()))
}

/// Words begin at an upper-case letter after a lower-case one or a digit, and at the last of several upper-case letters
/// when a lower-case one follows it.
pub(crate) fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (i, &c) in letters.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| letters.get(i));
        let begins = c.is_uppercase()
            && before.is_some_and(|b| {
                b.is_lowercase()
                    || b.is_numeric()
                    || b.is_uppercase() && letters.get(i + 1).is_some_and(|n| n.is_lowercase())
            });
        if begins {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found() {
        for (name, snake) in [
            ("Order", "order"),
            ("BadLine", "bad_line"),
            ("HTTPError", "http_error"),
            ("Json", "json"),
            ("ABC", "abc"),
            ("V2Order", "v2_order"),
            ("Already_Snake", "already_snake"),
        ] {
            assert_eq!(snake_case(name), snake);
        }
    }

    #[test]
    fn keywords_become_raw_and_impossible_names_are_told() {
        let field = |name: &str| field_of(&Ident::new(name, proc_macro2::Span::call_site()));
        assert_eq!(field("Type").unwrap().to_string(), "r#type");
        assert!(field("Super").unwrap_err().to_string().contains("call the variant something else"));
    }
}
