//! Timers by tags.

use std::{collections::BTreeMap, fmt};

use super::{TellChange, TimeDomain, TimerCell, TimerEntry, TimerSetting, timer_setting::Target};
use crate::{
    Result, Timestamp,
    exec::save::{put, take},
};

/// Timers that are told apart by tags, which are made up while the pipeline runs. Otherwise each is a
/// [`Timer`](super::Timer): the same tag in two families are two timers.
///
/// ```
/// use purlin_sdk::{Duration, ProcessContext, Result, state::TimerFamily};
/// fn set(per: &mut TimerFamily, cx: &ProcessContext<'_>) -> Result {
///     per.tag("a").set(cx, cx.timestamp() + Duration::from_secs(1))?;
///     per.tag("b").with_output_timestamp(cx.timestamp()).set_after(cx, Duration::from_secs(2))?;
///     per.clear("a");
///     Ok(())
/// }
/// ```
/// Source: Beam's `TimerMap`.
#[derive(Clone)]
pub struct TimerFamily {
    pub(super) name: &'static str,
    pub(super) time: TimeDomain,
    set: BTreeMap<String, TimerEntry>,
    // What the kernel was told last of the tags that were touched since.
    touched: BTreeMap<String, Option<TimerEntry>>,
    // What tags were set to that have changed since a bundle began that may be undone.
    before: Option<BTreeMap<String, Option<TimerEntry>>>,
}

impl TimerFamily {
    /// A family of which no timer is set, for the field `name`.
    #[doc(hidden)]
    pub fn new(name: &'static str, time: TimeDomain) -> TimerFamily {
        TimerFamily { name, time, set: BTreeMap::new(), touched: BTreeMap::new(), before: None }
    }

    /// The timer `tag`, to be set.
    pub fn tag(&mut self, tag: &str) -> TimerSetting<'_> {
        TimerSetting::new(Target::Tagged(self, tag.to_owned()))
    }

    /// Takes the time that the timer `tag` is set to back; nothing happens when none is.
    pub fn clear(&mut self, tag: &str) {
        if let Some(entry) = self.set.remove(tag) {
            self.touch(tag.to_owned(), Some(entry));
        }
    }

    /// Clears all of them.
    pub fn clear_all(&mut self) {
        for (tag, entry) in std::mem::take(&mut self.set) {
            self.touch(tag, Some(entry));
        }
    }

    /// Whether the timer `tag` is set, and has not fired.
    pub fn is_set(&self, tag: &str) -> bool {
        self.set.contains_key(tag)
    }

    /// The time that the timer `tag` is set to.
    pub fn time(&self, tag: &str) -> Option<Timestamp> {
        self.set.get(tag).map(|entry| entry.fire)
    }

    /// The tags of the timers that are set.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.set.keys().map(String::as_str)
    }

    pub(super) fn put(&mut self, tag: String, entry: TimerEntry) {
        let before = self.set.insert(tag.clone(), entry);
        self.touch(tag, before);
    }

    fn touch(&mut self, tag: String, before: Option<TimerEntry>) {
        self.remember(&tag, before);
        self.touched.entry(tag).or_insert(before);
    }

    fn remember(&mut self, tag: &str, before: Option<TimerEntry>) {
        if let Some(all) = self.before.as_mut().filter(|all| !all.contains_key(tag)) {
            all.insert(tag.to_owned(), before);
        }
    }
}

impl TimerCell for TimerFamily {
    fn changes(&mut self, tell: &mut TellChange<'_>) {
        for (tag, told) in std::mem::take(&mut self.touched) {
            let now = self.set.get(&tag).copied();
            if told != now {
                tell(&tag, told, now);
            }
        }
    }

    fn entries(&mut self, tell: &mut dyn FnMut(&str, TimerEntry)) {
        self.touched.clear();
        self.set.iter().for_each(|(tag, entry)| tell(tag, *entry));
    }

    fn entry(&self, tag: &str) -> Option<TimerEntry> {
        self.set.get(tag).copied()
    }

    fn save(&self, out: &mut Vec<u8>) -> Result {
        put(&self.set, out)
    }

    fn load(&mut self, input: &mut &[u8]) -> Result {
        self.set = take(input)?;
        Ok(())
    }

    fn fire(&mut self, tag: &str) -> Option<TimerEntry> {
        let fired = self.set.remove(tag);
        self.remember(tag, fired);
        fired
    }

    fn begin(&mut self) {
        self.before = Some(BTreeMap::new());
    }

    fn undo(&mut self) {
        for (tag, before) in self.before.take().unwrap_or_default() {
            match before {
                Some(entry) => drop(self.set.insert(tag, entry)),
                None => drop(self.set.remove(&tag)),
            }
        }
    }

    fn keep(&mut self) {
        self.before = None;
    }

    fn is_idle(&self) -> bool {
        self.set.is_empty()
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn time_domain(&self) -> TimeDomain {
        self.time
    }
}

impl fmt::Debug for TimerFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} timers ", self.time)?;
        f.debug_map().entries(self.set.iter().map(|(tag, entry)| (tag, entry.fire))).finish()
    }
}
