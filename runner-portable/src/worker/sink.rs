//! The last kernels of a stage: what sends to the engine.

use std::sync::Arc;

use purlin_sdk::{
    DoFnError, Phase, PipelineError, Step,
    batch::ErasedBatch,
    exec::{BundleCx, Downstream, Kernel, KernelResult, WireCodec},
};

use super::io::CurrentIo;

/// Elements are sent when they are this many bytes. Below gRPC's usual limit of 4 MiB, whatever the engine's is.
const FLUSH: usize = 1 << 20;

/// One place where elements go out.
pub(super) struct SinkPort {
    /// The transform in the descriptor.
    pub(super) transform: String,
    /// Where they go.
    pub(super) url: String,
    /// What writes them.
    pub(super) codec: Arc<dyn WireCodec>,
    /// Whom to name when they cannot be written: what makes them.
    pub(super) step: Step,
}

pub(super) struct SinkKernel {
    port: Arc<SinkPort>,
    io: CurrentIo,
    buffer: Vec<u8>,
}

impl SinkKernel {
    pub(super) fn new(port: Arc<SinkPort>, io: CurrentIo) -> SinkKernel {
        SinkKernel { port, io, buffer: Vec::new() }
    }
}

impl Kernel for SinkKernel {
    fn run(&mut self, input: &mut dyn ErasedBatch, _down: &mut Downstream<'_>) -> KernelResult {
        let io = self.io.get()?;
        let SinkPort { transform, url, codec, step } = &*self.port;
        let mut gone = None;
        let written = codec.write(input, &mut self.buffer, &mut |buffer| {
            if buffer.len() < FLUSH {
                return Ok(());
            }
            io.send_data(url, transform, std::mem::take(buffer), false).map_err(|e| {
                gone = Some(e);
                DoFnError::msg("the stream is gone")
            })
        });
        match (written, gone) {
            (Ok(()), _) => Ok(()),
            (Err(_), Some(gone)) => Err(gone),
            (Err(e), None) => Err(PipelineError::user(step.clone(), Phase::Coder, e)),
        }
    }

    fn seal(&mut self, _cx: &BundleCx) -> KernelResult {
        let io = self.io.get()?;
        io.send_data(&self.port.url, &self.port.transform, std::mem::take(&mut self.buffer), true)
    }
}
