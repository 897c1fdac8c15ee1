//! From a pattern to files. One test, since it changes the working directory, which all threads share.

use std::{fs, path::Path};

use purlin_transforms::io::files::{
    EmptyMatch::{self, Allow, AllowIfWildcard, Disallow},
    FileErrorKind, expand,
};

fn names(pattern: &str) -> Vec<(String, u64)> {
    let found = expand(pattern, Disallow).unwrap();
    found.into_iter().map(|f| (f.path.to_str().unwrap().to_owned(), f.size)).collect()
}

fn fails(pattern: &str, empty: EmptyMatch, kind: FileErrorKind, parts: &[&str]) {
    let error = expand(pattern, empty).expect_err(pattern);
    assert_eq!(error.kind(), kind, "{error}");
    for part in parts.iter().chain([&pattern]) {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
}

#[test]
fn b187_glob_matching_nothing_and_all_else_about_patterns() {
    let folder = tempfile::tempdir().unwrap();
    std::env::set_current_dir(&folder).unwrap();
    fs::create_dir_all("sub/deep").unwrap();
    for (name, size) in [
        ("b.txt", 2),
        ("a.txt", 1),
        ("[1].txt", 4),
        ("1.txt", 5),
        ("sub/c.txt", 3),
        ("sub/deep/d.txt", 0),
        (".hidden.txt", 9),
        (".purlin-a.txt-0123456789abcdef.tmp", 9),
    ] {
        fs::write(name, "x".repeat(size)).unwrap();
    }
    let cwd = std::env::current_dir().unwrap();
    let absolute = |name: &str| cwd.join(name).to_str().unwrap().to_owned();

    // Nothing matches.
    for pattern in ["*.none", "sub/*.none", "nowhere/*", "?", "[z]"] {
        fails(pattern, Disallow, FileErrorKind::NoMatch, &[cwd.to_str().unwrap(), "EmptyMatch::Allow"]);
        for empty in [Allow, AllowIfWildcard] {
            assert_eq!(expand(pattern, empty).unwrap(), [], "{pattern}");
        }
    }
    for pattern in ["missing", "nowhere/missing", "a.txt/missing"] {
        fails(pattern, Disallow, FileErrorKind::NoMatch, &[cwd.to_str().unwrap()]);
        fails(pattern, AllowIfWildcard, FileErrorKind::NoMatch, &[cwd.to_str().unwrap()]);
        assert_eq!(expand(pattern, Allow).unwrap(), [], "{pattern}");
    }
    let error = expand(&absolute("*.none"), Disallow).unwrap_err().to_string();
    assert!(!error.contains("working directory"), "{error}");
    fails("", Disallow, FileErrorKind::NoMatch, &[]);

    // A directory is an error, whatever may be empty.
    for empty in [Disallow, Allow, AllowIfWildcard] {
        fails("sub", empty, FileErrorKind::NotAFile, &["is a directory", "`sub/*`"]);
        fails("sub/", empty, FileErrorKind::NotAFile, &["`sub/*`"]);
        fails(".", empty, FileErrorKind::NotAFile, &["`./*`"]);
    }
    fails("s*", Disallow, FileErrorKind::NoMatch, &["matches 1 folders", "/*"]);

    // Files, sorted; without a folder in the pattern as well; no hidden and temporary ones.
    let file = |name: &str, size| (name.to_owned(), size);
    let top = [file("1.txt", 5), file("[1].txt", 4), file("a.txt", 1), file("b.txt", 2)];
    assert_eq!(names("*.txt"), top);
    assert_eq!(names("*"), top, "folders are passed over");
    assert_eq!(names(&absolute("[ab].txt")), [(absolute("a.txt"), 1), (absolute("b.txt"), 2)]);
    assert_eq!(names("[!a-z].txt"), [file("1.txt", 5)]);
    assert_eq!(names("sub/*"), [file("sub/c.txt", 3)]);
    assert_eq!(names("sub/**/*.txt"), [file("sub/c.txt", 3), file("sub/deep/d.txt", 0)]);
    assert_eq!(names("*.txt").len() + 2, names("**/*.txt").len());
    assert_eq!(names(".hidden.txt"), [file(".hidden.txt", 9)]);
    assert_eq!(names("sub/../b.txt"), [file("sub/../b.txt", 2)]);

    // A file of exactly this name wins over the pattern.
    assert_eq!(names("[1].txt"), [file("[1].txt", 4)]);
    fs::remove_file("[1].txt").unwrap();
    assert_eq!(names("[1].txt"), [file("1.txt", 5)]);

    fails("a[", Disallow, FileErrorKind::Pattern, &["[[]"]);
    fails("***", Allow, FileErrorKind::Pattern, &[]);

    // A literal dot may be followed by a wildcard.
    assert_eq!(names(".hid*"), [file(".hidden.txt", 9)]);
    // What looks like alternatives is told to be none.
    for pattern in ["{a,b}.txt", "{a,b}.*", "a.txt,b.txt"] {
        fails(pattern, Disallow, FileErrorKind::NoMatch, &["no alternatives", "read_all"]);
    }

    #[cfg(unix)]
    unreadable();
    #[cfg(target_os = "linux")]
    not_utf8();
    assert_eq!(EmptyMatch::default(), Disallow);
    std::env::set_current_dir(Path::new("/")).unwrap();
}

/// A name that is not UTF-8 is found like any other, and is no reason to stop where it is not asked for.
#[cfg(target_os = "linux")]
fn not_utf8() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    fs::create_dir_all("latin/deep").unwrap();
    fs::write("latin/a.txt", "a").unwrap();
    for folder in ["latin", "latin/deep"] {
        fs::write(Path::new(folder).join(OsStr::from_bytes(b"caf\xe9.csv")), "x").unwrap();
    }
    assert_eq!(names("latin/*.txt"), [("latin/a.txt".to_owned(), 1)]);
    assert_eq!(names("latin/**/*.txt").len(), 1);
    for pattern in ["latin/*.csv", "latin/c?f?.csv", "latin/deep/*"] {
        let found = expand(pattern, Disallow).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].path.file_name().unwrap().as_bytes(), b"caf\xe9.csv");
    }
    assert_eq!(expand("latin/**/*", Disallow).unwrap().len(), 3);
}

/// What cannot be looked at is an error, never left out.
#[cfg(unix)]
fn unreadable() {
    std::os::unix::fs::symlink("nowhere", "broken.lnk").unwrap();
    for pattern in ["broken.lnk", "*.lnk"] {
        for empty in [Disallow, Allow, AllowIfWildcard] {
            fails(pattern, empty, FileErrorKind::Io, &["broken.lnk", "os error"]);
        }
    }
    std::os::unix::fs::symlink("loop.x", "loop.x").unwrap();
    fails("loop.x", Allow, FileErrorKind::Io, &["os error"]);
    std::os::unix::fs::symlink("/dev/null", "device.dev").unwrap();
    for pattern in ["device.dev", "*.dev"] {
        let error = expand(pattern, Allow).unwrap_err();
        assert_eq!(error.kind(), FileErrorKind::NotAFile);
        assert!(error.to_string().contains("`device.dev` is a pipe or a device"), "{error}");
    }
}
