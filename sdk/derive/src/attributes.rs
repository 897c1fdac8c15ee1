//! What can be said beside a derive.

use syn::{DeriveInput, LitStr, Path, Result, parse_quote};

/// The path of the crate whose items the derived code names: that of `#[name(crate = "..")]`, where `name` is the
/// derive's, or else `::purlin`.
pub(crate) fn crate_path(input: &DeriveInput, name: &str) -> Result<Path> {
    let mut path: Path = parse_quote!(::purlin);
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident(name)) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("the one thing to say here is `crate = \"path::to::purlin\"`"));
            }
            path = meta.value()?.parse::<LitStr>()?.parse()?;
            Ok(())
        })?;
    }
    Ok(path)
}
