//! Random worlds: their distribution and their figures.

use std::collections::BTreeSet;

use tidegate_sim::Scenario;
use tidegate_sim::scenario::Demand;
use tidegate_sim::worlds::{
    self, Drawn, Family, Figures, Hints, Purpose, Results, Score, Settings, harm, plan,
};

fn draw(purpose: Purpose, number: u64, worlds: u32, only: Option<Family>) -> Vec<Drawn> {
    let turn = only.as_ref().map_or(&worlds::TURN[..], std::slice::from_ref);
    let world = |(family, index)| worlds::draw(purpose, number, family, index);
    plan(worlds, turn).into_iter().map(world).collect()
}

fn texts(worlds: &[Drawn]) -> BTreeSet<String> {
    worlds.iter().map(|world| world.text(Hints::Everything)).collect()
}

#[test]
fn a_seed_draws_the_same_worlds_and_no_other_seed_does() {
    let first = texts(&draw(Purpose::Validation, 7, 200, None));
    assert_eq!(first.len(), 200, "all worlds differ");
    assert_eq!(first, texts(&draw(Purpose::Validation, 7, 200, None)));
    for (purpose, number) in [(Purpose::Validation, 8), (Purpose::Development, 7)] {
        assert!(first.is_disjoint(&texts(&draw(purpose, number, 200, None))));
    }
    // A family's worlds do not depend on whether the other families are drawn.
    let strict = texts(&draw(Purpose::Validation, 7, 10, Some(Family::Strict)));
    assert!(strict.is_subset(&first));
}

#[test]
fn every_world_is_a_scenario_within_the_documented_ranges() {
    for family in Family::ALL {
        for world in draw(Purpose::Validation, 3, 60, Some(family)) {
            for hints in Hints::ALL {
                let name = world.file(hints);
                let scenario = Scenario::parse(&world.text(hints), &name, &name).unwrap();
                let server = scenario.server.get_ref();
                assert_eq!(server.hints.is_silent(), hints == Hints::Blind, "{name}");
                let closed = scenario.groups().next().unwrap().demand == Demand::Closed;
                assert_eq!(closed, world.facts.saturated, "{name}");
            }
            if family < Family::Noise {
                check(&world);
            }
        }
    }
}

fn check(world: &Drawn) {
    let Drawn { name, family, facts, .. } = world;
    let scenario = Scenario::parse(&world.text(Hints::Everything), name, name).unwrap();
    let server = scenario.server.get_ref();
    let group = scenario.groups().next().unwrap();
    let (rate, pool) = match (&server.bucket, &server.window) {
        (Some(bucket), None) => (bucket.rate.as_per_second(), bucket.burst),
        (None, Some(window)) => {
            let width = window.width.seconds();
            assert!((1.0..=86_400.0).contains(&width) && width.fract() == 0.0, "{name}");
            (f64::from(window.limit) / width, window.limit)
        }
        _ => panic!("{name}: neither a bucket nor a window"),
    };
    assert!((rate / facts.rate - 1.0).abs() < 1e-3, "{name}: {rate} is {}", facts.rate);
    assert!((0.99 / 86_400.0..=10_000.1).contains(&rate), "{name}: {rate} a second");
    assert!((1..=60).contains(&group.processes), "{name}: {} clients", group.processes);
    assert!((1..=64).contains(&group.threads), "{name}: {} threads", group.threads);
    assert_eq!((facts.clients, facts.pool), (group.processes, pool), "{name}");
    match family {
        Family::Small => assert!(pool < group.processes, "{name}"),
        Family::Strict => assert_eq!((pool, group.processes), (1, 1), "{name}"),
        Family::Pools => assert!((5..=40).contains(&pool) && pool >= group.processes, "{name}"),
        Family::Second => assert_eq!(server.window.as_ref().unwrap().width.seconds(), 1.0),
        _ => assert!(pool >= group.processes, "{name}"),
    }
    assert_eq!(server.work.is_some() || *family == Family::App, {
        *family == Family::Streams || *family == Family::App
    });
}

fn settings(laws: &[&str], hints: &[Hints]) -> Settings {
    let laws = laws.iter().map(|law| law.to_string()).collect();
    Settings { laws, hints: hints.to_vec(), seeds: 2 }
}

#[test]
fn without_pacing_no_call_waits_below_the_limit_and_with_a_fixed_rate_some_do() {
    let worlds = draw(Purpose::Validation, 1, 12, Some(Family::App));
    let settings = settings(&["none", "fixed"], &[Hints::Blind, Hints::Remaining]);
    let results = worlds::run(&worlds, &settings).unwrap();
    assert!(results.failed.is_empty(), "{:?}", results.failed);
    let figures = Figures::new(&worlds, &settings, &results);
    let wait = |law: &str| {
        figures.rows.iter().find(|row| row.law == law && row.hints == "none").unwrap().wait.unwrap()
    };
    let none = wait("none");
    assert_eq!((none.median, none.p90, none.worst), (1.0, 1.0, 1.0));
    assert!(none.worlds >= 10, "hammering is throttled in {} of 12", 12 - none.worlds);
    assert!(wait("fixed").worst > 2.0, "{:?}", wait("fixed"));
    // A law that reads no hint is not hurt by one.
    assert!(!figures.hurt.iter().any(|hurt| hurt.law == "none"), "{:?}", figures.hurt);
}

#[test]
fn a_hint_hurts_if_it_costs_more_than_the_bounds() {
    let blind = Score {
        rejected: Some(0.01),
        unused: Some(0.02),
        unfair: Some(0.05),
        latency: Some(100.0),
        ..Score::default()
    };
    for (told, expected) in [
        (Score { rejected: Some(0.0151), ..blind }, vec!["rejected"]),
        // Half as many again, but only 0.2 points of all calls.
        (Score { rejected: Some(0.0149), ..blind }, vec![]),
        (Score { unused: Some(0.051), ..blind }, vec!["unused"]),
        (Score { unused: Some(0.049), ..blind }, vec![]),
        (Score { unfair: Some(0.151), ..blind }, vec!["unfair"]),
        (Score { latency: Some(111.0), ..blind }, vec!["latency"]),
        (Score { latency: Some(109.0), unfair: None, ..blind }, vec![]),
        (Score { rejected: Some(0.5), latency: Some(1e6), ..blind }, vec!["rejected", "latency"]),
    ] {
        assert_eq!(harm(&blind, &told), expected, "{told:?}");
    }
    let none = Score { rejected: Some(0.0), ..blind };
    let few = |share| Score { rejected: Some(share), ..blind };
    assert!(harm(&none, &few(0.0029)).is_empty());
    assert_eq!(harm(&none, &few(0.0031)), vec!["rejected"]);
}

#[test]
fn a_harm_that_every_obedient_client_suffers_does_not_count() {
    let worlds = draw(Purpose::Validation, 1, 1, Some(Family::Saturated));
    let settings = settings(&["none"], &[Hints::Blind, Hints::RetryAfter]);
    let of = |unused| Score { unused: Some(unused), ..Score::default() };
    for (forced, hurt) in [(0.1, 1), (0.2, 0)] {
        let mut results = Results::default();
        for (hints, law, oracle) in [(Hints::Blind, 0.1, 0.1), (Hints::RetryAfter, 0.2, forced)] {
            results.scores.insert((0, 0, hints), of(law));
            results.obedient.insert((0, hints), of(oracle));
        }
        results.again.insert((0, 0), of(0.2));
        let figures = Figures::new(&worlds, &settings, &results);
        let judged = &figures.judged[0];
        assert_eq!((figures.hurt.len(), judged.hurt, judged.by_chance), (hurt, hurt, hurt));
    }
}

#[test]
fn every_figure_of_mixed_traffic_is_finite_and_every_share_a_share() {
    let draw = |&family| worlds::draw(Purpose::Validation, 1, family, 1);
    let worlds: Vec<Drawn> = worlds::MIXED.iter().map(draw).collect();
    let settings = Settings { seeds: 1, ..settings(&["adaptive"], &[Hints::Everything]) };
    let results = worlds::run(&worlds, &settings).unwrap();
    assert!(results.failed.is_empty(), "{:?}", results.failed);
    assert_eq!(results.scores.len(), 15);
    for (&(world, ..), score) in &results.scores {
        let (of, Drawn { family, facts, .. }) = (format!("{score:?}"), &worlds[world]);
        let Score { rejected, unused, unfair, latency, job, up, down, lacking, back } = *score;
        let shares = [rejected, unused, unfair, lacking].into_iter().flatten();
        assert!(shares.into_iter().all(|share| (0.0..=1.0).contains(&share)), "{family:?}: {of}");
        let (leaps, joins) = (*family == Family::Leaps, *family == Family::Latecomer);
        // A doubled rate can be found within a second.
        let rest = [latency, job, up.filter(|_| !joins), down, back].into_iter().flatten();
        assert!(rest.into_iter().all(|it| it.is_finite() && it > 0.0), "{family:?}: {of}");
        let judged = facts.saturated || *family == Family::Strangers;
        assert_eq!((rejected.is_some(), unused.is_some()), (true, judged), "{family:?}: {of}");
        assert_eq!(
            [up, down, lacking].map(|it| it.is_some()),
            [leaps || joins, leaps, joins],
            "{family:?}: {of}"
        );
        assert_eq!(job.is_some(), *family == Family::Strangers, "{family:?}: {of}");
    }
}

#[test]
fn the_committed_page_is_of_this_law() {
    const LAW: &str = "adaptive";
    let committed = std::fs::read_to_string("../../tests/golden/worlds.md").unwrap();
    for family in [Family::Cold, Family::Outages, Family::Strict, Family::Pools] {
        // As many as in the page.
        let worlds = draw(Purpose::Validation, 1, 5, Some(family));
        let settings = Settings { seeds: 4, ..settings(&[LAW], &[Hints::Blind, Hints::Quota]) };
        let results = worlds::run(&worlds, &settings).unwrap();
        let figures = Figures::new(&worlds, &settings, &results);
        let page = worlds::page(Purpose::Validation, 1, &settings, &figures);
        let section = |page: &str| {
            page.split("\n## ").find(|it| it.starts_with(family.name())).unwrap().to_owned()
        };
        let committed = section(&committed);
        for row in section(&page).lines().filter(|row| row.contains(LAW)) {
            assert!(
                committed.contains(row),
                "worlds.md is stale, cargo xtask bench worlds writes it: {row}"
            );
        }
    }
}
