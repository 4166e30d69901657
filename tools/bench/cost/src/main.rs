//! Runs one subject many times, so that callgrind counts only the instructions inside
//! `meter::measured`. `cargo xtask bench cost` runs it and computes the mean.

mod limiters;
mod meter;
mod queue;
mod tiers;

/// The subjects by name, and what they are. Each has the same number of calls, after the same warm-up.
const SUBJECTS: [(&str, &str, fn()); 16] = [
    ("empty", "", limiters::empty),
    ("adaptive-open", "adaptive, no throttled call yet: poll + settle", tiers::open),
    (
        "adaptive-blind",
        "adaptive, throttled calls are all that is known: poll + settle",
        tiers::blind,
    ),
    ("adaptive-blind-waits", "adaptive, a poll that must wait", tiers::blind_waits),
    ("adaptive-remaining", "adaptive, told what is left: poll + settle", tiers::remaining),
    ("adaptive-period", "adaptive, told what is left and until when: poll + settle", tiers::period),
    ("fixed-pair", "fixed: poll + settle", limiters::fixed_pair),
    ("fixed-poll", "fixed: poll", limiters::fixed_poll),
    (
        "fixed-pair-costs",
        "fixed, where calls state their costs: poll + settle",
        limiters::fixed_pair_with_costs,
    ),
    ("queue-empty", "queue before `fixed` in which no call waits: join + settle", queue::empty),
    (
        "queue-1000",
        "queue of 1000 before `fixed`: join + poll + take + settle",
        queue::of_a_thousand,
    ),
    (
        "queue-100000",
        "queue of 100 000 before `fixed`: join + poll + take + settle",
        queue::of_a_hundred_thousand,
    ),
    ("queue-idle", "queue of 1000 before `fixed`: a poll before its time", queue::idle),
    ("pacing", "plain GCRA (gate::Pacing): take", limiters::pacing),
    ("governor", "governor: check, with a clock that costs nothing", limiters::governor),
    ("governor-clock", "governor: check, with its own clock", limiters::governor_with_its_clock),
];

/// Runs the named subject, and prints its number of calls. Without a name, lists the subjects.
fn main() {
    match std::env::args().nth(1) {
        Some(name) => {
            let subject = SUBJECTS.iter().find(|(subject, ..)| *subject == name);
            subject.expect("a subject").2();
            println!("{}", meter::MEASURED);
        }
        None => SUBJECTS.iter().for_each(|(name, what, _)| println!("{name} {what}")),
    }
}
