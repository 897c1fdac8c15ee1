//! Prism for tests, on any free port.
#![allow(dead_code)] // Not every test program needs all of it.

use std::{
    io::{BufRead, BufReader, Read},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

/// Where `scripts/engines` put the engines.
pub(crate) fn engines() -> PathBuf {
    match std::env::var_os("PURLIN_ENGINES") {
        Some(dir) => dir.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/engines"),
    }
}

/// A Prism of one's own, which ends with the test.
pub(crate) struct Prism {
    child: Child,
    port: u16,
    /// What it said.
    log: Arc<Mutex<Vec<String>>>,
    /// What was printed by the processes that it started.
    printed: Arc<Mutex<Vec<String>>>,
}

impl Drop for Prism {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            self.log.lock().unwrap().iter().for_each(|line| eprintln!("prism: {line}"));
        }
    }
}

/// Keeps the lines that come, so that whoever writes them never waits.
fn lines(from: impl Read + Send + 'static) -> Arc<Mutex<Vec<String>>> {
    let all = Arc::new(Mutex::new(Vec::new()));
    let into = all.clone();
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            into.lock().unwrap().push(line);
        }
    });
    all
}

impl Prism {
    /// Starts one; nothing when it is not installed, which is printed.
    pub(crate) fn start() -> Option<Prism> {
        let program = engines().join("bin/prism");
        if !program.is_file() {
            eprintln!("skipped: Prism is not at {}; `scripts/engines prism` installs it", program.display());
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut child = Command::new(program)
            .args([format!("--job_port={port}"), "--serve_http=false".into(), "--log_kind=text".into()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (log, printed) = (lines(child.stderr.take().unwrap()), lines(child.stdout.take().unwrap()));
        let until = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("localhost", port)).is_err() {
            assert!(Instant::now() < until, "Prism did not begin to listen within 30 s");
            thread::yield_now();
        }
        Some(Prism { child, port, log, printed })
    }

    /// The address of its job service.
    pub(crate) fn endpoint(&self) -> String {
        format!("localhost:{}", self.port)
    }

    /// What the processes that it started have printed, in order: workers print in any.
    pub(crate) fn printed(&self) -> Vec<String> {
        let mut lines = self.printed.lock().unwrap().clone();
        lines.sort();
        lines
    }

    /// Ends it as a machine does that loses its power.
    pub(crate) fn kill(&mut self) {
        // It may be over already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
