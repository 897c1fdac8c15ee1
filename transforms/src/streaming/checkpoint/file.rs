//! Small files that are there as a whole or not at all.

use std::{fs, io, path::Path};

use purlin_sdk::PipelineError;
use serde::{Serialize, de::DeserializeOwned};

use crate::streaming::whole_file::write_whole;

/// What a file begins with; another number when its contents mean something else.
const VERSION: &str = "purlin-checkpoint v1";

/// Writes `value` at `path`, all or nothing.
pub(super) fn write(path: &Path, value: &impl Serialize) -> Result<(), PipelineError> {
    let body = serde_json::to_string(value)
        .map_err(|e| PipelineError::runner(format!("{} cannot be written: {e}", path.display())))?;
    let text = format!("{VERSION}\n{:08x}\n{body}\n", crc32fast::hash(body.as_bytes()));
    write_bytes(path, text.as_bytes())
}

/// Writes `bytes` at `path`, all or nothing.
pub(super) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), PipelineError> {
    write_whole(path, |to| Ok(to.write_all(bytes)?)).map_err(|e| PipelineError::runner(e.to_string()))
}

/// Reads what was written at `path`; nothing when there is no such file.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, PipelineError> {
    let failed = |why: String| {
        Err(PipelineError::runner(format!(
            "{} cannot be read: {why}. Use another checkpoint location, or a copy of this one",
            path.display()
        )))
    };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return failed(e.to_string()),
    };
    let mut lines = text.splitn(3, '\n');
    let (version, sum, body) = (lines.next(), lines.next(), lines.next().and_then(|b| b.strip_suffix('\n')));
    let (Some(version), Some(sum), Some(body)) = (version, sum, body) else {
        return failed("it is cut short".into());
    };
    if version != VERSION {
        return failed(format!("it begins with `{version}`, and this program writes `{VERSION}`"));
    }
    if sum != format!("{:08x}", crc32fast::hash(body.as_bytes())) {
        return failed("its checksum is another one: it was damaged, or changed by hand".into());
    }
    serde_json::from_str(body).map(Some).or_else(|e| failed(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("5");
        assert_eq!(read::<Vec<u8>>(&path).unwrap(), None);
        write(&path, &vec![1_u8, 2]).unwrap();
        assert_eq!(read::<Vec<u8>>(&path).unwrap(), Some(vec![1, 2]));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("[1,2]", "[1,3]")).unwrap();
        assert!(read::<Vec<u8>>(&path).unwrap_err().to_string().contains("checksum"));
        fs::write(&path, &text[..text.len() - 3]).unwrap();
        assert!(read::<Vec<u8>>(&path).unwrap_err().to_string().contains("cut short"));
        fs::write(&path, text.replace("v1", "v2")).unwrap();
        assert!(read::<Vec<u8>>(&path).unwrap_err().to_string().contains("v2"));
    }
}
