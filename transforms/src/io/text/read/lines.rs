//! From ranges of files to records.

use std::{marker::PhantomData, path::Path};

use purlin_sdk::{
    Emitter, ProcessContext, Result, SetupContext, Timestamp,
    sdf::{Claims, Continuation, EndEstimator, Manual, OffsetRange, SdfContext, SplittableDoFn},
};

use super::{RecordFormat, match_files::TextFile, paused::Paused};
use crate::{
    io::text::{LineReader, TextOptions, split_ranges},
    offsets::Offsets,
};

/// Decompressed bytes that a compressed one is taken for; it only moves progress.
const INFLATION: u64 = 4;

/// Where the data of a compressed file may end.
#[derive(Debug)]
pub(super) struct LikelyEnd(i64);

impl EndEstimator for LikelyEnd {
    fn estimate(&self) -> i64 {
        self.0
    }
}

/// Reads the records that start in a range of a file.
///
/// Positions are the offsets of the records' first bytes, in the file or in its decompressed data.
pub(super) struct ReadRecords<F> {
    options: TextOptions,
    paused: Paused,
    format: PhantomData<fn() -> F>,
}

impl<F> ReadRecords<F> {
    pub(super) fn new(options: TextOptions) -> ReadRecords<F> {
        ReadRecords { options, paused: Paused::default(), format: PhantomData }
    }
}

impl<F> Clone for ReadRecords<F> {
    fn clone(&self) -> Self {
        ReadRecords { options: self.options.clone(), paused: self.paused.clone(), format: PhantomData }
    }
}

impl<F: RecordFormat> SplittableDoFn for ReadRecords<F> {
    type Input = TextFile;
    type Output = F::Item;
    // What is not divisible is one endless range: whoever took a compressed file's second half would decompress the
    // first one too.
    type Tracker = Offsets<LikelyEnd>;
    // It stays at the file's own timestamp, which all its records have.
    type Estimator = Manual;

    fn initial_restriction(&self, file: &TextFile, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(if file.is_divisible() { OffsetRange::new(0, offset(file.size)) } else { OffsetRange::endless(0) })
    }

    fn split(
        &self,
        file: &TextFile,
        range: OffsetRange,
        desired: usize,
        _: &SdfContext<'_>,
    ) -> Result<Vec<OffsetRange>> {
        if !file.is_divisible() || range.is_empty() {
            return Ok(vec![range]);
        }
        let pieces = split_ranges(range.len(), desired, self.options.min_split);
        let at = |bytes: u64| range.start.saturating_add_unsigned(bytes);
        Ok(pieces.into_iter().map(|piece| OffsetRange::new(at(piece.start), at(piece.end))).collect())
    }

    fn new_tracker(
        &self,
        file: &TextFile,
        range: OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Offsets<LikelyEnd>> {
        let likely_end = LikelyEnd(offset(file.size.saturating_mul(INFLATION)));
        Ok(Offsets::new(range, likely_end, file.is_divisible()))
    }

    fn initial_watermark_state(
        &self,
        _: &TextFile,
        _: &OffsetRange,
        cx: &SdfContext<'_>,
    ) -> Result<Timestamp> {
        Ok(cx.timestamp())
    }

    fn new_watermark_estimator(
        &self,
        state: Timestamp,
        _: &TextFile,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        Ok(Manual::new(state))
    }

    fn process(
        &mut self,
        file: &TextFile,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, F::Item>,
    ) -> Result<Continuation> {
        let range = claims.restriction();
        if range.is_empty() {
            return Ok(Continuation::Stop);
        }
        let (mut reader, opened_to) = match self.paused.take(&file.path, range) {
            Some(found) => found,
            None => (self.open(file, range)?, range.end),
        };
        let mut last = None;
        loop {
            let Some(at) = reader.next_offset()? else {
                // No record starts in what is left of the range: that is claimed too.
                claims.try_claim(i64::MAX);
                return Ok(Continuation::Stop);
            };
            let at = offset(at);
            if !claims.try_claim(at) {
                // After a checkpoint the rest begins behind the last claim, and this reader is where it goes on.
                let rest = OffsetRange::new(claims.restriction().end, opened_to);
                if last.is_some_and(|last: i64| rest.start == last.saturating_add(1)) && !rest.is_empty() {
                    self.paused.put(&file.path, rest, reader);
                }
                return Ok(Continuation::Stop);
            }
            last = Some(at);
            if let Some(record) = reader.next_record()? {
                out.emit(F::make(&file.path, &record)?);
            }
        }
    }

    fn teardown(&mut self, _: &SetupContext<'_>) -> Result {
        self.paused.clear();
        Ok(())
    }
}

impl<F> ReadRecords<F> {
    fn open(&self, file: &TextFile, range: OffsetRange) -> Result<LineReader> {
        let place = |offset: i64| u64::try_from(offset).unwrap_or(0);
        let end = if range.is_endless() { u64::MAX } else { place(range.end) };
        Ok(LineReader::open(Path::new(&file.path), place(range.start)..end, &self.options)?)
    }
}

/// Files have no more bytes than an i64 counts; decompressed data could in theory.
fn offset(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
