//! Filtering without branches.
//!
//! Whether the next element stays is what a processor guesses, and with elements that come in no order it guesses wrong
//! as often as the rarer answer comes. So an element is written where it might stay, and the place for the next one moves
//! on or does not.

use std::mem::needs_drop;

use crate::batch::{Batch, Column};

/// Elements of more bytes are not moved about for this: that takes longer than the guesses.
pub(crate) const MOVED: usize = 64;

/// How many elements are filtered at a time where they are not filtered in place.
pub(crate) const CHUNK: usize = 64;

/// At most [`CHUNK`] elements, each with its number.
pub(crate) struct Sieve<T> {
    slots: [Option<(usize, T)>; CHUNK],
    kept: usize,
}

impl<T> Sieve<T> {
    /// Whether elements of this type gain by it.
    pub(crate) const PAYS: bool = !needs_drop::<T>() && size_of::<T>() <= MOVED;

    #[inline(always)]
    pub(crate) fn new() -> Sieve<T> {
        Sieve { slots: [const { None }; CHUNK], kept: 0 }
    }

    /// Adds an element if it is to `stay`.
    #[inline(always)]
    pub(crate) fn add(&mut self, number: usize, value: T, stay: bool) {
        // The remainder is the index itself, and says that it is in bounds.
        self.slots[self.kept % CHUNK] = Some((number, value));
        self.kept += usize::from(stay);
    }

    /// Hands on what stayed.
    #[inline(always)]
    pub(crate) fn drain(mut self, sink: &mut impl FnMut(usize, T)) {
        for slot in &mut self.slots[..self.kept] {
            if let Some((number, value)) = slot.take() {
                sink(number, value);
            }
        }
    }
}

/// Keeps the elements for which `f` says so. Only timestamps may differ between elements.
#[inline]
pub(super) fn in_place<T>(batch: &mut Batch<T>, f: impl Fn(&T) -> bool) {
    let mut kept = 0;
    let Batch { values, meta } = batch;
    let all = values.as_mut_slice();
    match &mut meta.times {
        Column::Const(_) => {
            for i in 0..all.len() {
                let more = usize::from(f(&all[i]));
                // What does not stay ends up behind what does.
                all.swap(kept, i);
                kept += more;
            }
        }
        Column::Each(times) => {
            for i in 0..all.len().min(times.len()) {
                let more = usize::from(f(&all[i]));
                all.swap(kept, i);
                times[kept] = times[i];
                kept += more;
            }
            times.truncate(kept);
        }
    }
    values.truncate(kept);
}

#[cfg(test)]
mod tests {
    use std::iter::zip;

    use super::*;
    use crate::{Timestamp, batch::Meta};

    /// Runs `f` for batches of several lengths, and for predicates that keep none, some and all; it gets the numbers and
    /// the predicate.
    fn each_case(f: impl Fn(Vec<u64>, &dyn Fn(u64) -> bool)) {
        for n in [0, 1, 63, 64, 65, 1_024] {
            // In no order that a chunk could hide.
            let numbers: Vec<u64> = (0..n).map(|i| i * 0x9e37_79b9 % 1_009).collect();
            for by in [1, 2, 4, 2_000] {
                f(numbers.clone(), &|x| x % by != 0);
                f(numbers.clone(), &|x| x % by == 0);
            }
        }
    }

    #[test]
    fn a_sieve_keeps_what_stays_with_its_number() {
        each_case(|input, keep| {
            let (mut kept, mut numbers) = (Vec::new(), Vec::new());
            for chunk in input.chunks(CHUNK) {
                let mut sieve = Sieve::new();
                chunk.iter().enumerate().for_each(|(i, x)| sieve.add(i, *x, keep(*x)));
                sieve.drain(&mut |i, x| {
                    kept.push(x);
                    numbers.push(chunk[i]);
                });
            }
            assert_eq!(kept, input.iter().copied().filter(|x| keep(*x)).collect::<Vec<_>>());
            assert_eq!(numbers, kept);
        });
    }

    #[test]
    fn timestamps_stay_with_their_elements() {
        each_case(|input, keep| {
            let times: Vec<Timestamp> =
                (0..input.len()).map(|i| Timestamp::saturating_from_millis(i as i64)).collect();
            let expected: Vec<(u64, Timestamp)> =
                zip(input.iter().copied(), times.iter().copied()).filter(|(x, _)| keep(*x)).collect();
            let meta = Meta { times: Column::Each(times), ..Meta::default() };
            let mut batch = Batch { values: input, meta };
            in_place(&mut batch, |x| keep(*x));
            let Column::Each(times) = batch.meta.times else { panic!("timestamps were lost") };
            assert_eq!(times.len(), expected.len());
            assert_eq!(zip(batch.values, times).collect::<Vec<_>>(), expected);
        });
    }

    #[test]
    fn a_batch_at_one_time_is_filtered_in_place() {
        each_case(|input, keep| {
            let text = |x: &u64| x.to_string();
            let expected: Vec<String> = input.iter().filter(|x| keep(**x)).map(text).collect();
            let mut batch = Batch { values: input.iter().map(text).collect(), meta: Meta::default() };
            in_place(&mut batch, |x: &String| x.parse().is_ok_and(keep));
            assert_eq!(batch.values, expected);
        });
    }
}
