//! A quantile of the last values, exactly.

/// The values that are looked at.
const WINDOW: usize = 5000;

/// A slot's place is in the upper heap where this bit is set.
const UPPER: u16 = 1 << 15;

/// The 95 % quantile of the last 5,000 values, in `O(log n)` a value.
///
/// Values lie in a ring of slots. The slots are in two heaps: the lower 95 % with the greatest value on top, which is
/// the quantile, and the rest with the least on top. Each slot knows its place in its heap, so the oldest value is
/// overwritten where it lies. At most one pair of tops has then to change places.
#[derive(Clone, Debug)]
pub(super) struct SlidingQuantile {
    values: Vec<u32>,
    /// The slot of the oldest value, once all are taken.
    oldest: usize,
    lower: Heap,
    upper: Heap,
    /// For each slot where it lies in its heap, and in which.
    places: Vec<u16>,
}

/// Slots as a heap.
#[derive(Clone, Debug)]
struct Heap {
    slots: Vec<u16>,
    /// Laid over values before they are compared: all ones turn their order round.
    mask: u32,
    /// [`UPPER`] in the places of the upper heap's slots.
    mark: u16,
}

impl Heap {
    #[inline]
    fn key(&self, values: &[u32], at: usize) -> u32 {
        values[usize::from(self.slots[at])] ^ self.mask
    }

    #[inline]
    fn put(&mut self, places: &mut [u16], at: usize, slot: u16) {
        self.slots[at] = slot;
        places[usize::from(slot)] = at as u16 | self.mark;
    }

    fn up(&mut self, values: &[u32], places: &mut [u16], mut at: usize) -> usize {
        let slot = self.slots[at];
        let key = self.key(values, at);
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.key(values, parent) <= key {
                break;
            }
            self.put(places, at, self.slots[parent]);
            at = parent;
        }
        self.put(places, at, slot);
        at
    }

    fn down(&mut self, values: &[u32], places: &mut [u16], mut at: usize) {
        let slot = self.slots[at];
        let key = self.key(values, at);
        loop {
            let mut child = 2 * at + 1;
            if child >= self.slots.len() {
                break;
            }
            if child + 1 < self.slots.len() && self.key(values, child + 1) < self.key(values, child) {
                child += 1;
            }
            if key <= self.key(values, child) {
                break;
            }
            self.put(places, at, self.slots[child]);
            at = child;
        }
        self.put(places, at, slot);
    }

    fn push(&mut self, values: &[u32], places: &mut [u16], slot: u16) {
        self.slots.push(slot);
        self.up(values, places, self.slots.len() - 1);
    }

    /// Takes the top out.
    fn pop(&mut self, values: &[u32], places: &mut [u16]) -> Option<u16> {
        let last = self.slots.pop()?;
        let Some(top) = self.slots.first().copied() else { return Some(last) };
        self.slots[0] = last;
        self.down(values, places, 0);
        Some(top)
    }
}

impl SlidingQuantile {
    pub(super) fn new() -> SlidingQuantile {
        SlidingQuantile {
            values: Vec::new(),
            oldest: 0,
            lower: Heap { slots: Vec::new(), mask: u32::MAX, mark: 0 },
            upper: Heap { slots: Vec::new(), mask: 0, mark: UPPER },
            places: Vec::new(),
        }
    }

    /// The least value that at least 95 % of the values do not exceed; nothing without values.
    #[inline]
    pub(super) fn quantile(&self) -> Option<u32> {
        self.lower.slots.first().map(|slot| self.values[usize::from(*slot)])
    }

    #[inline]
    pub(super) fn push(&mut self, value: u32) {
        if self.values.len() < WINDOW {
            self.add(value);
            return;
        }
        let slot = self.oldest;
        self.oldest = if slot + 1 == WINDOW { 0 } else { slot + 1 };
        // In ordered data this is all there is to do.
        if self.values[slot] != value {
            self.replace(slot, value);
        }
    }

    fn add(&mut self, value: u32) {
        let SlidingQuantile { values, places, lower, upper, .. } = self;
        let slot = values.len() as u16;
        values.push(value);
        places.push(0);
        let below = lower.slots.first().is_none_or(|top| value <= values[usize::from(*top)]);
        if below {
            lower.push(values, places, slot);
        } else {
            upper.push(values, places, slot);
        }
        let wanted = (values.len() * 95).div_ceil(100);
        while lower.slots.len() > wanted {
            let Some(top) = lower.pop(values, places) else { break };
            upper.push(values, places, top);
        }
        while lower.slots.len() < wanted {
            let Some(top) = upper.pop(values, places) else { break };
            lower.push(values, places, top);
        }
    }

    fn replace(&mut self, slot: usize, value: u32) {
        let SlidingQuantile { values, places, lower, upper, .. } = self;
        values[slot] = value;
        let place = places[slot];
        let heap = if place & UPPER == 0 { &mut *lower } else { &mut *upper };
        let at = heap.up(values, places, usize::from(place & !UPPER));
        heap.down(values, places, at);
        if let ([low, ..], [high, ..]) = (&*lower.slots, &*upper.slots)
            && values[usize::from(*low)] > values[usize::from(*high)]
        {
            std::mem::swap(&mut lower.slots[0], &mut upper.slots[0]);
            lower.down(values, places, 0);
            upper.down(values, places, 0);
        }
    }

    /// The values, the oldest first.
    pub(super) fn in_order(&self) -> Vec<u32> {
        let (newer, older) = self.values.split_at(self.oldest);
        [older, newer].concat()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// By sorting.
    fn expected(values: &VecDeque<u32>) -> Option<u32> {
        let mut sorted: Vec<u32> = values.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get((sorted.len() * 95).div_ceil(100).checked_sub(1)?).copied()
    }

    #[test]
    fn it_is_what_sorting_says() {
        for (seed, below) in [(0, 3), (1, 1000), (2, u32::MAX)] {
            let mut rng = fastrand::Rng::with_seed(seed);
            let (mut sliding, mut last) = (SlidingQuantile::new(), VecDeque::new());
            assert_eq!(sliding.quantile(), None);
            for n in 0..16_000 {
                // Now and then another distribution, so that values move from one side to the other.
                let value = rng.u32(..below) >> (8 * (n / 3000 % 3));
                sliding.push(value);
                last.push_back(value);
                if last.len() > WINDOW {
                    last.pop_front();
                }
                if n < 200 || n % 97 == 0 {
                    assert_eq!(sliding.quantile(), expected(&last), "seed {seed}, value {n}");
                }
            }
            assert_eq!(last, sliding.in_order());
        }
    }
}
