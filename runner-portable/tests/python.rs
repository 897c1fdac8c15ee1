//! Pipelines on Beam's job service in Python by loopback, with the same output as on the direct runner. It is a test of
//! the protocol more than of the model: it runs batches only, and goes by no watermark within a stage.

#[path = "support/cases.rs"]
mod cases;
#[path = "support/compare.rs"]
mod compare;

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use cases::CASES;
use compare::gathered;
use purlin_runner_direct::DirectRunner;
use purlin_runner_portable::PortableRunner;

/// The service, which ends with the test.
struct Python {
    child: Child,
    port: u16,
}

impl Drop for Python {
    fn drop(&mut self) {
        // It may be over already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the service; nothing when it is not installed, which is printed.
fn start() -> Option<Python> {
    let engines = std::env::var_os("PURLIN_ENGINES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/engines"), Into::into);
    let program = engines.join("python/bin/python");
    if !program.is_file() {
        eprintln!(
            "skipped: Beam for Python is not at {}; `scripts/engines python` installs it",
            program.display()
        );
        return None;
    }
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("port");
    let child = Command::new(program)
        .args(["-m", "apache_beam.runners.portability.local_job_service_main", "--port=0", "--port_file"])
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut python = Python { child, port: 0 };
    let until = Instant::now() + Duration::from_secs(60);
    while python.port == 0 {
        assert!(Instant::now() < until, "the service did not say its port within 60 s");
        assert!(python.child.try_wait().unwrap().is_none(), "the service ended");
        python.port =
            std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        std::thread::yield_now();
    }
    Some(python)
}

/// One service for all, since it takes seconds to start.
#[test]
fn every_case() {
    let Some(python) = start() else { return };
    let runner = PortableRunner::to(format!("localhost:{}", python.port));
    let mut wrong = Vec::new();
    for (name, build) in CASES {
        let (expected, _) = gathered(*build, &DirectRunner::new()).unwrap();
        assert!(!expected.is_empty(), "{name}");
        match gathered(*build, &runner) {
            Ok((made, _)) if made == expected => {}
            Ok((made, _)) => wrong.push(format!("{name}: {made:?} instead of {expected:?}")),
            Err(e) => wrong.push(format!("{name}: {e}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
