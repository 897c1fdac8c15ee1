//! renoir's event-time windows, aligned to time 0. Its own start where a key's first event lies, so that each key has
//! windows of its own and no two systems' results could be compared; all else is as in `EventTimeWindowManager`.

use std::collections::VecDeque;

use renoir::operator::window::{WindowAccumulator, WindowDescription, WindowManager, WindowResult};
use renoir::operator::{Data, StreamElement};

#[derive(Clone)]
pub struct AlignedWindow {
    pub size: i64,
    pub slide: i64,
}

#[derive(Clone)]
pub struct AlignedWindowManager<A> {
    init: A,
    size: i64,
    slide: i64,
    last_watermark: i64,
    slots: VecDeque<Slot<A>>,
}

#[derive(Clone)]
struct Slot<A> {
    acc: A,
    start: i64,
    end: i64,
    active: bool,
}

impl<A: WindowAccumulator> AlignedWindowManager<A> {
    /// The start of the earliest window that contains a time.
    fn first(&self, ts: i64) -> i64 {
        ts.div_euclid(self.slide) * self.slide - self.size + self.slide
    }

    fn slot(&self, start: i64) -> Slot<A> {
        Slot { acc: self.init.clone(), start, end: start + self.size, active: false }
    }

    /// Opens the windows of a time, unless the watermark has passed them.
    fn allocate(&mut self, ts: i64) {
        let first = self.first(ts).max(self.first(self.last_watermark));
        if self.slots.is_empty() && first <= ts {
            self.slots.push_back(self.slot(first));
        }
        // What comes from several replicas is in no order.
        while let Some(front) = self.slots.front().map(|slot| slot.start)
            && front > first
        {
            self.slots.push_front(self.slot(front - self.slide));
        }
        while let Some(back) = self.slots.back().map(|slot| slot.start)
            && back + self.slide <= ts
        {
            self.slots.push_back(self.slot(back + self.slide));
        }
    }
}

impl<A: WindowAccumulator> WindowManager for AlignedWindowManager<A>
where
    A::In: Data,
    A::Out: Data,
{
    type In = A::In;
    type Out = A::Out;
    type Output = Vec<WindowResult<A::Out>>;

    fn process(&mut self, element: StreamElement<A::In>) -> Self::Output {
        match element {
            StreamElement::Timestamped(item, ts) => {
                self.allocate(ts);
                let slots = self.slots.iter_mut().skip_while(|slot| slot.end <= ts);
                for slot in slots.take_while(|slot| slot.start <= ts) {
                    slot.acc.process(&item);
                    slot.active = true;
                }
                Vec::new()
            }
            StreamElement::Watermark(ts) => {
                self.last_watermark = ts;
                let split = self.slots.partition_point(|slot| slot.end < ts);
                results(self.slots.drain(..split))
            }
            StreamElement::FlushAndRestart | StreamElement::Terminate => results(self.slots.drain(..)),
            StreamElement::Item(_) => panic!("event-time windows need timestamps"),
            StreamElement::FlushBatch => Vec::new(),
        }
    }

    fn recycle(&self) -> bool {
        self.slots.is_empty()
    }
}

fn results<A: WindowAccumulator>(slots: impl Iterator<Item = Slot<A>>) -> Vec<WindowResult<A::Out>> {
    slots
        .filter(|slot| slot.active)
        .map(|slot| WindowResult::Timestamped(slot.acc.output(), slot.end))
        .collect()
}

impl<T: Data> WindowDescription<T> for AlignedWindow {
    type Manager<A: WindowAccumulator<In = T>> = AlignedWindowManager<A>;

    fn build<A: WindowAccumulator<In = T>>(&self, accumulator: A) -> Self::Manager<A> {
        AlignedWindowManager {
            init: accumulator,
            size: self.size,
            slide: self.slide,
            last_watermark: i64::MIN / 2,
            slots: VecDeque::new(),
        }
    }
}
