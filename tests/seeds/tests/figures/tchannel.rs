//! `TChannel`: a limit per second, halved by busy responses.

use tidegate::Permit;
use tidegate::law::published::{Over, Recovery, Tchannel, TchannelConfig, TchannelState};
use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Reason, Span};
use tidegate_seeds::TCHANNEL;

/// The calls that the document's program offers each second, and how many of them may be busy.
const OFFERED: u64 = 5_000;
const BUSY: u64 = 3_000;
/// Bits of fraction in the law's limit.
const FRACTION: u32 = 36;

/// A client with calls to make every second, and the controller that admits them.
struct Client {
    gate: Controller<Tchannel>,
    /// Calls of the first second that are answered late: one at the start of each later second. The
    /// controller notices a new second when it is called, even if no call is admitted in it.
    late: Vec<Permit>,
    now: Instant,
}

impl Client {
    fn new(recovery: Recovery) -> Self {
        let config = TchannelConfig { recovery, over: Over::Reject, ..TchannelConfig::DEFAULT };
        let policy = Policy::new(Tchannel::new(config).unwrap()).backoff(None);
        let gate = Controller::new(policy, 1, Instant::ZERO);
        Self { gate, late: Vec::new(), now: Instant::ZERO }
    }

    /// Offers a second's calls, of which the first `busy` are answered busy. Returns the limit
    /// before them, and how many were sent and answered busy.
    fn second(&mut self, busy: u64) -> (u64, u64, u64) {
        if let Some(permit) = self.late.pop() {
            self.gate.settle(self.now, permit, Outcome::Ok);
        }
        let limit = self.gate.states().next().map_or(0, TchannelState::limit_q36);
        let mut sent = 0;
        for _ in 0..OFFERED {
            match self.gate.poll(self.now, &Call::new()) {
                Decision::Admit(permit) => {
                    sent += 1;
                    if sent > OFFERED - 32 && self.now == Instant::ZERO {
                        self.late.push(permit);
                        continue;
                    }
                    let outcome = if sent <= busy { Outcome::Busy } else { Outcome::Ok };
                    self.gate.settle(self.now, permit, outcome);
                }
                Decision::Reject(Reason::OverLimit) => {}
                other => panic!("a limit that rejects answered {other:?}"),
            }
        }
        self.now += Span::from_secs(1);
        (limit, sent, sent.min(busy))
    }
}

/// What the document's program prints: nine seconds of busy responses, then recovery.
fn run(flappy: bool, recovery: Recovery) -> Vec<String> {
    let mut client = Client::new(recovery);
    let mut lines = Vec::new();
    // The program's clock skips its tenth second, and the limit does not grow in it.
    for time in (1..10).chain(11..=31) {
        let recovering = time > 10;
        if time == 11 {
            lines.push("++++ recovering".into());
        }
        let is_busy = !recovering && (!flappy || time % 3 == 0);
        let (limit, sent, busy) = client.second(if is_busy { BUSY } else { 0 });
        // During recovery the program does not round the limit before it subtracts it from the
        // traffic, so 4999 are throttled when nothing is sent.
        let allowed = if recovering { limit.min(OFFERED << FRACTION) } else { sent << FRACTION };
        let throttled = ((OFFERED << FRACTION) - allowed) >> FRACTION;
        lines.push(format!(
            "{} time={time} rps={sent} throttled={throttled} busy={busy} limit={}",
            if recovering { "+++" } else { "---" },
            limit >> FRACTION,
        ));
        if recovering && sent == OFFERED {
            lines.push(format!("converged at time={time}, speed={}", time - 10));
            return lines;
        }
    }
    lines.push("failed to converge".into());
    lines
}

#[test]
fn all_102_published_lines_are_reproduced_exactly() {
    let mut lines = 0;
    for (name, flappy, recovery) in [
        ("steady recover_rate=3", false, Recovery::Rate(3)),
        ("steady recover_value=200", false, Recovery::Value(200)),
        ("flappy recover_rate=3", true, Recovery::Rate(3)),
        ("flappy recover_value=200", true, Recovery::Value(200)),
    ] {
        let published: Vec<&str> = TCHANNEL.section(name).collect();
        similar_asserts::assert_eq!(published, run(flappy, recovery), "{}", name);
        lines += published.len();
    }
    assert_eq!(lines, 102);
}
