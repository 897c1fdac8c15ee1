//! Which queries there can be, in which mode.

use super::{
    program::{execute, same_rows},
    recorded::Recorder,
};
use crate::golden::{Datum, Setup};

pub(super) fn run(document: &Datum, setup: &Setup) -> Result<(), String> {
    for case in document.need("cases")?.to_list()? {
        let mode = case.need("mode")?.to_text()?;
        let ok = case.need("ok")?.to_bool()?;
        let recorder = Recorder::default();
        let outcome = execute(document, mode, setup, &recorder);
        match (outcome, ok) {
            (Err(_), false) => {}
            (Ok(()), false) => {
                return Err(format!("in {mode} mode it should fail like {}", case.need("error")?));
            }
            (Err(e), true) => return Err(format!("in {mode} mode it failed: {e}")),
            (Ok(()), true) => {
                let recorded = recorder.lock();
                let outputs = case.need("outputs")?.to_list()?;
                if outputs.len() != recorded.batches.len() {
                    return Err(format!(
                        "in {mode} mode there are {} batches, and should be {}",
                        recorded.batches.len(),
                        outputs.len()
                    ));
                }
                for (output, batch) in outputs.iter().zip(&recorded.batches) {
                    same_rows(output, batch, &recorded).map_err(|e| format!("in {mode} mode: {e}"))?;
                }
            }
        }
    }
    Ok(())
}
