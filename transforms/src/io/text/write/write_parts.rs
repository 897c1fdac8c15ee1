//! From lines to parts.

use std::collections::VecDeque;

use purlin_sdk::{
    BundleContext, BundleEmitter, DoFn, Emitter, PerWorker, ProcessContext, Result, SetupContext, named,
    window::Window,
};
use serde::{Deserialize, Serialize};

use super::part::{Part, PartWriter};
use crate::io::files::WriteOptions;

/// Files that a bundle has open at once; of more windows the one that was begun first is finished.
const MAX_OPEN: usize = 20;

/// Writes the lines of a bundle to a temporary file for each window.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct WriteParts {
    base: String,
    options: WriteOptions,
    bundle: PerWorker<Bundle>,
}

/// What a bundle has written so far.
#[derive(Default)]
struct Bundle {
    /// The one that was written to last is looked at first.
    open: VecDeque<(Window, PartWriter)>,
    done: Vec<(Window, Part)>,
}

impl WriteParts {
    pub(super) fn new(base: String, options: WriteOptions) -> WriteParts {
        WriteParts { base, options, bundle: PerWorker::empty() }
    }

    fn writer<'b>(
        bundle: &'b mut Bundle,
        window: &Window,
        base: &str,
        options: &WriteOptions,
    ) -> Result<&'b mut PartWriter> {
        let at = match bundle.open.iter().rposition(|(w, _)| w == window) {
            Some(at) => at,
            None => {
                if bundle.open.len() >= MAX_OPEN
                    && let Some((window, writer)) = bundle.open.pop_front()
                {
                    bundle.done.push((window, writer.finish()?));
                }
                bundle.open.push_back((window.clone(), PartWriter::create(base, options)?));
                bundle.open.len() - 1
            }
        };
        Ok(&mut bundle.open[at].1)
    }
}

named::register!(WriteParts);

impl DoFn for WriteParts {
    type Input = String;
    type Output = Part;

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.bundle.fill(Bundle::default());
        Ok(())
    }

    fn process(&mut self, line: String, cx: &ProcessContext<'_>, _: &mut Emitter<'_, Part>) -> Result {
        let bundle = self.bundle.get()?;
        WriteParts::writer(bundle, &cx.window(), &self.base, &self.options)?.write(line.as_bytes())?;
        Ok(())
    }

    fn finish_bundle(&mut self, _: &BundleContext<'_>, out: &mut BundleEmitter<'_, Part>) -> Result {
        let Some(Bundle { open, mut done }) = self.bundle.take() else { return Ok(()) };
        for (window, writer) in open {
            done.push((window, writer.finish()?));
        }
        for (window, part) in done {
            out.emit_in(part, window.max_timestamp(), window);
        }
        Ok(())
    }

    /// After a failure the temporary files of the bundle are still open.
    fn teardown(&mut self, _: &SetupContext<'_>) -> Result {
        drop(self.bundle.take());
        Ok(())
    }
}
