//! Makes calls with one controller, and computes a digest of its decisions.

use tidegate::signal::http::Reading;
use tidegate::{
    Call, Controller, Decision, Hint, Instant, Outcome, Policy, Reason, Reply, Span, law::AnyLaw,
};

use crate::draw::Draw;

type Gate = Controller<AnyLaw>;

/// The number of calls.
const CALLS: u32 = 10_000;
/// The maximum number in flight.
const FLYING: usize = 12;

/// The result.
pub struct Played {
    /// The number of decisions.
    pub answers: u32,
    /// FNV-1a of all decisions.
    pub digest: u32,
}

impl Played {
    fn note(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.digest = (self.digest ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
        self.answers += 1;
    }

    fn note_instant(&mut self, kind: u8, at: Instant) {
        let mut bytes = [kind; 9];
        bytes[1..].copy_from_slice(&at.as_nanos().to_le_bytes());
        self.note(&bytes);
    }
}

/// Headers as servers send them.
const HEADERS: [&[(&str, &str)]; 5] = [
    &[("RateLimit-Policy", r#""default";q=100;w=10"#), ("RateLimit", r#""default";r=7;t=4"#)],
    &[("X-RateLimit-Limit", "60"), ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "3")],
    &[("Date", "Mon, 03 Mar 2025 09:00:00 GMT"), ("Retry-After", "Mon, 03 Mar 2025 09:00:02 GMT")],
    &[("x-ratelimit-remaining-requests", "3"), ("x-ratelimit-reset-requests", "1m2.5s")],
    &[("retry-after-ms", "730"), ("Retry-After", "1"), ("RateLimit", "nonsense;;")],
];

/// Calls that arrive, wait, complete with any outcome, and are retried. Sometimes the controller is
/// saved and restored, as after a sleep.
pub fn play(policy: Policy, seed: u64) -> Played {
    let mut played = Played { answers: 0, digest: 0x811C_9DC5 };
    let mut draw = Draw::new(seed);
    let mut now = Instant::from_nanos(5_000_000_000);
    let mut gate = Gate::new(policy, seed, now);
    let mut call: Call = Call::new();
    let mut flying = [const { None }; FLYING];
    let mut record = [0; Gate::SNAPSHOT_BYTES];
    for _ in 0..CALLS {
        now = now.saturating_add(Span::from_nanos(draw.below(40_000_000)));
        if draw.below(40) == 0 {
            now = now.saturating_add(Span::from_secs(draw.below(90)));
        }
        played.note(&[why(&gate, now, &call)]);
        match gate.poll(now, &call) {
            Decision::Admit(permit) => {
                played.note(&[0]);
                if let Some(place) = flying.iter_mut().find(|place| place.is_none()) {
                    *place = Some(permit);
                }
            }
            Decision::Wait(until) => played.note_instant(1, until),
            Decision::Full => played.note(&[2]),
            Decision::Reject(Reason::Late(until)) => played.note_instant(3, until),
            Decision::Reject(_) => played.note(&[4]),
        }
        if draw.below(3) == 0 {
            continue;
        }
        let Some(permit) = flying[draw.below(FLYING as u64) as usize].take() else { continue };
        let reply = reply(&mut draw);
        gate.settle(now, permit, reply);
        call = gate.retry(now, &call, reply).unwrap_or_default();
        played.note_instant(5, call.not_before());
        for interval in gate.intervals(now) {
            played.note(&interval.map_or(u64::MAX, Span::as_nanos).to_le_bytes());
        }
        played.note_instant(6, gate.next_at(now).unwrap_or(Instant::MAX));
        if gate.snapshot(now, &mut record).is_ok() {
            played.note(&record);
        }
        if draw.below(50) == 0 {
            let away = Span::from_millis(draw.below(100_000));
            now = now.saturating_add(away);
            if let Ok(again) = Gate::restore(policy, draw.below(1 << 31), &record, now, away) {
                gate = again;
                played.note(&[7]);
            }
        }
    }
    played
}

fn why(gate: &Gate, now: Instant, call: &Call) -> u8 {
    gate.why(now, call).map_or(0, |reason| 1 + reason as u8)
}

/// The reply to a call.
fn reply(draw: &mut Draw) -> Reply {
    let seconds = draw.below(9);
    match draw.below(14) {
        0 => Outcome::Throttled.with(Hint::retry_after(Span::from_millis(draw.below(2_000)))),
        1 => Outcome::Throttled.into(),
        2 => Outcome::Busy.into(),
        3 => Outcome::Failed.into(),
        4 => Outcome::Abandoned.into(),
        5 => Outcome::Ok.with(Hint::remaining(draw.below(50))),
        6 => {
            let quota = Hint::quota(100, Span::from_secs(10)).and_remaining(draw.below(100));
            Outcome::Ok.with(quota.and_reset(Span::from_secs(seconds)))
        }
        7 | 8 => {
            let throttled = draw.below(3) == 0;
            let mut reading = Reading::new(if throttled { 429 } else { 200 });
            for (name, value) in HEADERS[draw.below(HEADERS.len() as u64) as usize] {
                reading.header(name, value);
            }
            reading.finish(None).into()
        }
        9 => Outcome::Ok.using([draw.below(3) as u32]),
        _ => Outcome::Ok.into(),
    }
}
