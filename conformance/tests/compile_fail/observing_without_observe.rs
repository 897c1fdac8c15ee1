//! An estimator that says that it observes must do so.
use purlin_sdk::{
    Timestamp,
    sdf::{Observing, WatermarkEstimator},
};

struct Forgetful(Timestamp);

impl WatermarkEstimator for Forgetful {
    type State = Timestamp;
    type Kind = Observing;
    fn current_watermark(&mut self) -> Timestamp {
        self.0
    }
    fn state(&self) -> Timestamp {
        self.0
    }
}

fn main() {}
