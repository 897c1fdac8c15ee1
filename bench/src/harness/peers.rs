//! The peers' programs: a workspace of their own, so that neither users nor CI build them, built when they are first needed.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Failure;

/// The peers' workspace.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// Where their programs go: beside this workspace's own, if the build put those elsewhere.
fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| folder().join("target"), |path| Path::new(&path).join("peers"))
}

/// A peer's program.
pub fn program(peer: &str) -> PathBuf {
    target().join("release").join(format!("peer-{peer}")).with_extension(env::consts::EXE_EXTENSION)
}

/// Builds what is missing or older than its source.
///
/// # Errors
/// If cargo fails.
pub fn build() -> Result<(), Failure> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--locked", "--quiet", "--target-dir"])
        .arg(target())
        .current_dir(folder())
        .stdin(Stdio::null())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err("the peers could not be built; --no-peers leaves them out".into())
    }
}
