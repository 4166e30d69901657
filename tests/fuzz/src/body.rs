//! Any response body: a status, the size of its chunks, and then its bytes.

use tidegate::signal::body::{Body, MOST_BYTES};
use tidegate::signal::http::Reading;
use tidegate::{Outcome, Reply, Span};

use tidegate_promises::Input;

use crate::http::{does_not_stop_a_client_for_good, sound};

const STATUSES: [u16; 8] = [429, 403, 400, 200, 503, 402, 500, 404];

/// Words of which a body must contain one to determine the outcome.
const WORDS: &str = include_str!("words.txt");

pub fn try_with(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let kind = input.u8();
    let status = STATUSES[usize::from(kind & 7)];
    let chunk = usize::from(kind >> 3).max(1);
    let text = input.rest();

    let mut body = Body::new();
    body.feed(text);
    let mut chunked = Body::new();
    text.chunks(chunk).for_each(|chunk| chunked.feed(chunk));
    assert_eq!(body, chunked, "the result depends on the chunks");
    if body.has_ended() {
        let mut more = body;
        more.feed(br#","error":{"code":"insufficient_quota"}}"#);
        assert_eq!(body, more, "the result depends on bytes after the end");
    }
    assert!(body.has_ended() || text.len() < MOST_BYTES);

    for served in [200, 204, 304] {
        let told = body.outcome(served);
        assert!(
            told.is_none() || body.outcome(status).is_some(),
            "an error has fewer hints than a success"
        );
    }
    let outcome = body.outcome(status);
    let told = String::from_utf8_lossy(text).to_ascii_lowercase().replace('_', "");
    let is_told = WORDS.lines().any(|word| told.contains(word));
    assert!(outcome.is_none() || is_told || told.contains('\\'), "{outcome:?} without a reason");
    assert!(!matches!(outcome, Some(Outcome::Ok | Outcome::Abandoned)));

    // The complete reading and the common reading agree on the call.
    let mut reading = Reading::new(status);
    let small: Reply = body.refine(status, reading.finish(None).into());
    reading.body(&body);
    let answer = reading.finish(None);
    for hint in answer.limits().map(|limit| limit.hint).chain([answer.hint]) {
        sound(answer.outcome, hint);
    }
    sound(Outcome::Ok, body.points());
    let whole: Reply = answer.into();
    if small.outcome == whole.outcome {
        let of_the_call = |reply: Reply| (reply.hints[0].retry_after, reply.hints[0].concurrency);
        assert_eq!(of_the_call(small), of_the_call(whole));
    } else {
        // With a cooldown or nothing left, a 403 counts as throttled if the status is known.
        assert_eq!((status, whole.outcome), (403, Outcome::Throttled));
    }
    assert!(body.retry_after() <= Some(Span::from_secs(1 << 32)));
    for law in ["adaptive", "aimd-concurrency"] {
        does_not_stop_a_client_for_good(law, whole);
        does_not_stop_a_client_for_good(law, small);
    }
}
