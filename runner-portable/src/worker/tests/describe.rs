//! Descriptors of bundles, and elements as an engine sends them.

use std::collections::HashMap;

use prost::Message;
use purlin_sdk::{
    Element, Timestamp,
    coder::{Coder, CoderSpec, Context, WindowedValue, WindowedValueCoder, default_coder},
    window::{PaneInfo, Window},
};

use super::engine::{Engine, FINGERPRINT};
use crate::{
    payload::FnPayload,
    proto::{
        fn_execution::{ProcessBundleDescriptor, RemoteGrpcPort},
        pipeline::{
            ApiServiceDescriptor, Coder as ProtoCoder, CombinePayload, FunctionSpec, PCollection, PTransform,
            ParDoPayload, SideInput, TimerFamilySpec, WindowingStrategy,
        },
    },
    urns::{self, transform},
};

/// A descriptor that is being put together. All windows are global.
pub(super) struct Description {
    descriptor: ProcessBundleDescriptor,
    url: String,
}

pub(super) fn prefixed(of: CoderSpec) -> CoderSpec {
    CoderSpec::LengthPrefix(Box::new(of))
}

pub(super) fn kv(key: CoderSpec, value: CoderSpec) -> CoderSpec {
    CoderSpec::Kv(Box::new(key), Box::new(value))
}

fn named(names: &[(&str, &str)]) -> HashMap<String, String> {
    names.iter().map(|(name, id)| ((*name).to_owned(), (*id).to_owned())).collect()
}

fn function(path: &str) -> FunctionSpec {
    let payload = FnPayload { path: path.to_owned(), fingerprint: FINGERPRINT.to_owned() };
    FunctionSpec { urn: urns::DOFN.to_owned(), payload: payload.to_bytes().unwrap() }
}

impl Description {
    pub(super) fn new(id: &str, engine: &Engine) -> Description {
        let descriptor = ProcessBundleDescriptor { id: id.to_owned(), ..ProcessBundleDescriptor::default() };
        let mut made = Description { descriptor, url: engine.url.clone() };
        let window_coder_id = made.coder(&CoderSpec::GlobalWindow);
        let strategy = WindowingStrategy { window_coder_id, ..WindowingStrategy::default() };
        made.descriptor.windowing_strategies.insert("global".to_owned(), strategy);
        made
    }

    fn coder(&mut self, spec: &CoderSpec) -> String {
        let id = spec.to_string();
        let component_coder_ids = spec.components().into_iter().map(|part| self.coder(part)).collect();
        let function = FunctionSpec { urn: spec.urn().to_owned(), payload: spec.payload().to_vec() };
        let coder = ProtoCoder { spec: Some(function), component_coder_ids };
        self.descriptor.coders.insert(id.clone(), coder);
        id
    }

    pub(super) fn collection(mut self, id: &str, coder: &CoderSpec) -> Description {
        let coder_id = self.coder(coder);
        let collection = PCollection {
            unique_name: id.to_owned(),
            coder_id,
            windowing_strategy_id: "global".to_owned(),
            ..PCollection::default()
        };
        self.descriptor.pcollections.insert(id.to_owned(), collection);
        self
    }

    fn port(&mut self, collection: &str) -> Vec<u8> {
        let value = self.descriptor.pcollections[collection].coder_id.clone();
        let id = format!("windowed {value}");
        let spec = FunctionSpec { urn: "beam:coder:windowed_value:v1".to_owned(), payload: Vec::new() };
        let component_coder_ids = vec![value, "global_window".to_owned()];
        self.descriptor.coders.insert(id.clone(), ProtoCoder { spec: Some(spec), component_coder_ids });
        let place = ApiServiceDescriptor { url: self.url.clone(), authentication: None };
        RemoteGrpcPort { api_service_descriptor: Some(place), coder_id: id }.encode_to_vec()
    }

    fn transform(
        mut self,
        id: &str,
        (urn, payload): (&str, Vec<u8>),
        inputs: &[(&str, &str)],
        outputs: &[(&str, &str)],
    ) -> Description {
        let transform = PTransform {
            unique_name: format!("unique {id}"),
            spec: Some(FunctionSpec { urn: urn.to_owned(), payload }),
            inputs: named(inputs),
            outputs: named(outputs),
            ..PTransform::default()
        };
        self.descriptor.transforms.insert(id.to_owned(), transform);
        self
    }

    /// Where `collection` comes in.
    pub(super) fn source(mut self, id: &str, collection: &str) -> Description {
        let port = self.port(collection);
        self.transform(id, (transform::SOURCE, port), &[], &[("out", collection)])
    }

    /// Where `collection` goes out.
    pub(super) fn sink(mut self, id: &str, collection: &str) -> Description {
        let port = self.port(collection);
        self.transform(id, (transform::SINK, port), &[("in", collection)], &[])
    }

    pub(super) fn flatten(self, id: &str, inputs: &[(&str, &str)], output: &str) -> Description {
        self.transform(id, (transform::FLATTEN, Vec::new()), inputs, &[("out", output)])
    }

    /// The transform at `path`, as a ParDo.
    pub(super) fn par_do(self, path: &str, input: &str, outputs: &[(&str, &str)]) -> Description {
        self.part(&format!("renamed {path}"), transform::PARDO, path, input, outputs)
    }

    /// A part of the transform at `path`.
    pub(super) fn part(
        self,
        id: &str,
        urn: &str,
        path: &str,
        input: &str,
        outputs: &[(&str, &str)],
    ) -> Description {
        self.function(id, (urn, urns::DOFN), (path, FINGERPRINT), input, outputs)
    }

    pub(super) fn function(
        self,
        id: &str,
        (urn, function): (&str, &str),
        (path, fingerprint): (&str, &str),
        input: &str,
        outputs: &[(&str, &str)],
    ) -> Description {
        let payload = FnPayload { path: path.to_owned(), fingerprint: fingerprint.to_owned() };
        let function = FunctionSpec { urn: function.to_owned(), payload: payload.to_bytes().unwrap() };
        let payload = if urn.contains("combine") {
            CombinePayload { combine_fn: Some(function), ..CombinePayload::default() }.encode_to_vec()
        } else {
            ParDoPayload { do_fn: Some(function), ..ParDoPayload::default() }.encode_to_vec()
        };
        self.transform(id, (urn, payload), &[("in", input)], outputs)
    }

    /// Where the engine has state.
    pub(super) fn state(mut self, url: &str) -> Description {
        let url = url.to_owned();
        self.descriptor.state_api_service_descriptor =
            Some(ApiServiceDescriptor { url, authentication: None });
        self
    }

    /// The keyed DoFn at `path`, with timers of these families by this coder.
    pub(super) fn keyed(
        mut self,
        path: &str,
        input: &str,
        outputs: &[(&str, &str)],
        families: &[&str],
        timer: &CoderSpec,
    ) -> Description {
        let url = self.url.clone();
        self.descriptor.timer_api_service_descriptor =
            Some(ApiServiceDescriptor { url, authentication: None });
        let timer_family_coder_id = self.coder(timer);
        let family = |name: &&str| {
            let spec =
                TimerFamilySpec { timer_family_coder_id: timer_family_coder_id.clone(), time_domain: 1 };
            ((*name).to_owned(), spec)
        };
        let timer_family_specs = families.iter().map(family).collect();
        let payload =
            ParDoPayload { do_fn: Some(function(path)), timer_family_specs, ..ParDoPayload::default() };
        let payload = (transform::PARDO, payload.encode_to_vec());
        self.transform(&format!("renamed {path}"), payload, &[("in", input)], outputs)
    }

    /// The ParDo at `path`, which reads the collection `side` as the view at `view`.
    pub(super) fn par_do_with_side(
        self,
        path: &str,
        input: &str,
        outputs: &[(&str, &str)],
        (view, side): (&str, &str),
    ) -> Description {
        let name = format!("side:{view}");
        let side_inputs = HashMap::from([(name.clone(), SideInput::default())]);
        let payload = ParDoPayload { do_fn: Some(function(path)), side_inputs, ..ParDoPayload::default() };
        let payload = (transform::PARDO, payload.encode_to_vec());
        self.transform(&format!("renamed {path}"), payload, &[("in", input), (&name, side)], outputs)
    }

    pub(super) fn unknown(self, id: &str, urn: &str) -> Description {
        self.transform(id, (urn, Vec::new()), &[], &[])
    }

    pub(super) fn done(self) -> ProcessBundleDescriptor {
        self.descriptor
    }
}

/// What `coder` writes of `values`, in the global window at times of their own.
pub(super) fn written<T: Element>(values: &[(T, i64)]) -> Vec<u8> {
    let coder = WindowedValueCoder::new(default_coder::<T>().unwrap(), CoderSpec::GlobalWindow).unwrap();
    let mut out = Vec::new();
    for (value, ms) in values {
        let at = Timestamp::saturating_from_millis(*ms);
        let windows = [Window::Global];
        coder.encode_parts(value, at, &windows, PaneInfo::NO_FIRING, Context::Nested, &mut out).unwrap();
    }
    out
}

/// The values in `bytes`, with their times.
pub(super) fn read<T: Element>(mut bytes: &[u8]) -> Vec<(T, i64)> {
    let coder = WindowedValueCoder::new(default_coder::<T>().unwrap(), CoderSpec::GlobalWindow).unwrap();
    let mut values = Vec::new();
    while !bytes.is_empty() {
        let WindowedValue { value, timestamp, .. } = coder.decode(&mut bytes, Context::Nested).unwrap();
        values.push((value, timestamp.as_millis()));
    }
    values
}
