//! The behaviours of the hostile server, by name.

#[derive(Clone, Copy, Debug)]
pub struct Mood {
    /// Its name on the command line, and its path.
    pub name: &'static str,
    pub(crate) act: Act,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// A complete response: status and headers.
    Answer(u16, &'static str),
    /// These two alternately, for this many milliseconds each.
    Flap(u64),
    /// Responses with contradictory headers, in turn.
    Contradict,
    /// A head, followed by an endless body with one byte every so many milliseconds.
    TrickleBody(u64),
    /// An endless body, as fast as it is read.
    FloodBody,
    /// An endless head with one byte every so many milliseconds.
    TrickleHead(u64),
    FloodHead,
    Informational,
    CutHead,
    CutBody,
    Reset,
    /// Sends nothing and keeps the connection open.
    Silence,
    /// Sends data that is not HTTP.
    Noise,
    Twice,
}

const fn mood(name: &'static str, act: Act) -> Mood {
    Mood { name, act }
}

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
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        MOODS.into_iter().find(|mood| mood.name == name)
    }

    /// Whether it serves some calls, so that a high call rate is acceptable.
    #[must_use]
    pub const fn serves(&self) -> bool {
        matches!(self.act, Act::Answer(200, _) | Act::Flap(_) | Act::Contradict | Act::Twice)
    }
}

/// Headers that cannot all be true, each with its status.
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
