//! Encodings of values: Beam's `standard_coders.yaml`.

mod build;
mod defaults;
mod values;

use purlin_sdk::coder::{Coder, CoderRef, CoderSpec, Context};

use super::{datum::Datum, outcome::Outcome};

/// Encodes and decodes the examples of a case.
pub(super) fn run(document: &Datum) -> Outcome {
    match check(document) {
        Ok(()) => Outcome::Passed,
        Err(e) => Outcome::Failed(e),
    }
}

fn check(document: &Datum) -> Result<(), String> {
    let described = document.need("coder")?;
    let spec = spec(described)?;
    let coder = build::coder(&spec, states(described)?)?;
    if coder.spec() != spec {
        return Err(format!("expected the coder {spec:?}, got {:?}", coder.spec()));
    }
    let decode_only = described.get("non_deterministic").map_or(Ok(false), Datum::to_bool)?;
    let contexts: &[Context] = match document.get("nested").map(Datum::to_bool).transpose()? {
        Some(true) => &[Context::Nested],
        Some(false) => &[Context::Outer],
        None => &[Context::Outer, Context::Nested],
    };
    for (encoded, value) in document.need("examples")?.to_entries()? {
        let bytes = latin_1(encoded.to_text()?)?;
        for context in contexts {
            let example = Example { bytes: &bytes, context: *context, value, decode_only };
            example.check(&coder)?;
            defaults::check(&spec, &example)?;
        }
    }
    Ok(())
}

/// One encoding and what it means.
struct Example<'a> {
    bytes: &'a [u8],
    context: Context,
    value: &'a Datum,
    /// Whether the value has other encodings too.
    decode_only: bool,
}

impl Example<'_> {
    fn check(&self, coder: &CoderRef<Datum>) -> Result<(), String> {
        let Example { bytes, context, value, .. } = self;
        // The same value in the form that the coder gives it.
        let mut own = Vec::new();
        coder.encode(value, *context, &mut own).map_err(|e| format!("{value} {context:?}: {e}"))?;
        if !self.decode_only && own != *bytes {
            return Err(format!(
                "{value} {context:?} encodes otherwise: expected {}, got {}",
                bytes.escape_ascii(),
                own.escape_ascii()
            ));
        }
        let canonical = self.decode(coder, &own)?;
        let decoded = self.decode(coder, bytes)?;
        if !decoded.same(&canonical) || !values::agree(&decoded, value) {
            return Err(format!(
                "{} {context:?} decodes otherwise: expected {value}, got {decoded}",
                bytes.escape_ascii()
            ));
        }
        Ok(())
    }

    /// Decodes all of `bytes`, and where more may follow, no more than them.
    fn decode(&self, coder: &CoderRef<Datum>, bytes: &[u8]) -> Result<Datum, String> {
        const MORE: &[u8] = b"\xffmore";
        let more = if self.context == Context::Nested { MORE } else { b"" };
        let all = [bytes, more].concat();
        let mut rest = &all[..];
        let value = coder
            .decode(&mut rest, self.context)
            .map_err(|e| format!("{} {:?}: {e}", bytes.escape_ascii(), self.context))?;
        if rest == more {
            return Ok(value);
        }
        let left = rest.len() as i64 - more.len() as i64;
        Err(format!("{} {:?} decodes to {value} and leaves {left} bytes", bytes.escape_ascii(), self.context))
    }
}

/// The tree of coders that a case describes.
fn spec(described: &Datum) -> Result<CoderSpec, String> {
    let components = match described.get("components") {
        Some(components) => components.to_list()?.iter().map(spec).collect::<Result<Vec<_>, _>>()?,
        None => Vec::new(),
    };
    let payload = match described.get("payload") {
        Some(payload) => latin_1(payload.to_text()?)?,
        None => Vec::new(),
    };
    CoderSpec::from_parts(described.need("urn")?.to_text()?, &payload, components).map_err(|e| e.to_string())
}

/// What lies behind the tokens of iterables.
fn states(described: &Datum) -> Result<build::States, String> {
    let Some(states) = described.get("state") else { return Ok(build::States::default()) };
    let pair = |(token, suffix): &(Datum, Datum)| {
        Ok::<_, String>((latin_1(token.to_text()?)?, latin_1(suffix.to_text()?)?))
    };
    states.to_entries()?.iter().map(pair).collect()
}

/// Bytes that are written as text, a character a byte.
fn latin_1(text: &str) -> Result<Vec<u8>, String> {
    text.chars().map(|c| u8::try_from(c).map_err(|_| format!("{c:?} in {text:?} is no byte"))).collect()
}
