//! The stream of state against one that answers as an engine may.

use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
    sync::{Arc, Mutex},
};

use purlin_sdk::exec::{CellAddress, StateAccess};
use tokio::{net::TcpListener, runtime::Runtime, sync::mpsc};
use tokio_stream::{
    Stream, StreamExt,
    wrappers::{TcpListenerStream, UnboundedReceiverStream},
};
use tonic::{Request, Response as Reply, Status, Streaming, transport::Server};

use super::{BundleState, Cells, StatePlane};
use crate::{
    proto::fn_execution::{
        StateAppendResponse, StateClearResponse, StateGetResponse, StateKey, StateRequest, StateResponse,
        beam_fn_state_server::{BeamFnState, BeamFnStateServer},
        state_key::{BagUserState, Type},
        state_request, state_response,
    },
    worker::channel::WorkerId,
};

/// Bags in memory, given out three bytes at a time. Answers wait until `together` requests are there, and come in the
/// order that is the opposite of that in which they were asked for.
#[derive(Clone, Default)]
pub(in crate::worker) struct Fake {
    pub(in crate::worker) bags: Arc<Mutex<HashMap<StateKey, Vec<u8>>>>,
    pub(in crate::worker) asked: Arc<Mutex<Vec<StateRequest>>>,
    pub(in crate::worker) workers: Arc<Mutex<Vec<String>>>,
    pub(in crate::worker) together: usize,
}

impl Fake {
    /// Serves, and gives the address.
    pub(in crate::worker) async fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = listener.local_addr().unwrap().to_string();
        let server = Server::builder().add_service(BeamFnStateServer::new(self.clone()));
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        url
    }

    /// What was asked for and changed, without what was given.
    pub(in crate::worker) fn asked(&self) -> Vec<StateRequest> {
        self.asked.lock().unwrap().clone()
    }

    fn answer(&self, request: StateRequest) -> Option<StateResponse> {
        self.asked.lock().unwrap().push(request.clone());
        let StateRequest { id, state_key, request, .. } = request;
        let key = state_key.unwrap();
        let mut error = String::new();
        if let Some(Type::BagUserState(BagUserState { user_state_id, .. })) = &key.r#type {
            match user_state_id.as_str() {
                "refused" => error = "no such state".to_owned(),
                "gone" => return None,
                _ => {}
            }
        }
        let mut bags = self.bags.lock().unwrap();
        let response = match request.unwrap() {
            state_request::Request::Get(get) => {
                let all = bags.get(&key).cloned().unwrap_or_default();
                let from: usize = String::from_utf8(get.continuation_token).unwrap().parse().unwrap_or(0);
                let to = (from + 3).min(all.len());
                let token = if to < all.len() { to.to_string() } else { String::new() };
                let data = all[from..to].to_vec();
                let continuation_token = token.into_bytes();
                state_response::Response::Get(StateGetResponse { continuation_token, data })
            }
            state_request::Request::Append(append) => {
                bags.entry(key).or_default().extend(append.data);
                state_response::Response::Append(StateAppendResponse {})
            }
            state_request::Request::Clear(_) => {
                bags.remove(&key);
                state_response::Response::Clear(StateClearResponse {})
            }
        };
        Some(StateResponse { id, error, response: Some(response) })
    }
}

type Answers = Pin<Box<dyn Stream<Item = Result<StateResponse, Status>> + Send>>;

#[tonic::async_trait]
impl BeamFnState for Fake {
    type StateStream = Answers;

    async fn state(&self, request: Request<Streaming<StateRequest>>) -> Result<Reply<Answers>, Status> {
        let worker = request.metadata().get("worker_id").and_then(|w| w.to_str().ok()).unwrap_or_default();
        self.workers.lock().unwrap().push(worker.to_owned());
        let mut requests = request.into_inner();
        let (answers, waiting) = mpsc::unbounded_channel();
        let fake = self.clone();
        tokio::spawn(async move {
            let mut held = VecDeque::new();
            while let Some(Ok(request)) = requests.next().await {
                let Some(answer) = fake.answer(request) else { return };
                held.push_front(answer);
                if held.len() >= fake.together {
                    held.drain(..).for_each(|answer| drop(answers.send(Ok(answer))));
                }
            }
        });
        Ok(Reply::new(Box::pin(UnboundedReceiverStream::new(waiting))))
    }
}

/// A fake, and a bundle's state with it.
struct Place {
    runtime: Runtime,
    fake: Fake,
    plane: Arc<StatePlane>,
    url: String,
}

impl Place {
    fn new(together: usize) -> Place {
        let runtime = Runtime::new().unwrap();
        let fake = Fake { together, ..Fake::default() };
        let url = runtime.block_on(fake.serve());
        Place { runtime, fake, plane: Arc::new(StatePlane::new(WorkerId::new("w7").unwrap())), url }
    }

    fn bundle(&self) -> Arc<BundleState> {
        Arc::new(self.runtime.block_on(self.plane.of(&self.url, "i1")).unwrap())
    }
}

fn cell(name: &str, key: &str) -> CellAddress {
    CellAddress { cell: name.into(), window: b"w"[..].into(), key: key.as_bytes().into() }
}

#[test]
fn many_cells_are_asked_for_at_once_and_each_has_its_own() {
    // Were each asked for when the one before is there, the first would wait for ever.
    let place = Place::new(4);
    let cells = Cells::new(place.bundle(), "t");
    let names = ["a", "b", "c", "d"];
    for (i, key) in names.iter().enumerate() {
        let bytes = vec![b'0' + i as u8; if *key == "c" { 2 } else { 3 }];
        cells.append(&cell("bag", key), bytes).unwrap();
    }
    let all = cells.get(&names.map(|key| cell("bag", key))).unwrap();
    assert_eq!(all, [&b"000"[..], b"111", b"22", b"333"]);
    let asked = place.fake.asked.lock().unwrap();
    assert!(asked.iter().all(|request| request.instruction_id == "i1"));
    let Some(Type::BagUserState(first)) = asked[0].state_key.clone().unwrap().r#type else { panic!() };
    assert_eq!((&*first.transform_id, &*first.user_state_id), ("t", "bag"));
    assert_eq!((&*first.window, &*first.key), (&b"w"[..], &b"a"[..]));
    assert_eq!(*place.fake.workers.lock().unwrap(), ["w7"], "one stream, of this worker");
}

#[test]
fn what_comes_in_parts_is_put_together() {
    let place = Place::new(1);
    let cells = Cells::new(place.bundle(), "t");
    cells.append(&cell("bag", "a"), b"01234567".to_vec()).unwrap();
    cells.append(&cell("bag", "b"), b"xyz".to_vec()).unwrap();
    let all = cells.get(&[cell("bag", "a"), cell("bag", "b"), cell("bag", "none")]).unwrap();
    assert_eq!(all, [&b"01234567"[..], b"xyz", b""]);
    cells.clear(&cell("bag", "a")).unwrap();
    cells.append(&cell("bag", "a"), b"9".to_vec()).unwrap();
    assert_eq!(cells.get(&[cell("bag", "a")]).unwrap(), [b"9"]);
}

#[test]
fn a_change_that_is_refused_fails_the_bundle_that_made_it() {
    let place = Place::new(1);
    let (first, second) = (place.bundle(), place.bundle());
    Cells::new(first.clone(), "t").append(&cell("refused", "a"), b"1".to_vec()).unwrap();
    Cells::new(second.clone(), "t").append(&cell("bag", "a"), b"1".to_vec()).unwrap();
    let e = first.settle().unwrap_err().to_string();
    assert_eq!(e, "the engine does not take state: no such state");
    second.settle().unwrap();
    let e = Cells::new(second, "t").get(&[cell("refused", "a")]).unwrap_err().to_string();
    assert_eq!(e, "the engine does not give state: no such state");
}

#[test]
fn an_engine_that_goes_is_told_to_who_waits_and_the_next_one_has_another_stream() {
    let place = Place::new(1);
    let cells = Cells::new(place.bundle(), "t");
    let e = cells.get(&[cell("bag", "a"), cell("gone", "a")]).unwrap_err().to_string();
    assert!(e.contains("stream of state is gone: the engine closed it"), "{e}");
    let e = cells.append(&cell("bag", "a"), Vec::new()).unwrap_err().to_string();
    assert!(e.contains("is gone"), "{e}");
    assert_eq!(Cells::new(place.bundle(), "t").get(&[cell("bag", "a")]).unwrap(), [b""]);
    assert_eq!(place.fake.workers.lock().unwrap().len(), 2);
}

#[test]
fn who_waits_is_told_when_the_worker_ends() {
    // Two requests are answered together, and only one comes.
    let place = Place::new(2);
    let cells = Cells::new(place.bundle(), "t");
    let waiting = std::thread::spawn(move || cells.get(&[cell("bag", "a")]).unwrap_err().to_string());
    while place.fake.asked.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    place.runtime.block_on(place.plane.close());
    let e = waiting.join().unwrap();
    assert!(e.contains("the worker ends"), "{e}");
}
