//! What the files are called.

use purlin_sdk::{
    Timestamp,
    window::{PaneInfo, Window},
};
use serde::{Deserialize, Serialize};

use crate::io::files::shard_name;

/// The names of all shards of a write.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Names {
    prefix: String,
    suffix: String,
    shards: u32,
}

impl Names {
    pub(super) fn new(prefix: String, suffix: String, shards: u32) -> Names {
        Names { prefix, suffix, shards }
    }

    /// The name of `shard` in one firing of `window`.
    pub(super) fn of(&self, shard: u32, window: &Window, pane: PaneInfo) -> String {
        let mut prefix = self.prefix.clone();
        match window {
            Window::Global => {}
            Window::Interval(w) => prefix.push_str(&format!("-{}-{}", time(w.start()), time(w.end()))),
            Window::Custom(w) => {
                prefix.push_str(&format!("-{}-", time(w.max_timestamp())));
                w.encoded().iter().for_each(|byte| prefix.push_str(&format!("{byte:02x}")));
            }
        }
        if pane.index > 0 {
            prefix.push_str(&format!("-pane-{}", pane.index));
        }
        shard_name(&prefix, &self.suffix, shard as usize, self.shards as usize)
    }
}

/// RFC 3339 without colons, which not every file system takes; outside its years, the milliseconds since the epoch.
fn time(at: Timestamp) -> String {
    let text = at.to_string();
    if text.ends_with('Z') { text.replace(':', "-") } else { format!("{}ms", at.as_millis()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_window_and_pane() {
        let names = Names::new("out/a".to_owned(), ".txt".to_owned(), 2);
        let only = PaneInfo::ON_TIME_AND_ONLY;
        assert_eq!(names.of(1, &Window::Global, only), "out/a-00001-of-00002.txt");
        let minute = Window::interval(Timestamp::from_secs(60), Timestamp::from_secs(120));
        let late = PaneInfo { index: 1, ..only };
        assert_eq!(
            names.of(0, &minute, late),
            "out/a-1970-01-01T00-01-00Z-1970-01-01T00-02-00Z-pane-1-00000-of-00002.txt"
        );
        let ever = Window::interval(Timestamp::MIN, Timestamp::saturating_from_millis(500));
        assert_eq!(
            names.of(0, &ever, only),
            "out/a--9223372036854775ms-1970-01-01T00-00-00.5Z-00000-of-00002.txt"
        );
    }
}
