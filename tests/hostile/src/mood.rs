//! What a hostile server does to whoever calls it, by name.

/// One way to be hostile.
#[derive(Clone, Copy, Debug)]
pub struct Mood {
    /// What it is called on the command line, and its path.
    pub name: &'static str,
    pub(crate) act: Act,
}

/// What is done with a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// A throttled call, or another answer, that is whole: its status and headers.
    Answer(u16, &'static str),
    /// These two in turn, for so many milliseconds each.
    Flap(u64),
    /// Answers whose headers contradict each other, in turn.
    Contradict,
    /// A head, and then a body of one byte every so many milliseconds, forever.
    TrickleBody(u64),
    /// A body without end, as fast as it is taken.
    FloodBody,
    /// A head of one byte every so many milliseconds, forever.
    TrickleHead(u64),
    /// Headers without end.
    FloodHead,
    /// "Wait for it" without end.
    Informational,
    /// Closes in the middle of the head.
    CutHead,
    /// Closes in the middle of the body.
    CutBody,
    /// Resets the connection.
    Reset,
    /// Says nothing, and keeps the connection.
    Silence,
    /// Something that is no HTTP.
    Noise,
    /// Two answers to one question.
    Twice,
}

const fn mood(name: &'static str, act: Act) -> Mood {
    Mood { name, act }
}

/// All of them.
pub const MOODS: [Mood; 25] = [
    mood("429-for-ever", Act::Answer(429, "")),
    mood("503-for-ever", Act::Answer(503, "")),
    mood("500-for-ever", Act::Answer(500, "")),
    mood("retry-after-a-century", Act::Answer(429, "Retry-After: 3153600000\r\n")),
    mood("retry-after-10^30", Act::Answer(429, "Retry-After: 1000000000000000000000000000000\r\n")),
    mood("retry-after-negative", Act::Answer(429, "Retry-After: -1\r\n")),
    mood("retry-after-zero", Act::Answer(429, "Retry-After: 0\r\n")),
    mood("retry-in-9999", Act::Answer(503, "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n")),
    mood("retry-in-0", Act::Answer(429, "Retry-After: Sat, 01 Jan 0000 00:00:00 GMT\r\n")),
    mood(
        "period-of-a-century",
        Act::Answer(
            200,
            "RateLimit-Policy: \"a\";q=1;w=3153600000\r\nRateLimit: \"a\";r=0;t=3153600000\r\n",
        ),
    ),
    mood(
        "period-without-an-end",
        Act::Answer(200, "RateLimit-Policy: \"a\";q=1;w=3153600000\r\nRateLimit: \"a\";r=0\r\n"),
    ),
    mood("flapping", Act::Flap(100)),
    mood("contradictory", Act::Contradict),
    mood("trickling-body", Act::TrickleBody(100)),
    mood("endless-body", Act::FloodBody),
    mood("trickling-head", Act::TrickleHead(50)),
    mood("endless-head", Act::FloodHead),
    mood("endless-early-hints", Act::Informational),
    mood("cut-head", Act::CutHead),
    mood("cut-body", Act::CutBody),
    mood("reset", Act::Reset),
    mood("half-open", Act::Silence),
    mood("not-http", Act::Noise),
    mood("two-answers", Act::Twice),
    mood(
        "limit-of-nothing",
        Act::Answer(429, "X-RateLimit-Limit: 0\r\nX-RateLimit-Remaining: 0\r\n"),
    ),
];

impl Mood {
    /// The mood of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        MOODS.into_iter().find(|mood| mood.name == name)
    }

    /// Whether it gives no answer that ends, so that only patience ends a call.
    #[must_use]
    pub const fn never_ends(&self) -> bool {
        use Act::{Informational, Silence, TrickleBody, TrickleHead};
        matches!(self.act, TrickleBody(_) | TrickleHead(_) | Informational | Silence)
    }

    /// Whether it serves calls that deserve to be served, so that many are no fault.
    #[must_use]
    pub const fn serves(&self) -> bool {
        matches!(self.act, Act::Answer(200, _) | Act::Flap(_) | Act::Contradict | Act::Twice)
    }
}

/// Headers that cannot all be true, each with the status that it comes with.
pub(crate) const CONTRADICTIONS: [(u16, &str); 6] = [
    (
        200,
        "RateLimit-Policy: \"a\";q=0;w=0\r\nRateLimit: \"a\";r=999999999999;t=0\r\n\
         X-RateLimit-Limit: 1\r\nX-RateLimit-Remaining: 18446744073709551615\r\n",
    ),
    (429, "Retry-After: 0\r\nRetry-After: 3600000\r\nX-RateLimit-Remaining: 100000\r\n"),
    (200, "RateLimit: limit=0, remaining=-5, reset=-1\r\nRetry-After: 100\r\n"),
    (429, "RateLimit-Remaining: 5000\r\nRateLimit-Reset: 0\r\nx-ratelimit-reset: 1\r\n"),
    (
        200,
        "X-RateLimit-Limit: 10\r\nX-RateLimit-Remaining: 11\r\nX-RateLimit-Reset: 99999999999\r\n",
    ),
    (
        503,
        "Retry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\nRateLimit: \"b\";r=7;t=99999999999999\r\n",
    ),
];
