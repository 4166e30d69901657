//! The tokens that a streamed response reports.

use crate::digest::{self, and};
use crate::signal::word::Table;

/// The keys of the counters: OpenAI and Gemini; Anthropic and OpenAI; Anthropic and OpenAI.
static KEYS: Table<usize, 6> = Table::of(&[
    ("total_tokens", 0),
    ("totalTokenCount", 0),
    ("input_tokens", 1),
    ("prompt_tokens", 1),
    ("output_tokens", 2),
    ("completion_tokens", 2),
]);

/// Collects the tokens that a stream of server-sent events reports: OpenAI, Anthropic, Gemini and compatible APIs.
///
/// Pass it the body as it arrives, cut anywhere. It reads streams of any length in constant memory, and the latest
/// report counts. Correct the call's charge with it at the end of the stream:
/// [`Controller::correct`](crate::Controller::correct).
///
/// ```
/// use tidegate::signal::body::Usage;
///
/// let mut usage = Usage::new();
/// usage.feed("data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,\"output_");
/// usage.feed("tokens\":1}}}\n\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":15}}\n\n");
/// assert_eq!(usage.tokens(), Some(40));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Usage {
    state: State,
    /// The reported totals, and tokens of input and output.
    counts: [Option<u32>; 3],
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum State {
    Outside,
    /// In a string with this digest so far.
    String(u32),
    /// After a backslash in a string, which is then not a key.
    Escape,
    /// After a string with this digest.
    Key(u32),
    /// In the value of a counter: its index, and the digits so far.
    Value(usize, Option<u32>),
}

impl Usage {
    /// Nothing is reported yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { state: State::Outside, counts: [None; 3] }
    }

    /// Reads the next bytes.
    pub fn feed(&mut self, bytes: impl AsRef<[u8]>) {
        bytes.as_ref().iter().for_each(|byte| self.push(*byte));
    }

    fn push(&mut self, byte: u8) {
        if let State::Value(index, Some(count)) = self.state
            && !byte.is_ascii_digit()
            && let Some(slot) = self.counts.get_mut(index)
        {
            *slot = Some(count);
        }
        self.state = match (self.state, byte) {
            // An event's data has no line break, so a new event begins here, regardless of what
            // came before.
            (_, b'\n') => State::Outside,
            (State::String(_), b'\\') => State::Escape,
            (State::Escape, _) => State::String(digest::EMPTY),
            (State::String(key), b'"') => State::Key(key),
            (State::String(key), _) => State::String(and(key, byte)),
            (State::Key(key), b':') => {
                KEYS.of_digest(key).map_or(State::Outside, |index| State::Value(index, None))
            }
            (State::Key(_) | State::Value(_, None), b' ') => self.state,
            (State::Value(index, count), b'0'..=b'9') => {
                let digit = u32::from(byte.wrapping_sub(b'0'));
                let count = count.unwrap_or(0).saturating_mul(10).saturating_add(digit);
                State::Value(index, Some(count))
            }
            (_, b'"') => State::String(digest::EMPTY),
            _ => State::Outside,
        };
    }

    /// How many tokens the call used, as reported so far; `None` if the stream reports none.
    #[must_use]
    pub fn tokens(&self) -> Option<u32> {
        let [total, input, output] = self.counts;
        let parts =
            input.or(output).map(|_| input.unwrap_or(0).saturating_add(output.unwrap_or(0)));
        total.max(parts)
    }
}

impl Default for Usage {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a response is a stream of server-sent events, whose [`Usage`] may be read.
///
/// ```
/// use tidegate::signal::body;
///
/// assert!(body::is_stream("text/event-stream; charset=utf-8"));
/// assert!(!body::is_stream("application/json"));
/// ```
#[must_use]
pub fn is_stream(content_type: impl AsRef<[u8]>) -> bool {
    const EVENTS: &[u8] = b"text/event-stream";
    let start = content_type.as_ref().get(..EVENTS.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(EVENTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of a stream, however it is cut.
    fn tokens(stream: &str) -> Option<u32> {
        let mut whole = Usage::new();
        whole.feed(stream);
        for size in 1..20 {
            let mut usage = Usage::new();
            stream.as_bytes().chunks(size).for_each(|piece| usage.feed(piece));
            assert_eq!(usage, whole, "in pieces of {size}");
        }
        whole.tokens()
    }

    #[test]
    fn the_streams_of_known_servers_report_their_tokens() {
        for (stream, expected) in [
            // OpenAI with `stream_options: { include_usage: true }`, and without it.
            (
                "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}],\"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":19,\"completion_tokens\":10,\"total_tokens\":29,\"prompt_tokens_details\":{\"cached_tokens\":0}}}\n\ndata: [DONE]\n\n",
                Some(29),
            ),
            ("data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n", None),
            // OpenAI's Responses API.
            (
                "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":[],\"usage\":{\"input_tokens\": 37,\"output_tokens\": 11,\"output_tokens_details\":{\"reasoning_tokens\":9},\"total_tokens\": 48}}}\n\n",
                Some(48),
            ),
            // Anthropic.
            (
                "event: message_start\r\ndata: {\"message\":{\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}\r\n\r\nevent: message_delta\r\ndata: {\"usage\":{\"output_tokens\":15}}\r\n\r\n",
                Some(40),
            ),
            // Gemini, which reports in each event.
            (
                "data: {\"usageMetadata\":{\"promptTokenCount\":4,\"totalTokenCount\":6}}\n\ndata: {\"usageMetadata\":{\"promptTokenCount\":4,\"totalTokenCount\":11}}\n\n",
                Some(11),
            ),
        ] {
            assert_eq!(tokens(stream), expected, "{stream}");
        }
    }

    #[test]
    fn text_that_a_model_writes_reports_nothing() {
        for stream in [
            r#"data: {"delta":"{\"total_tokens\": 7}"}"#,
            r#"data: {"delta":"\"total_tokens\":7,"}"#,
            r#"data: {"total_tokens":"7"}"#,
            r#"data: {"delta":"total_tokens: 7"}"#,
            r#"data: {"total_tokens":null}"#,
        ] {
            assert_eq!(tokens(&format!("{stream}\n\n")), None, "{stream}");
        }
        assert_eq!(tokens("data: \"broken\\\ndata: {\"total_tokens\":7}\n"), Some(7));
        assert_eq!(tokens("data: {\"total_tokens\":99999999999}\n"), Some(u32::MAX));
    }
}
