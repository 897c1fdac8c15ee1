//! The watermark of an estimator that finds it by itself cannot be set.
use purlin_sdk::{
    Result, Timestamp,
    sdf::{Claims, Monotonic, SplittableDoFn},
};

fn advance<D: SplittableDoFn<Estimator = Monotonic>>(claims: &Claims<'_, D>) -> Result {
    claims.set_watermark(Timestamp::EPOCH)
}

fn main() {}
