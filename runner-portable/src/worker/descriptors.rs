//! Descriptors of bundles, each asked for once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use purlin_sdk::{PipelineError, exec::RunEnv};
use tokio::sync::OnceCell;

use super::{
    WorkerGraph,
    channel::{Channel, MAX_MESSAGE},
    plan::Plan,
    pool::Stage,
};
use crate::proto::fn_execution::{
    GetProcessBundleDescriptorRequest, ProcessBundleDescriptor, beam_fn_control_client::BeamFnControlClient,
};

/// A descriptor that is known, or asked for.
type Entry = Arc<OnceCell<Arc<Stage>>>;

/// The stages by their descriptors' ids.
pub(super) struct Descriptors {
    graph: Arc<WorkerGraph>,
    channel: Channel,
    known: Mutex<HashMap<String, Entry>>,
}

impl Descriptors {
    pub(super) fn new(graph: Arc<WorkerGraph>, channel: Channel) -> Descriptors {
        Descriptors { graph, channel, known: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stage of the descriptor `id`; asks the engine for it at the first call.
    ///
    /// # Errors
    /// When the engine does not have it, or this worker cannot run it.
    pub(super) async fn stage(&self, id: &str) -> Result<Arc<Stage>, PipelineError> {
        let entry = self.lock().entry(id.to_owned()).or_default().clone();
        let stage = entry.get_or_try_init(|| async {
            let mut client =
                BeamFnControlClient::new(self.channel.clone()).max_decoding_message_size(MAX_MESSAGE);
            let request = GetProcessBundleDescriptorRequest { process_bundle_descriptor_id: id.to_owned() };
            let answer = client.get_process_bundle_descriptor(request).await.map_err(|e| {
                PipelineError::runner(format!(
                    "the engine does not tell what the bundle `{id}` is: {}",
                    e.message()
                ))
            })?;
            self.read(&answer.into_inner())
        });
        stage.await.cloned()
    }

    /// Takes a descriptor that the engine sent without being asked.
    ///
    /// # Errors
    /// When this worker cannot run it.
    pub(super) fn register(&self, descriptor: &ProcessBundleDescriptor) -> Result<(), PipelineError> {
        let stage = self.read(descriptor)?;
        let entry = Arc::new(OnceCell::new_with(Some(stage)));
        self.lock().insert(descriptor.id.clone(), entry);
        Ok(())
    }

    fn read(&self, descriptor: &ProcessBundleDescriptor) -> Result<Arc<Stage>, PipelineError> {
        Plan::new(descriptor, &self.graph)
            .map(|plan| Arc::new(Stage::new(plan)))
            .map_err(PipelineError::runner)
    }

    /// Tears all idle kernels down.
    ///
    /// # Errors
    /// The first of those that fail.
    pub(super) fn teardown(&self, env: &Arc<RunEnv>) -> Result<(), PipelineError> {
        let all: Vec<Entry> = self.lock().values().cloned().collect();
        let mut torn = Ok(());
        for stage in all.iter().filter_map(|entry| entry.get()) {
            torn = torn.and(stage.teardown(env));
        }
        torn
    }
}
