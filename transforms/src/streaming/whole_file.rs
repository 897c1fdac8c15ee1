//! Files that are there as a whole or not at all.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::Path,
};

use purlin_sdk::{DoFnError, Result};

/// Writes a file that is there as a whole or not at all.
pub(super) fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result) -> Result {
    let failed = |e: io::Error| DoFnError::msg(format!("the file {} cannot be written: {e}", path.display()));
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    let mut file = BufWriter::new(File::create(&temporary).map_err(failed)?);
    write(&mut file)?;
    let file = file.into_inner().map_err(|e| failed(e.into_error()))?;
    file.sync_all().map_err(failed)?;
    fs::rename(&temporary, path).map_err(failed)?;
    if let Some(dir) = path.parent() {
        // The name is on disk only when the folder is.
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)?;
    }
    Ok(())
}
