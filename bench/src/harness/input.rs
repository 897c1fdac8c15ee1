//! The text files: made once beside the program, so that they vanish with the build, and found again by name.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::text::Text;
use crate::{Input, Params, Work};

/// The seed of all texts that are measured.
const SEED: u64 = 1;

/// The parameters of a work of a size, whose input is made if it is not there.
///
/// # Errors
/// If the text cannot be written.
pub fn prepare(work: &Work, n: u64, threads: usize) -> io::Result<Params> {
    let input = match work.input {
        Input::Text => text(&folder()?, n)?,
        _ => PathBuf::new(),
    };
    Ok(Params { n, threads, keys: work.input.keys(), input, ..Params::default() })
}

/// The folder `bench-data` beside the program.
fn folder() -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    Ok(program.parent().unwrap_or(Path::new(".")).join("bench-data"))
}

fn text(folder: &Path, bytes: u64) -> io::Result<PathBuf> {
    // The number after `text` goes up when the generator changes what it writes.
    let path = folder.join(format!("text1-{bytes}-{SEED}.txt"));
    if !path.exists() {
        fs::create_dir_all(folder)?;
        // Written under another name first: a file with the right name is whole.
        let part = folder.join(format!("text1-{bytes}-{SEED}.part{}", std::process::id()));
        Text::new(SEED).write_to(bytes, &mut File::create(&part)?)?;
        fs::rename(&part, &path)?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = text(folder.path(), 1_000).unwrap();
        assert!(fs::metadata(&path).unwrap().len() >= 1_000);
        fs::write(&path, "kept").unwrap();
        assert_eq!(text(folder.path(), 1_000).unwrap(), path);
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
