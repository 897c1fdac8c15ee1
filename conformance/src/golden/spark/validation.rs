//! Arguments: delays, triggers, output modes.

use purlin_sdk::Timestamp;
use purlin_transforms::streaming::{OutputMode, parse_delay};

use super::program::trigger;
use crate::golden::Datum;

/// What begins the name of the field with the watermark, before the time of the only row.
const WATERMARK_AFTER: &str = "watermark_after_max_";

/// A delay gives the watermark that is recorded, or is refused.
pub(super) fn delays(document: &Datum) -> Result<(), String> {
    for case in document.need("cases")?.to_list()? {
        let delay = case.need("delay")?.to_text()?;
        let ok = case.need("ok")?.to_bool()?;
        match (parse_delay(delay), ok) {
            (Err(_), false) => {}
            (Ok(time), false) => return Err(format!("the delay `{delay}` is {time}, and should be refused")),
            (Err(e), true) => return Err(e.to_string()),
            (Ok(delay), true) => {
                for (name, watermark) in case.to_entries()? {
                    let Some(at) = name.to_text()?.strip_prefix(WATERMARK_AFTER) else { continue };
                    let time = |text: &str| text.parse::<Timestamp>().map_err(|e| e.to_string());
                    let (is, should) = (time(at)? - delay, time(watermark.to_text()?)?);
                    if is != should {
                        return Err(format!("after a delay of {delay} it is {is}, and should be {should}"));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Arguments of `trigger` and `output_mode`.
pub(super) fn triggers(document: &Datum) -> Result<(), String> {
    for case in document.need("cases")?.to_list()? {
        let args = case.need("args")?;
        // A sentence is for readers: here the last call of `trigger` counts, which types cannot forbid.
        let Datum::Map(_) = args else { continue };
        let outcome = match args.get("outputMode") {
            Some(mode) => mode
                .to_text()
                .and_then(|mode| mode.parse::<OutputMode>().map_err(|e| e.to_string()))
                .map(drop),
            None => trigger(Some(args)).map(drop),
        };
        let ok = case.need("ok")?.to_bool()?;
        if outcome.is_ok() != ok {
            return Err(format!("{args} should {}: {outcome:?}", if ok { "do" } else { "be refused" }));
        }
    }
    Ok(())
}
