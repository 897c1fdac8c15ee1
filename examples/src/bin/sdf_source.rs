//! A source of one's own, as a splittable DoFn: records of a fixed length in a file.
//!
//! The work on a file is a *restriction*: a range of records. `process` claims one after the other; when the runner has
//! idle workers it splits off what is not claimed yet, and a claim that fails says that the rest is somebody else's.
//! `SdfTester::check_laws` tries all splits at all positions.
//!
//! ```text
//! cargo run -p purlin-examples --bin sdf_source -- --file=Cargo.lock --length=64
//! ```

use std::{
    fs::{self, File},
    io::{BufReader, Read, Seek, SeekFrom},
};

use purlin::{
    prelude::*,
    sdf::{
        Claims, Continuation, Monotonic, OffsetRange, OffsetRangeTracker, SdfContext, SplittableDoFn,
        WatermarkStateOf,
    },
};

/// Adds up the bytes of the records of a file
#[derive(clap::Args, Clone)]
struct Options {
    /// The file
    #[arg(long)]
    file: String,

    /// How many bytes a record has; the last one may have fewer
    #[arg(long, default_value_t = 64)]
    length: u32,
}

/// Reads the records of each file that comes in.
#[derive(Clone)]
struct ReadRecords {
    length: u32,
}

impl SplittableDoFn for ReadRecords {
    type Input = String;
    type Output = Vec<u8>;
    type Tracker = OffsetRangeTracker;
    type Estimator = Monotonic;

    fn initial_restriction(&self, file: &String, _: &SdfContext<'_>) -> Result<OffsetRange> {
        let records = fs::metadata(file)?.len().div_ceil(self.length.into());
        Ok(OffsetRange::new(0, records.try_into()?))
    }

    fn split(
        &self,
        _: &String,
        r: OffsetRange,
        desired: usize,
        _: &SdfContext<'_>,
    ) -> Result<Vec<OffsetRange>> {
        Ok(r.split(desired))
    }

    fn new_tracker(&self, _: &String, r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(r))
    }

    fn initial_watermark_state(&self, _: &String, _: &OffsetRange, cx: &SdfContext<'_>) -> Result<Timestamp> {
        Ok(cx.timestamp())
    }

    fn new_watermark_estimator(
        &self,
        state: WatermarkStateOf<Self>,
        _: &String,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Monotonic> {
        Ok(Monotonic::new(state))
    }

    fn process(
        &mut self,
        file: &String,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, Vec<u8>>,
    ) -> Result<Continuation> {
        let mut record = claims.restriction().start;
        let mut reader = BufReader::new(File::open(file)?);
        reader.seek(SeekFrom::Start(u64::try_from(record)? * u64::from(self.length)))?;
        // First the claim, then the work: what is not claimed may be somebody else's.
        while claims.try_claim(record) {
            let mut bytes = Vec::new();
            reader.by_ref().take(self.length.into()).read_to_end(&mut bytes)?;
            out.emit(bytes);
            record += 1;
        }
        Ok(Continuation::Stop)
    }
}

fn build(p: &Pipeline, options: &Options) {
    let records = p
        .create("File", [options.file.clone()])
        .par_do_splittable("Read", ReadRecords { length: options.length });
    records.apply("Count", Count::globally()).map("PrintCount", |n| println!("records: {n}"));
    records
        .map("Bytes", |record| record.iter().map(|b| u64::from(*b)).sum::<u64>())
        .apply("Sum", Sum::globally())
        .map("PrintSum", |sum| println!("sum of bytes: {sum}"));
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}

#[cfg(test)]
mod tests {
    use purlin::testing::SdfTester;

    use super::*;

    fn tester() -> SdfTester<ReadRecords> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/data/README.md").to_owned();
        SdfTester::of(ReadRecords { length: 10 }).element(file)
    }

    #[test]
    fn all_splits_give_all_records() {
        tester().check_laws().unwrap();
    }

    #[test]
    fn what_is_split_off_is_read_by_somebody_else() {
        let mut all = tester();
        let whole = all.run_to_end().unwrap().output();

        let mut parts = tester();
        parts.split_at(2, 0.5).unwrap();
        let first = parts.output();
        assert!(2 <= first.len() && first.len() < whole.len(), "{} of {}", first.len(), whole.len());
        let second = parts.run_to_end().unwrap().output();
        assert_eq!([first, second].concat(), whole);
    }
}
