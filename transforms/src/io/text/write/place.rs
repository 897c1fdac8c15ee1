//! Which file a name means, however it is written.

use std::path::{Component, Path, PathBuf};

/// The same text for all ways to write the path of one file, as far as its folders are there: absolute, without `.` and
/// `..`, and with links followed.
pub(super) fn place_of(file: &str) -> String {
    let path = std::path::absolute(file).unwrap_or_else(|_| file.into());
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return file.to_owned();
    };
    resolved(folder).join(name).to_string_lossy().into_owned()
}

/// What is there of `folder` with links followed, and the rest, which is yet to be created, as it is written.
fn resolved(folder: &Path) -> PathBuf {
    for there in folder.ancestors() {
        if let (Ok(mut place), Ok(rest)) = (there.canonicalize(), folder.strip_prefix(there)) {
            for part in rest.components() {
                match part {
                    Component::ParentDir => drop(place.pop()),
                    part => place.push(part),
                }
            }
            return place;
        }
    }
    folder.to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn one_file_has_one_place() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().canonicalize().unwrap();
        fs::create_dir(folder.join("there")).unwrap();
        let of = |name: &str| place_of(folder.join(name).to_str().unwrap());
        let plain = folder.join("there/x").to_str().unwrap().to_owned();
        let mut names = vec!["there/x", "there/./x", "there//x", "there/../there/x", "there/new/../x"];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("there", folder.join("link")).unwrap();
            names.push("link/x");
        }
        for name in names {
            assert_eq!(of(name), plain, "{name}");
        }
        assert_ne!(of("there/new/x"), plain);
        assert_ne!(of("there/y"), plain);
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(Path::new(&place_of("new/x")), here.join("new/x"));
        assert_eq!(place_of("./new/x"), place_of("new/x"));
    }
}
