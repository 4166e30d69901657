//! Fleets with a shared budget: requirements of each scenario and each fault. The complete page,
//! with more seeds, is `tests/golden/shared.md`.

use std::path::Path;

use tidegate_sim::shared::{Figures, Fleet, Outcome, run};

fn figures(name: &str, law: &str, change: impl FnOnce(&mut Fleet)) -> Figures {
    seeded(11, name, law, change)
}

fn seeded(seed: u64, name: &str, law: &str, change: impl FnOnce(&mut Fleet)) -> Figures {
    let file = format!("{}/scenarios/shared/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut fleet = Fleet::read(Path::new(&file)).unwrap();
    change(&mut fleet);
    let figures = run(&fleet, law, seed).unwrap();
    for stretch in &figures {
        assert_eq!(stretch.lost, 0, "{name}");
    }
    figures
}

#[test]
fn eight_members_use_a_limit_fully_and_evenly() {
    // `adaptive` has to find the limit, and is still searching in this minute.
    for (law, least) in [("fixed", 0.97), ("adaptive", 0.9)] {
        let [is] = &figures("eight", law, |_| ())[..] else { panic!() };
        assert!(is.util >= least, "{law}: {is:?}");
        assert!(is.throttled <= 0.005, "{law}: {is:?}");
        assert!(is.jain >= 0.98, "{law}: {is:?}");
        assert!(is.local >= 0.9, "{law}: {is:?}");
    }
}

#[test]
fn hints_help_a_fleet() {
    // The result of one run depends on how its search began, so this is the median of 21.
    for name in ["eight-retry-after", "eight-remaining", "eight-period"] {
        let runs: Vec<_> = (11..32).map(|seed| seeded(seed, name, "adaptive", |_| ())).collect();
        let median = |of: fn(&Outcome) -> f64| {
            let mut all: Vec<_> = runs.iter().map(|run| of(&run[0])).collect();
            all.sort_by(f64::total_cmp);
            all[10]
        };
        let (util, throttled) = (median(|is| is.util), median(|is| is.throttled));
        assert!(util >= 0.9 && throttled <= 0.01, "{name}: {util} used, {throttled} throttled");
    }
}

#[test]
fn a_fleet_that_calls_ten_times_as_often_finds_the_limit() {
    let runs = [11, 12, 13, 14, 15].map(|seed| seeded(seed, "eight-step", "adaptive", |_| ()));
    for (stretch, least) in [(1, 0.6), (2, 0.85)] {
        let mut used = runs.each_ref().map(|run| run[stretch].util);
        used.sort_by(f64::total_cmp);
        assert!(used[2] >= least, "stretch {stretch}: {used:?}");
    }
}

#[test]
fn no_fault_admits_more_calls_than_the_limit_plus_the_leases() {
    for name in ["eight-crash", "eight-evict", "eight-outage", "eight-lossy", "eight-step", "local"]
    {
        for (index, is) in figures(name, "fixed", |_| ()).iter().enumerate() {
            // The quota's burst is five calls.
            assert!(is.excess <= 5.0 + is.leases as f64, "{name}, stretch {index}: {is:?}");
        }
    }
}

#[test]
fn an_outage_costs_little_and_does_not_end_in_a_burst() {
    let stretches = figures("eight-outage", "fixed", |_| ());
    let [_, during, after, rest] = &stretches[..] else { panic!() };
    assert!(during.util > 0.9 && during.alone > 0.9 && during.messages == 0.0, "{during:?}");
    assert!(during.throttled == 0.0 && after.throttled == 0.0, "{during:?} {after:?}");
    assert!(rest.util > 0.99 && rest.alone == 0.0, "{rest:?}");
}

#[test]
fn thousands_of_members_use_a_limit_fully_with_a_known_number_of_messages() {
    let short = |fleet: &mut Fleet| {
        fleet.members = fleet.members.min(3_000);
        fleet.end = "90s".parse().unwrap();
        fleet.stretches[0].from = "60s".parse().unwrap();
    };
    for (name, most) in [("thousand", 650.0), ("thousand-tree", 45.0), ("ten-thousand", 35.0)] {
        let [is] = &figures(name, "fixed", short)[..] else { panic!() };
        assert!(is.util >= 0.95 && is.throttled <= 0.01, "{name}: {is:?}");
        assert!(is.messages <= most, "{name}: {is:?}");
    }
}

#[test]
fn equal_fleets_laws_and_seeds_give_equal_runs() {
    let one = figures("eight-lossy", "adaptive", |_| ());
    let two = figures("eight-lossy", "adaptive", |_| ());
    assert_eq!(format!("{one:?}"), format!("{two:?}"));
}
