//! What goes wrong with an engine, and that it is told soon.

use std::{
    io::Write,
    net::TcpListener,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use prost::Message;
use purlin_sdk::{Pipeline, PipelineError, RunOutcome, RunState};

use super::fake::{Fake, Script, error, state};
use crate::{
    Environment, PortableRunner,
    proto::{
        job_management::job_state::Enum as State,
        pipeline::{ArtifactFilePayload, ArtifactInformation},
    },
    urns,
};

fn pipeline() -> Pipeline {
    let p = Pipeline::new();
    p.create("Numbers", [1, 2]).map("Double", |n: i64| n * 2);
    p
}

fn run(runner: &PortableRunner) -> Result<RunOutcome, PipelineError> {
    pipeline().run_on(runner)?.wait()
}

/// The error that comes, and that it comes in less than ten seconds.
fn failure(runner: &PortableRunner) -> String {
    let begun = Instant::now();
    let told = run(runner).unwrap_err().to_string();
    assert!(begun.elapsed() < Duration::from_secs(10), "{told}");
    told
}

fn script(told: Vec<crate::proto::job_management::JobMessagesResponse>) -> Script {
    Script { told, ..Script::default() }
}

#[test]
fn nobody_answers() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let told = failure(&PortableRunner::to(free.to_string()));
    assert!(told.contains(&free.to_string()) && told.contains("does not answer"), "{told}");
    let told = failure(&PortableRunner::to("no address"));
    assert!(told.contains("HOST:PORT"), "{told}");
}

#[test]
fn who_answers_is_silent() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let told = failure(&PortableRunner::to(silent.local_addr().unwrap().to_string()));
    assert!(told.contains("within 4 s"), "{told}");
}

#[test]
fn who_answers_speaks_something_else() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").unwrap();
    });
    let told = failure(&PortableRunner::to(&address));
    answering.join().unwrap();
    assert!(told.contains(&address), "{told}");
}

#[test]
fn who_answers_has_no_jobs() {
    let fake = Fake::start(Script { is_other: true, ..Script::default() });
    let told = failure(&PortableRunner::to(&fake.endpoint));
    assert!(told.contains("no job service of Beam's, or one of a version"), "{told}");
}

#[test]
fn the_engine_dies() {
    let fake = Fake::start(Script { dies: true, ..script(vec![state(State::Running)]) });
    let told = failure(&PortableRunner::to(&fake.endpoint));
    assert!(told.contains("the engine may have died"), "{told}");
}

#[test]
fn the_job_fails_with_the_engine_s_reason() {
    let why = "stage-003: `Double` (built at main.rs:7:5) failed in process: too large";
    let fake = Fake::start(script(vec![state(State::Running), error(why), state(State::Failed)]));
    let told = failure(&PortableRunner::to(&fake.endpoint));
    assert!(told.contains("job-1") && told.contains(why), "{told}");
}

#[test]
fn messages_may_be_large() {
    let why = "x".repeat(6 << 20);
    let fake = Fake::start(script(vec![error(&why), state(State::Failed)]));
    let p = Pipeline::new();
    p.create("Numbers", [1]).map(&"y".repeat(5 << 20), |n: i64| n * 2);
    let told = p.run_on(&PortableRunner::to(&fake.endpoint)).unwrap().wait().unwrap_err().to_string();
    assert!(told.len() > 6 << 20, "{} bytes", told.len());
    let prepared = fake.given.prepared.lock().unwrap().take().unwrap();
    assert!(prepared.encoded_len() > 5 << 20);
}

#[test]
fn a_job_that_is_done_or_cancelled_or_drained() {
    let fake = Fake::start(script(vec![state(State::Starting), state(State::Running), state(State::Done)]));
    assert_eq!(run(&PortableRunner::to(&fake.endpoint)).unwrap().state, RunState::Done);
    let prepared = fake.given.prepared.lock().unwrap().take().unwrap();
    let options = prepared.pipeline_options.unwrap().fields;
    assert!(options.contains_key(super::ARGUMENTS) && options.contains_key(super::FINGERPRINT));

    let fake = Fake::start(script(vec![state(State::Running)]));
    let handle = pipeline().run_on(&PortableRunner::to(&fake.endpoint)).unwrap();
    handle.cancel();
    assert_eq!(handle.wait().unwrap().state, RunState::Cancelled);

    let fake = Fake::start(script(vec![state(State::Running)]));
    let handle = pipeline().run_on(&PortableRunner::to(&fake.endpoint)).unwrap();
    handle.drain();
    assert_eq!(handle.wait().unwrap().state, RunState::Drained);
    assert!(fake.given.drained.load(Ordering::SeqCst));
}

fn file(path: &str) -> ArtifactInformation {
    ArtifactInformation {
        type_urn: urns::artifact::FILE.to_owned(),
        type_payload: ArtifactFilePayload { path: path.to_owned(), sha256: String::new() }.encode_to_vec(),
        ..ArtifactInformation::default()
    }
}

#[test]
fn the_engine_gets_the_files_that_it_was_offered_and_no_other() {
    let offered = std::env::temp_dir().join(format!("purlin-artifact-{}", std::process::id()));
    let contents = vec![7; 3 << 20];
    std::fs::write(&offered, &contents).unwrap();
    let path = offered.canonicalize().unwrap().to_string_lossy().into_owned();

    let done = script(vec![state(State::Done)]);
    let fake = Fake::start(Script { files: vec![file(&path)], ..done.clone() });
    run(&PortableRunner::to(&fake.endpoint).artifact(&offered)).unwrap();
    assert!(*fake.given.files.lock().unwrap() == [contents]);

    let fake = Fake::start(Script { files: vec![file("/etc/hostname")], ..done });
    let told = failure(&PortableRunner::to(&fake.endpoint).artifact(&offered));
    assert!(told.contains("not offered: /etc/hostname"), "{told}");
    std::fs::remove_file(&offered).unwrap();

    let told = failure(&PortableRunner::to(&fake.endpoint).artifact("/no/such/file"));
    assert!(told.contains("/no/such/file"), "{told}");
}

#[test]
fn what_is_submitted_names_the_place_of_the_code() {
    let fake = Fake::start(script(vec![state(State::Done)]));
    let place = Environment::Process(Some("/opt/program".to_owned()));
    let runner =
        PortableRunner::to(&fake.endpoint).environment(place).job_name("doubles").arguments(["--n=1"]);
    run(&runner).unwrap();
    let prepared = fake.given.prepared.lock().unwrap().take().unwrap();
    assert_eq!(prepared.job_name, "doubles");
    let options = prepared.pipeline_options.unwrap();
    assert_eq!(super::text_option(&options, super::ARGUMENTS), Some(r#"["--n=1"]"#));
    let environments = prepared.pipeline.unwrap().components.unwrap().environments;
    assert_eq!(environments[crate::pipeline::ENVIRONMENT].urn, urns::environment::PROCESS);
}
