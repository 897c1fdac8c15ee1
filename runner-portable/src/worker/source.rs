//! The first kernel of a stage: takes what the engine sends.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use purlin_sdk::{
    Phase, PipelineError, Step,
    batch::{BATCH_SIZE, ErasedBatch},
    exec::{BundleInput, Downstream, Kernel, KernelResult, WireCodec},
};

use super::{
    inbox::Piece,
    io::{BundleIo, CurrentIo},
    timers::KeyedInstance,
};

/// One place where elements come in.
pub(super) struct SourcePort {
    /// The transform in the descriptor.
    pub(super) transform: String,
    /// What reads them.
    pub(super) codec: Arc<dyn WireCodec>,
    /// Whom to name when they cannot be read: what takes them.
    pub(super) step: Step,
    /// Whether elements are handed on one by one, since each may be split.
    pub(super) one_by_one: bool,
}

pub(super) struct SourceKernel {
    ports: Arc<[SourcePort]>,
    timers: usize,
    keyed: Arc<[KeyedInstance]>,
    io: CurrentIo,
}

/// How many elements to hand on at once: what was handed on cannot be given back, so slow ones go by few.
struct Pace(usize);

impl Pace {
    const GOAL: Duration = Duration::from_millis(5);

    fn adapt(&mut self, taken: Duration) {
        self.0 = if taken < Pace::GOAL { (self.0 * 2).min(BATCH_SIZE) } else { (self.0 / 2).max(1) };
    }
}

impl SourceKernel {
    /// `timers` families of timers come with a bundle, for `keyed`.
    pub(super) fn new(
        ports: Arc<[SourcePort]>,
        timers: usize,
        keyed: Arc<[KeyedInstance]>,
        io: CurrentIo,
    ) -> SourceKernel {
        SourceKernel { ports, timers, keyed, io }
    }

    fn data(
        &self,
        n: usize,
        mut bytes: &[u8],
        io: &BundleIo,
        pace: &mut Pace,
        down: &mut Downstream<'_>,
    ) -> KernelResult {
        let port = &self.ports[n];
        while !bytes.is_empty() {
            let most = if port.one_by_one { 1 } else { pace.0 };
            let mut batch = port.codec.read(&mut bytes, most).map_err(|e| {
                PipelineError::user(port.step.clone(), Phase::Coder, e)
                    .with_note(format!("the bytes came from the engine, for `{}`", port.transform))
            })?;
            let granted = io.begin(n, batch.len());
            if granted < batch.len() {
                drop(batch.split_off(granted));
            }
            if batch.is_empty() {
                // The rest is somebody else's.
                return Ok(());
            }
            let began = Instant::now();
            down.send_erased(n, &mut *batch)?;
            down.pump()?;
            io.end(n);
            pace.adapt(began.elapsed());
            if down.cx().control.is_cancelled() {
                return Err(PipelineError::cancelled());
            }
        }
        Ok(())
    }
}

impl Kernel for SourceKernel {
    fn run(&mut self, input: &mut dyn ErasedBatch, _down: &mut Downstream<'_>) -> KernelResult {
        drop(input.take());
        Ok(())
    }

    fn run_root(&mut self, _input: BundleInput, down: &mut Downstream<'_>) -> KernelResult {
        let io = self.io.get()?;
        let numbers: HashMap<&str, usize> =
            self.ports.iter().enumerate().map(|(i, port)| (port.transform.as_str(), i)).collect();
        let mut open = self.ports.len() + self.timers;
        let mut pace = Pace(16);
        while open > 0 {
            match io.inbox.next().map_err(PipelineError::runner)? {
                Piece::Data { transform, bytes, is_last } => {
                    let Some(&n) = numbers.get(transform.as_str()) else {
                        return Err(PipelineError::runner(format!(
                            "the engine sent data for `{transform}`, where none come in"
                        )));
                    };
                    self.data(n, &bytes, &io, &mut pace, down)?;
                    if is_last {
                        io.reading()[n].over = true;
                        open -= 1;
                    }
                }
                Piece::Timers { transform, family, bytes, is_last } => {
                    let keyed = self.keyed.iter().find(|keyed| keyed.is_of(&transform));
                    if let Some(keyed) = keyed {
                        keyed.fire(family, bytes);
                    } else if !bytes.is_empty() {
                        return Err(PipelineError::runner(format!(
                            "the engine fired timers of `{family}` for `{transform}`, which has none"
                        )));
                    }
                    open -= usize::from(is_last);
                }
            }
        }
        Ok(())
    }
}
