//! Reading cases from files.

use std::{fs, io, path::Path};

use super::datum::{Datum, Written};

/// A case, before anybody looked at what kind it is.
#[derive(Debug)]
pub struct Document {
    /// The file, and what the case calls itself.
    pub title: String,
    /// The case; otherwise why it cannot be read.
    pub content: Result<Datum, String>,
}

/// All documents of the `.json` and `.yaml` files below `dir`, in the order of their names.
///
/// # Errors
/// When `dir` cannot be read.
pub fn documents_below(dir: &Path) -> io::Result<Vec<Document>> {
    let mut files = Vec::new();
    files_below(dir, &mut files)?;
    files.sort();
    let mut documents = Vec::new();
    for file in files {
        let title = file.strip_prefix(dir).unwrap_or(&file).display().to_string();
        match fs::read_to_string(&file) {
            Err(e) => documents.push(Document { title, content: Err(e.to_string()) }),
            Ok(text) if file.extension().is_some_and(|e| e == "json") => {
                documents.push(Document::from_json(&title, &text));
            }
            Ok(text) => documents.extend(Document::from_yaml(&title, &text)),
        }
    }
    Ok(documents)
}

fn files_below(dir: &Path, files: &mut Vec<std::path::PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            files_below(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "json" || e == "yaml" || e == "yml") {
            files.push(path);
        }
    }
    Ok(())
}

impl Document {
    /// The case that is JSON.
    pub fn from_json(title: &str, text: &str) -> Document {
        let content = serde_json::from_str::<Written>(text).map(|w| w.0).map_err(|e| e.to_string());
        Document { title: title.to_owned(), content }
    }

    /// The cases of a YAML stream. Each is read by itself, so that one that is broken leaves the others.
    pub fn from_yaml(title: &str, text: &str) -> Vec<Document> {
        let mut parts = vec![String::new()];
        for line in text.lines() {
            match (line.strip_prefix("---"), parts.last_mut()) {
                (Some(rest), _) if rest.trim().is_empty() || rest.starts_with(' ') => {
                    parts.push(format!("{rest}\n"));
                }
                (_, Some(last)) => {
                    last.push_str(line);
                    last.push('\n');
                }
                (_, None) => {}
            }
        }
        let mut documents = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            let content = serde_saphyr::from_str::<Option<Written>>(&spaced(part));
            let content = content.map(|w| w.map_or(Datum::Null, |w| w.0)).map_err(|e| e.to_string());
            if content != Ok(Datum::Null) {
                let name = content.as_ref().ok().and_then(name_of).unwrap_or_default();
                documents.push(Document { title: format!("{title} #{}{name}", i + 1), content });
            }
        }
        documents
    }
}

fn name_of(content: &Datum) -> Option<String> {
    let named = content.get("name").or_else(|| content.get("coder")?.get("urn"))?;
    Some(format!(" {}", named.as_text()?))
}

/// The text with a space between a colon and a bracket: Beam's files leave it out once, which its reader takes and the
/// YAML standard does not.
fn spaced(text: &str) -> String {
    let (mut out, mut depth, mut quote, mut escaped, mut comment) =
        (String::new(), 0_u32, None, false, false);
    let mut last = '\n';
    for c in text.chars() {
        match (quote, c) {
            _ if comment => comment = c != '\n',
            (Some('"'), '\\') => escaped = !escaped,
            (Some(q), c) if c == q && !escaped => quote = None,
            (Some(_), _) => escaped = false,
            (None, '"' | '\'') if !last.is_alphanumeric() => quote = Some(c),
            (None, '#') if last.is_whitespace() => comment = true,
            (None, '[' | '{') => {
                if last == ':' && depth > 0 {
                    out.push(' ');
                }
                depth += 1;
            }
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
        out.push(c);
        last = c;
    }
    out
}
