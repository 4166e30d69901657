//! Why a mark is not reached: the bound or the trade that stands in its way.

use crate::bars::{Measured, Reached};

/// The bounds that the reasons speak of.
pub const BOUNDS: &str = "\
Two bounds hold for every law that learns from throttled calls alone. *Speed*: with a share *p* of throttled calls, \
the calls that a client makes until a doubled capacity is found, times *p*, are at least ln 2 / *L* \
for cuts of *L* and growth by a constant part; laws that hasten get below, and 1.1 to 1.8 is what \
`aimd`, botocore and this law measure. *Fairness*: hits are luck, and a \
client whose weights have the slope *a* needs *N* = 1 / (*a*² *p* (1 − Jain)) calls of its own until \
luck evens out. Slope is paid for in throttled calls at low rates, so it is 5/16 to 1/2.";

/// One reason, for one metric of some scenarios.
struct Reason {
    metric: &'static str,
    scenarios: &'static [&'static str],
    why: &'static str,
}

const THOUSAND_IN_FLIGHT: &str = "\
A crossing costs the calls of a round trip, a thousand here. So the law grows by no more than a sixteenth \
of a round trip's worth, and stays below the limit for longer.";

const REASONS: &[Reason] = &[
    Reason { metric: "ss_throttled", scenarios: &["a-50x1-remaining"], why: FIFTY },
    Reason { metric: "jain_worker", scenarios: &["a-50x1-remaining"], why: FIFTY },
    Reason {
        metric: "ss_throttled",
        scenarios: &["a-5x5"],
        why: "Fairness: a Jain index of .98 at 2 % takes 17 800 calls of each client, most of the 21 600 \
              that it makes in the day. Fewer throttled calls would cost fairness, which is short already.",
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
        why: "The first rate is searched for from above, and what a search has cut too deep is grown \
              back by parts of a hundred calls or more; a scan has a thousand.",
    },
    Reason {
        metric: "throttles",
        scenarios: &["b-4", "b-10"],
        why: "Three fall to the search for the first rate. The others are one for each epoch, and \
              longer epochs find a grown capacity later.",
    },
    Reason { metric: "throttled", scenarios: &["b-10-strangers"], why: STRANGERS },
    Reason { metric: "time_over_limit", scenarios: &["b-10-strangers"], why: STRANGERS },
    Reason {
        metric: "before_step_jain",
        scenarios: &["c"],
        why: "Fairness: .95 at 0.16 % takes 50 000 calls of each client, 1000 s at 50 calls a second. The \
              limit binds from about 136 s on, and the figure is of 200 s to 300 s.",
    },
    Reason {
        metric: "recovery_s",
        scenarios: &["d-steady"],
        why: "An epoch at 200 calls a second is 1900 calls, or ten seconds, and growth hastens when it is \
              over. Shorter ones cost more throttled calls: the bar for these is 0.65 %, and 0.6 % is reached.",
    },
    Reason {
        metric: "overload_util",
        scenarios: &["d-flappy"],
        why: "The aim is meant at 2 % of throttled calls, the must at 0.7 %, and the law is made for the \
              latter: the two good seconds in three are shorter than an epoch.",
    },
    Reason {
        metric: "util",
        scenarios: &["e-1-reset"],
        why: "A call that would come after the end of its minute waits for the next one, and begins \
              within an interval of it, so that a fleet does not begin together: one call in a \
              hundred. Not to wait is throttled more where clients are many.",
    },
    Reason {
        metric: "throttled",
        scenarios: &["e-5-reset", "e-20-reset"],
        why: "Clients share a hundred calls a minute, and each sees of the others only what is \
              left. What is left of less than one call for each is drawn by lot, and lots collide.",
    },
    Reason {
        metric: "throttled",
        scenarios: &["e-1-retry-after", "e-20-retry-after"],
        why: "Without the number of calls left, the end of a window is seen only by a throttled call: one in \
              a hundred calls where each window is used up. A client that is told of one end knows \
              the capacity and stops short of most others; twenty clients are told one by one.",
    },
    Reason {
        metric: "first_ten_minutes_util",
        scenarios: &["f-backlog"],
        why: "A thousand clients return at once with a backlog. Each begins at half of its good rate, \
              for at the whole of it they would fell the server again (the bar for the peak is 1.12 \
              of the capacity, and 1.09 is reached).",
    },
    Reason {
        metric: "up_s",
        scenarios: &["g"],
        why: "Speed: 15 s at 12 calls a second are 180 calls, and 180 times 0.56 % is 1.0, below what \
              any law was measured at.",
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
        why: "Each client keeps a call or more in line, 3/8 of the root of its window, so that the server \
              never runs dry; those of several clients add up.",
    },
    Reason {
        metric: "eight_jain",
        scenarios: &["j-300"],
        why: "Fairness: .95 at 0.38 % takes 21 000 calls of each client, 9 minutes at 37 calls a \
              second. The eight that count are together for a few.",
    },
    Reason {
        metric: "eight_jain",
        scenarios: &["j-100", "j-100-rtt-5", "j-100-rtt-400"],
        why: "Fairness: .95 at 0.45 % needs 18 000 calls of each client, 24 minutes at 12 calls a \
              second. The eight that count are together for a few minutes.",
    },
    Reason { metric: "ss_util", scenarios: &["s-10000-1"], why: THOUSAND_IN_FLIGHT },
    Reason { metric: "util", scenarios: &["s-10000-1"], why: THOUSAND_IN_FLIGHT },
    Reason {
        metric: "ss_throttled",
        scenarios: &["s-1h-1"],
        why: "At one call an hour a grown capacity should be found within days, not months: a success \
              weighs more the slower the calls are, and one call in eleven pays for that.",
    },
    Reason {
        metric: "jain_process",
        scenarios: &["e-20-retry-after"],
        why: "Each of the twenty makes five calls a minute, 150 in the run.",
    },
    Reason {
        metric: "jain_process",
        scenarios: &["s-0.01-4", "s-1-4", "s-100-4"],
        why: "Fairness: .95 takes 6500 calls of each client at the throttled calls of one call a second, and \
              18 000 at those of a hundred; each makes 4000 in the run.",
    },
    Reason {
        metric: "on_util",
        scenarios: &["i-4-1"],
        why: "After a silence the law does not use the bucket's burst, for other clients may be awake \
              as well: 120 of 124 calls, or 96.8 %, are all there is without it.",
    },
    Reason {
        metric: "on_util",
        scenarios: &["i-4-3"],
        why: "As with one client 96.8 % are all there is without the burst. Each of the three makes \
              forty calls while it is on, and throttled calls shift their rates against each other.",
    },
    Reason {
        metric: "throttles",
        scenarios: &["b-4-rtt-5", "b-10-rtt-5"],
        why: "Before the first throttled call a client sends as fast as answers come: 200 calls a second at \
              5 ms. The search from there down to 4 a second takes six throttled calls more than from 10.",
    },
    Reason {
        metric: "throttles",
        scenarios: &["s-100-1-rtt-400"],
        why: "The 80 calls that are sent before the first answer comes back meet a bucket of 20 that \
              refills with another 20 until the last of them arrives: 40 are throttled whatever the law, \
              but for one that keeps calls waiting before it knows of any limit.",
    },
    Reason {
        metric: "throttles",
        scenarios: &["j-100-rtt-400", "s-100-4-rtt-400"],
        why: "A crossing costs as many throttled calls as calls are in flight, and at 400 ms four times as many \
              are. The law grows more slowly by as much, and gives back only a part of it.",
    },
    Reason {
        metric: "throttles",
        scenarios: &["s-1-4-rtt-5", "s-100-4-rtt-5", "j-100-rtt-5", "s-1-1-rtt-5"],
        why: "The search for the first rate begins twenty times as high. What follows is the same as at \
              100 ms.",
    },
];

const FIFTY: &str = "\
Fifty clients of one call in forty seconds each hear of the bucket as seldom, and fifty calls are spent \
between two words. Steered by a level that old, they overshoot together; five are told ten times as \
often, and are steered well.";
const STRANGERS: &str = "\
The strangers call whatever comes, so each throttled call that the law avoids is a call for them. It takes \
what they leave and does not push them out.";

/// Why this mark is not reached; `None` if it is, or where nobody knows.
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
    fn every_reason_is_for_a_bar() {
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
