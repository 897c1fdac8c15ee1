//! Prism for tests: started once for a test program, on any free port.

use std::{
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Where `scripts/engines` put the engines.
pub(crate) fn engines() -> PathBuf {
    match std::env::var_os("PURLIN_ENGINES") {
        Some(dir) => dir.into(),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/engines"),
    }
}

/// Ends Prism with the test program.
struct Running {
    child: Child,
    port: u16,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Prism of one's own.
pub(crate) struct Prism(Running);

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
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        // Read to its end, so that Prism never waits; shown when asked for.
        let show = std::env::var_os("PRISM_LOG").is_some();
        thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                if show {
                    eprintln!("prism: {line}");
                }
            }
        });
        let until = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("localhost", port)).is_err() {
            assert!(Instant::now() < until, "Prism did not begin to listen within 30 s");
            thread::yield_now();
        }
        Some(Prism(Running { child, port }))
    }

    /// The address of its job service.
    pub(crate) fn endpoint(&self) -> String {
        format!("localhost:{}", self.0.port)
    }

    /// Ends it as a machine does that loses its power.
    pub(crate) fn kill(&mut self) {
        self.0.child.kill().unwrap();
        self.0.child.wait().unwrap();
    }
}
