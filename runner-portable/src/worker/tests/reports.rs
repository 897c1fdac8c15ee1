//! Metrics, finalisation, logs, status.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use purlin_sdk::{DoFn, Emitter, Pipeline, ProcessContext, Result, coder::CoderSpec};

use super::{Description, Engine, describe::written};
use crate::proto::{
    fn_execution::{
        FinalizeBundleRequest, HarnessMonitoringInfosRequest, MonitoringInfosMetadataRequest,
        SampleDataRequest, instruction_request::Request, instruction_response::Response,
    },
    pipeline::MonitoringInfo,
};

static FINALIZED: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone)]
struct Counting;

impl DoFn for Counting {
    type Input = i64;
    type Output = i64;
    fn process(&mut self, n: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        cx.counter("seen").inc(n);
        cx.distribution("sizes").record(n);
        cx.gauge("last").set(n);
        cx.string_set("names").add("x");
        cx.bounded_trie("files").add(["data", "x"]);
        tracing::info!(number = n, "it saw one");
        tracing::debug!("nobody wants to know");
        cx.finalize(|| {
            FINALIZED.fetch_add(1, Ordering::SeqCst);
            Ok(())
        });
        out.emit(n);
        out.emit(n);
        Ok(())
    }
}

async fn counting() -> Engine {
    let p = Pipeline::new();
    p.create("Numbers", [1_i64]).par_do("Count", Counting);
    let engine = Engine::start(p.build().unwrap()).await;
    let stage = Description::new("count", &engine)
        .collection("numbers", &CoderSpec::VarInt)
        .collection("twice", &CoderSpec::VarInt)
        .source("src", "numbers")
        .par_do("Count", "numbers", &[("0", "twice")])
        .sink("snk", "twice")
        .done();
    engine.describe(stage);
    engine
}

/// By what they are called here: the last part of the URN, or the user's name, and what it is of.
fn by_name(infos: &[MonitoringInfo]) -> BTreeMap<String, Vec<u8>> {
    let name = |info: &MonitoringInfo| match (info.labels.get("NAME"), info.labels.get("PCOLLECTION")) {
        (Some(name), _) => format!("{} {name}", info.labels["NAMESPACE"]),
        (_, Some(collection)) => format!("count of {collection}"),
        _ => info.urn.clone(),
    };
    infos.iter().map(|info| (name(info), info.payload.clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_come_in_full_and_by_short_names() {
    let engine = counting().await;
    engine.process("i1", "count");
    engine.data("i1", "src", &written(&[(3_i64, 0), (200, 0)]), true).await;
    let done = engine.processed("i1").await;
    let infos = by_name(&done.monitoring_infos);
    assert_eq!(infos["Count seen"], b"\xcb\x01");
    assert_eq!(infos["Count sizes"], b"\x02\xcb\x01\x03\xc8\x01");
    assert!(infos["Count last"].ends_with(b"\xc8\x01"));
    assert_eq!(infos["Count names"], b"\0\0\0\x01\x01x");
    assert_eq!(crate::trie::decode(&infos["Count files"]).unwrap().paths(), [(vec!["data", "x"], false)]);
    assert_eq!((&infos["Count elements_in"][..], &infos["Count elements_out"][..]), (&[2][..], &[4][..]));
    assert_eq!((&infos["count of numbers"][..], &infos["count of twice"][..]), (&[2][..], &[4][..]));
    assert_eq!(infos["beam:metric:data_channel:read_index:v1"], [1]);
    let seen =
        done.monitoring_infos.iter().find(|i| i.labels.get("NAME").is_some_and(|n| n == "seen")).unwrap();
    assert_eq!(seen.labels["PTRANSFORM"], "renamed Count");
    // The same, once the engine has asked what the short names are.
    let monitoring_info_id: Vec<String> = done.monitoring_data.keys().cloned().collect();
    engine.send("m", Some(Request::MonitoringInfos(MonitoringInfosMetadataRequest { monitoring_info_id })));
    let Some(Response::MonitoringInfos(known)) = engine.answer("m").await.response else { panic!() };
    let named: Vec<MonitoringInfo> = done
        .monitoring_data
        .iter()
        .map(|(id, payload)| MonitoringInfo { payload: payload.clone(), ..known.monitoring_info[id].clone() })
        .collect();
    assert_eq!(by_name(&named), infos);
    // A second bundle's have the same names.
    engine.process("i2", "count");
    engine.data("i2", "src", &written(&[(3_i64, 0)]), true).await;
    let again = engine.processed("i2").await;
    assert!(again.monitoring_data.keys().all(|id| done.monitoring_data.contains_key(id)));
    engine.send("h", Some(Request::HarnessMonitoringInfos(HarnessMonitoringInfosRequest {})));
    assert!(matches!(engine.answer("h").await.response, Some(Response::HarnessMonitoringInfos(_))));
    engine.send("d", Some(Request::SampleData(SampleDataRequest::default())));
    assert!(matches!(engine.answer("d").await.response, Some(Response::SampleData(_))));
    // What user code says goes to the engine, with the bundle that it was said in.
    let entry = engine.log(|e| e.message == "it saw one number=200").await;
    assert_eq!((entry.instruction_id.as_str(), entry.severity), ("i1", 3));
    assert!(entry.log_location.contains("reports.rs"), "{entry:?}");
    // Callbacks run when the bundle is committed, and once.
    assert!(done.requires_finalization);
    assert_eq!(FINALIZED.load(Ordering::SeqCst), 0);
    for (id, so_far) in [("f1", 2), ("f2", 2)] {
        let request = FinalizeBundleRequest { instruction_id: "i1".to_owned() };
        engine.send(id, Some(Request::FinalizeBundle(request)));
        assert!(matches!(engine.answer(id).await.response, Some(Response::FinalizeBundle(_))));
        assert_eq!(FINALIZED.load(Ordering::SeqCst), so_far);
    }
    engine.end().await.unwrap();
}
