//! Why nothing goes on.

use std::fmt::Write;

use crate::Engine;

impl Engine {
    /// What every stage waits for that is not idle.
    pub(crate) fn stuck(&self) -> String {
        let mut text = String::from("the pipeline cannot go on, and it is not done:");
        for (stage, state) in self.plan.stages.iter().zip(&self.stages).filter(|(_, s)| !s.is_idle()) {
            let _ = write!(text, "\n  {}: input watermark {}, ", stage.step, state.progress.input());
            let _ = match state.blocked.values().map(Vec::len).sum::<usize>() {
                0 => write!(text, "{} batches pending", state.queue.len()),
                n => {
                    let views: Vec<&str> = stage.views.iter().map(|(path, _)| &**path).collect();
                    write!(text, "{n} batches wait for the side inputs {}", views.join(", "))
                }
            };
        }
        text
    }
}
