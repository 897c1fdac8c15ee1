//! Scripted streams in Beam's words.

use prost::Message;
use purlin_sdk::{
    DoFnError, Timestamp,
    coder::CoderSpec,
    graph::Node,
    testing::{StreamEvent, TestStreamSource},
};

use super::{Refused, coders::submitted, components::Components};
use crate::{
    proto::pipeline::{
        TestStreamPayload,
        test_stream_payload::{
            Event, TimestampedElement,
            event::{AddElements, AdvanceProcessingTime, AdvanceWatermark, Event as Of},
        },
    },
    urns,
};

/// What a windowed value in the global window has in front of the value: timestamp, number of windows, pane.
const HEADER: usize = 8 + 4 + 1;

/// Adds a scripted stream.
pub(super) fn add(
    node: &Node,
    source: &dyn TestStreamSource,
    components: &mut Components<'_>,
) -> Result<(), Refused> {
    let output = node.outputs.first().ok_or("it makes nothing")?;
    let collection = components.collection(*output);
    // The length in front is how the value gets its outer form, which is what a script has.
    let value = CoderSpec::LengthPrefix(Box::new(submitted(&collection.coder)));
    let windowed = CoderSpec::WindowedValue(Box::new(value), Box::new(CoderSpec::GlobalWindow));
    let codec = collection.codec.wire(&windowed).map_err(|e| format!("its elements have no coder: {e}"))?;
    let mut events = Vec::new();
    for (_, event) in source.events() {
        let said = match event {
            StreamEvent::Elements(mut batch) => {
                let mut elements = Vec::new();
                let mut take = |bytes: &mut Vec<u8>| {
                    elements.push(element(bytes)?);
                    bytes.clear();
                    Ok(())
                };
                codec
                    .write(&mut *batch, &mut Vec::new(), &mut take)
                    .map_err(|e| format!("its elements cannot be written: {e}"))?;
                Of::ElementEvent(AddElements { elements, tag: String::new() })
            }
            StreamEvent::Watermark(at) => watermark(at),
            StreamEvent::End => watermark(Timestamp::MAX),
            StreamEvent::Clock(by) => {
                Of::ProcessingTimeEvent(AdvanceProcessingTime { advance_duration: by.as_millis() })
            }
            StreamEvent::Idle => {
                return Err("its script says that it is idle, which engines have no word for: run it with \
                            --runner=direct"
                    .to_owned());
            }
            StreamEvent::Mark(_) => {
                return Err(
                    "its script tells the test what has been worked off (`mark`), which an engine does not \
                            know: run it with --runner=direct"
                        .to_owned(),
                );
            }
        };
        events.push(Event { event: Some(said) });
    }
    let end = Event { event: Some(watermark(Timestamp::MAX)) };
    if events.last() != Some(&end) {
        events.push(end);
    }
    let payload =
        TestStreamPayload { coder_id: components.coders.id(&collection.coder), events, endpoint: None };
    components.primitive(node, urns::transform::TEST_STREAM, payload.encode_to_vec());
    Ok(())
}

fn watermark(at: Timestamp) -> Of {
    Of::WatermarkEvent(AdvanceWatermark { new_watermark: at.as_millis(), tag: String::new() })
}

/// An element with its timestamp, of a windowed value in the global window that has its length in front.
fn element(bytes: &[u8]) -> Result<TimestampedElement, DoFnError> {
    let (header, value) =
        bytes.split_at_checked(HEADER).ok_or_else(|| DoFnError::msg("a windowed value is too short"))?;
    let millis: [u8; 8] = header[..8].try_into()?;
    // The sign is flipped, so that earlier timestamps come first as bytes.
    let timestamp = i64::from_be_bytes(millis) ^ i64::MIN;
    let mut value = value;
    let length = prost::encoding::decode_varint(&mut value)?;
    if usize::try_from(length) != Ok(value.len()) {
        return Err(DoFnError::msg(format!("{length} bytes were said and {} are there", value.len())));
    }
    Ok(TimestampedElement { encoded_element: value.to_vec(), timestamp })
}
