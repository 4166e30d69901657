//! Why a target is missed: the bound or the trade-off behind it.

use crate::bars::{Measured, Reached};

/// The bounds that the reasons refer to.
pub const BOUNDS: &str = "\
Two bounds hold for every law that learns only from throttled calls. *Speed*: with a share *p* of \
throttled calls, the number of calls that a client makes until it finds a doubled capacity, times \
*p*, is at least ln 2 / *L* for cuts of *L* and growth by a constant share. Laws with accelerated \
growth can be lower. `aimd`, botocore and this law measure 1.1 to 1.8. *Fairness*: which client is \
throttled is random, and a client whose weights have the slope *a* needs *N* = 1 / (*a*² *p* (1 − \
Jain)) calls until that averages out. A steeper slope costs throttled calls at low rates, so it is \
5/16 to 1/2.";

/// A reason for one metric of some scenarios.
struct Reason {
    metric: &'static str,
    scenarios: &'static [&'static str],
    why: &'static str,
}

const THOUSAND_IN_FLIGHT: &str = "\
Exceeding the limit costs the calls of a round trip, a thousand here. So the law grows by at most \
a sixteenth of those, and stays below the limit for longer.";

const REASONS: &[Reason] = &[
    Reason { metric: "ss_throttled", scenarios: &["a-50x1-remaining"], why: FIFTY },
    Reason { metric: "jain_worker", scenarios: &["a-50x1-remaining"], why: FIFTY },
    Reason {
        metric: "ss_throttled",
        scenarios: &["a-5x5"],
        why: "Fairness: a Jain index of .98 at 2 % takes 17 800 calls of each client, most of the 21 600 \
              that it makes in the day. Fewer throttled calls would reduce fairness, which is \
              already below its target.",
    },
    Reason {
        metric: "jain_worker",
        scenarios: &["a-5x5"],
        why: "Fairness: a Jain index of .98 at 2 % takes 17 800 calls of each client, most of the 21 600 \
              that it makes in the day, and the day begins with unequal rates.",
    },
    Reason {
        metric: "time_over_limit",
        scenarios: &["b-10"],
        why: "The first rate is searched from above. A rate that the search cut too far regrows \
        over hundreds of calls, and a scan has a thousand.",
    },
    Reason {
        metric: "throttles",
        scenarios: &["b-4", "b-10"],
        why: "Three are due to the search for the first rate. The others are one per epoch, and \
        longer epochs find increased capacity later.",
    },
    Reason { metric: "throttled", scenarios: &["b-10-strangers"], why: STRANGERS },
    Reason { metric: "time_over_limit", scenarios: &["b-10-strangers"], why: STRANGERS },
    Reason {
        metric: "before_step_jain",
        scenarios: &["c"],
        why: "Fairness: .95 at 0.16 % takes 50 000 calls of each client, 1000 s at 50 calls a second. The \
              limit binds from about 136 s on, and the figure covers 200 s to 300 s.",
    },
    Reason {
        metric: "recovery_s",
        scenarios: &["d-steady"],
        why: "An epoch at 200 calls a second is 1900 calls, or ten seconds, and growth accelerates \
        after it. Shorter epochs cost more throttled calls: their target is 0.65 %, and 0.6 % is \
        reached.",
    },
    Reason {
        metric: "overload_util",
        scenarios: &["d-flappy"],
        why: "The aim assumes 2 % of throttled calls, the requirement 0.7 %, and the law is \
        designed for the latter: the two good seconds of three are shorter than an epoch.",
    },
    Reason {
        metric: "util",
        scenarios: &["e-1-reset"],
        why: "A call that would arrive after the end of its minute waits for the next one, and is \
        sent within an interval of its start, so that a fleet does not start together: one call in \
        a hundred. Without this wait, many clients are throttled more.",
    },
    Reason {
        metric: "throttled",
        scenarios: &["e-5-reset", "e-20-reset"],
        why: "Clients share a hundred calls a minute, and each sees the others only through the \
        remaining calls. Less than one remaining call per client is claimed at random, and claims \
        collide.",
    },
    Reason {
        metric: "throttled",
        scenarios: &["e-1-retry-after", "e-20-retry-after"],
        why: "Without the remaining calls, only a throttled call reveals an exhausted window: one \
        in a hundred calls if each window is exhausted. A client that was throttled once knows the \
        capacity and stays below it in most windows, but twenty clients learn it one by one.",
    },
    Reason {
        metric: "first_ten_minutes_util",
        scenarios: &["f-backlog"],
        why: "A thousand clients return at once with a backlog. Each starts at half of its last \
        good rate, because the whole would overload the server again (the target for the peak is \
        1.12 of the capacity, and 1.09 is reached).",
    },
    Reason {
        metric: "up_s",
        scenarios: &["g"],
        why: "Speed: 15 s at 12 calls a second are 180 calls, and 180 times 0.56 % is 1.0, below \
        the measurement of any law.",
    },
    Reason {
        metric: "settled_jain",
        scenarios: &["g"],
        why: "Fairness: .95 at 0.56 % needs 14 000 calls of each client, 19 minutes at 12 calls a \
              second. The capacity changes every 200 s.",
    },
    Reason {
        metric: "server_p50_ms",
        scenarios: &["h"],
        why: "Each client keeps one or more calls queued, 3/8 of the square root of its limit, so \
        that the server is never idle. The queues of several clients add up.",
    },
    Reason {
        metric: "eight_jain",
        scenarios: &["j-300"],
        why: "Fairness: .95 at 0.38 % takes 21 000 calls of each client, 9 minutes at 37 calls a \
              second. The eight clients are present together for a few minutes.",
    },
    Reason {
        metric: "eight_jain",
        scenarios: &["j-100", "j-100-rtt-5", "j-100-rtt-400"],
        why: "Fairness: .95 at 0.45 % needs 18 000 calls of each client, 24 minutes at 12 calls a \
              second. The eight clients are present together for a few minutes.",
    },
    Reason { metric: "ss_util", scenarios: &["s-10000-1"], why: THOUSAND_IN_FLIGHT },
    Reason { metric: "util", scenarios: &["s-10000-1"], why: THOUSAND_IN_FLIGHT },
    Reason {
        metric: "ss_throttled",
        scenarios: &["s-1h-1"],
        why: "At one call an hour increased capacity should be found within days, not months, so \
        successes weigh more at lower rates. This costs one throttled call in eleven.",
    },
    Reason {
        metric: "jain_process",
        scenarios: &["e-20-retry-after"],
        why: "Each of the twenty clients makes five calls a minute, 150 in the run.",
    },
    Reason {
        metric: "jain_process",
        scenarios: &["s-0.01-4", "s-1-4", "s-100-4"],
        why: "Fairness: .95 takes 6500 calls of each client at the throttled share of one call a \
        second, and 18 000 at that of a hundred. Each makes 4000 in the run.",
    },
    Reason {
        metric: "on_util",
        scenarios: &["i-4-1"],
        why: "After a pause the law does not use the bucket's burst, because other clients may \
        also be active: without it, 120 of 124 calls, or 96.8 %, are possible.",
    },
    Reason {
        metric: "on_util",
        scenarios: &["i-4-3"],
        why: "As with one client, 96.8 % are possible without the burst. Each of the three makes \
        forty calls while it is on, and throttled calls make their rates differ.",
    },
    Reason {
        metric: "throttles",
        scenarios: &["b-4-rtt-5", "b-10-rtt-5"],
        why: "Before the first throttled call a client sends as fast as responses arrive: 200 \
        calls a second at 5 ms. The search from there down to 4 a second takes six throttled calls more than from 10.",
    },
    Reason {
        metric: "throttles",
        scenarios: &["s-100-1-rtt-400"],
        why: "The 80 calls that are sent before the first response arrives find a bucket of 20, \
        and another 20 are refilled until the last of them arrives: 40 are throttled with any law \
        that does not delay calls before it knows a limit.",
    },
    Reason {
        metric: "throttles",
        scenarios: &["j-100-rtt-400", "s-100-4-rtt-400"],
        why: "Exceeding the limit costs as many throttled calls as calls are in flight, four times \
        as many at 400 ms. The law grows more slowly by the same factor, which compensates only a \
        part.",
    },
    Reason {
        metric: "throttles",
        scenarios: &["s-1-4-rtt-5", "s-100-4-rtt-5", "j-100-rtt-5", "s-1-1-rtt-5"],
        why: "The search for the first rate starts twenty times as high. The rest is as at \
              100 ms.",
    },
];

const FIFTY: &str = "\
Each of fifty clients makes a call every forty seconds and learns the bucket's level as rarely, \
with fifty calls in between. With such an old level they overshoot together. Five clients learn it \
ten times as often, which is enough.";
const STRANGERS: &str = "\
The strangers call regardless of the limit, so each throttled call that the law avoids is a call \
for them. It uses what they leave and does not displace them.";

/// Why this target is missed. `None` if it is met or the reason is unknown.
pub fn reason(measured: &Measured) -> Option<&'static str> {
    if measured.reached() == Reached::Both {
        return None;
    }
    let mut reasons = REASONS.iter();
    let found = reasons.find(|reason| {
        reason.metric == measured.metric && reason.scenarios.contains(&measured.scenario)
    });
    found.map(|reason| reason.why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::BARS;

    #[test]
    fn every_reason_belongs_to_a_target() {
        for reason in REASONS {
            for scenario in reason.scenarios {
                let is_for = |bar: &&crate::bars::Bar| {
                    bar.metric == reason.metric && bar.scenarios.contains(scenario)
                };
                assert!(BARS.iter().any(|bar| is_for(&bar)), "{scenario}: {}", reason.metric);
            }
        }
    }
}
