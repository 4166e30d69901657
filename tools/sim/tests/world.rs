//! Client demand, and determinism of runs.

use tidegate::{Instant, Outcome, Span};
use tidegate_sim::trace::What;
use tidegate_sim::{Run, Scenario, World, controllers};

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "test", "test").unwrap()
}

fn run(scenario: &Scenario, law: &str, seed: u64) -> Run {
    World::new(scenario, law, seed).unwrap().run().unwrap()
}

const SHARED: &str = r#"
title = "three processes on a bucket"
end = "120s"
[server]
strangers = "1/s"
[server.bucket]
burst = 10
rate = "5/s"
[[clients]]
processes = 2
threads = 3
[[clients]]
demand = { think = "300ms" }
from = "30s"
to = "90s"
"#;

#[test]
fn a_trace_depends_on_its_seed() {
    let scenario = scenario(SHARED);
    for law in controllers::names() {
        let digests = [1, 1, 2].map(|seed| run(&scenario, law, seed).digest);
        assert_eq!(digests[0], digests[1], "{law}");
        assert_ne!(digests[0], digests[2], "{law}");
    }
}

#[test]
fn a_run_in_slices_equals_a_run_at_once() {
    let scenario = scenario(SHARED);
    let whole = run(&scenario, "aimd", 7);
    let mut world = World::new(&scenario, "aimd", 7).unwrap();
    let mut now = Instant::ZERO;
    while world.advance(now, &mut |_| {}).unwrap() {
        assert_eq!(world.now(), now);
        now += Span::from_millis(333);
    }
    let sliced = world.finish();
    assert_eq!((sliced.digest, &sliced.metrics), (whole.digest, &whole.metrics));
}

/// A scenario of one process on a server that serves everything, with these clients.
fn generous(clients: &str) -> Scenario {
    scenario(&format!(
        "title = 'generous'\nend = '100s'\nlatency = {{ constant = '50ms' }}\n[server.bucket]\nburst = \
         1000\nrate = '1000/s'\n[[clients]]\n{clients}"
    ))
}

#[test]
fn the_number_of_calls_follows_the_demand() {
    for (clients, least, most) in [
        // A round trip of 100 ms for 100 s.
        ("demand = 'closed'", 998.0, 1_000.0),
        ("processes = 2\nthreads = 3", 5_988.0, 6_000.0),
        ("demand = { work = 17 }", 17.0, 17.0),
        // 100 s / (100 ms + 150 ms) with a standard deviation of 12.
        ("demand = { think = '150ms' }", 350.0, 450.0),
        // 500 with a standard deviation of 22, and the first call is immediate.
        ("demand = { poisson = '5/s' }", 411.0, 590.0),
        // More than one thread can make, so it is never idle.
        ("demand = { poisson = '20/s' }", 995.0, 1_000.0),
        // 50, and 200 in the next 20 s, with a standard deviation of 16, and none after that.
        (
            "demand = { poisson = '1/s' }\nsteps = [{ at = '50s', rate = '10/s' }, { at = '70s', rate = '0/s' }]",
            190.0,
            310.0,
        ),
        ("demand = { on_off = { on = '10s', off = '40s' } }", 195.0, 202.0),
        ("from = '20s'\nto = '30s'", 99.0, 101.0),
    ] {
        let calls = run(&generous(clients), "none", 1).metrics.get("calls").unwrap();
        assert!((least..=most).contains(&calls), "{clients}: {calls} calls");
    }
}

#[test]
fn steady_clients_start_at_random_and_others_at_once() {
    let arrivals = |steady| {
        let clients = format!("threads = 500\ndemand = {{ poisson = '0.1/s' }}\nsteady = {steady}");
        let scenario = generous(&clients);
        let mut world = World::new(&scenario, "none", 1).unwrap();
        world.advance(Instant::from_nanos(1_000_000_000), &mut |_| {}).unwrap();
        world.tally().calls()
    };
    // 500 threads within 20 ms, and 50 calls a second (those of the last 50 ms have not arrived).
    assert!((500..560).contains(&arrivals(false)));
    assert!((25..75).contains(&arrivals(true)));
}

#[test]
fn a_late_response_is_a_failure_for_the_client_and_work_for_the_server() {
    // With a round trip of 100 ms, the response is there after 100 ms or it is too late.
    for (timeout, outcome, calls) in [
        ("101ms", Outcome::Ok, 1.0),
        ("99ms", Outcome::Failed, 2.0),
        ("20ms", Outcome::Failed, 2.0),
    ] {
        let scenario = generous(&format!("timeout = '{timeout}'\nto = '0.11s'"));
        let mut backs = Vec::new();
        let mut world = World::new(&scenario, "none", 1).unwrap();
        while world
            .advance(Instant::MAX, &mut |step| {
                if let What::Back { outcome, sent, .. } = step.what {
                    backs.push((outcome, step.at - sent));
                }
            })
            .unwrap()
        {}
        // A response after the client gave up returns immediately.
        let longest = Span::from_millis(if outcome == Outcome::Ok { 100 } else { 99 });
        assert_eq!(backs[0].0, outcome, "{timeout}");
        assert!(backs[0].1 <= longest, "{timeout}: {:?}", backs[0]);
        let run = world.finish();
        assert!(run.metrics.get("calls").unwrap() >= calls, "{timeout}");
        let throttles = run.metrics.get("throttles").unwrap();
        assert_eq!(throttles > 0.0, outcome == Outcome::Failed, "{timeout}");
    }
}

#[test]
fn an_overload_outlasts_its_trigger_only_if_clients_give_up_and_retry() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/metastable-70.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let patient = text.replace("timeout = \"1s\"\n", "");
    assert_ne!(text, patient);
    let end = |text: &str| {
        let metrics = run(&scenario(text), "none", 1).metrics;
        ["before_util", "end_util", "recovery_s"].map(|name| metrics.get(name).unwrap())
    };
    let [before, after, recovery] = end(&text);
    assert!(before > 0.95 && after < 0.01 && recovery == 525.0, "{before} {after} {recovery}");
    let [before, after, recovery] = end(&patient);
    assert!(before > 0.95 && after > 0.95 && recovery < 30.0, "{before} {after} {recovery}");
}

#[test]
fn a_call_beyond_its_deadline_is_lost_and_the_next_one_follows() {
    // Ten threads at ten calls a second with a latency of 100 ms: all must wait.
    let scenario = generous("threads = 20\ndeadline = '50ms'");
    let (mut rejected, mut left) = (0, 0);
    let mut world = World::new(&scenario, "fixed", 1).unwrap();
    world
        .advance(Instant::MAX, &mut |step| match step.what {
            What::Rejected(_) => rejected += 1,
            What::Sent(waited) => {
                assert!(waited <= Span::from_millis(50));
                left += 1;
            }
            _ => {}
        })
        .unwrap();
    let run = world.finish();
    assert_eq!(run.metrics.get("lost"), Some(f64::from(rejected)));
    assert!(rejected > 1_000 && left > 900, "{rejected} rejected, {left} left");
}

#[test]
fn calls_of_a_client_that_leaves_are_withdrawn_not_lost() {
    let scenario = scenario(
        "title = 'leaving'\nend = '100s'\n[server.bucket]\nburst = 1\nrate = \
         '1/s'\n[[clients]]\nthreads = 9\nto = '50s'",
    );
    let (mut withdrawn, mut last) = (0, Instant::ZERO);
    let mut world = World::new(&scenario, "backoff", 1).unwrap();
    world
        .advance(Instant::MAX, &mut |step| match step.what {
            What::Withdrawn => withdrawn += 1,
            What::Sent(_) => last = step.at,
            _ => {}
        })
        .unwrap();
    assert!(last < Instant::ZERO + Span::from_secs(50));
    assert_eq!(world.finish().metrics.get("lost"), Some(0.0));
    assert!((1..=9).contains(&withdrawn), "{withdrawn}");
}

#[test]
fn the_fair_time_of_fixed_work_follows_from_equal_shares() {
    for (clients, limit) in [
        ("demand = { work = 500 }", 122.5),
        ("demand = { work = 500 }\n[[clients]]\nprocesses = 3", 497.5),
        // Two strangers with a call a second each leave half of the rate.
        (
            "demand = { work = 500 }\n[[clients]]\nprocesses = 2\nlaw = 'none'\ndemand = { poisson \
             = '1/s' }",
            245.0,
        ),
    ] {
        let scenario = scenario(&format!(
            "title = 'work'\nend = '5000s'\nstop_when_work_is_done = true\n[server.bucket]\nburst \
             = 10\nrate = '4/s'\n[[clients]]\n{clients}"
        ));
        let metrics = run(&scenario, "none", 1).metrics;
        let (time, share) =
            (metrics.get("time_s").unwrap(), metrics.get("time_over_limit").unwrap());
        assert!((time / share - limit).abs() < 1e-6, "{clients}: {}", time / share);
        assert!((0.9..1.1).contains(&share), "{clients}: {share}");
    }
}

#[test]
fn a_call_given_up_is_not_work_and_unfinished_work_has_no_time() {
    let text = "title = 'work'\nend = '5000s'\nstop_when_work_is_done = true\n[server.bucket]\nburst = \
                4\nrate = '4/s'\n[[clients]]\nthreads = 50\ntries = 2\ndemand = { work = 20 }";
    // It gives up more calls than are served.
    let done = run(&scenario(text), "none", 1).metrics;
    let get = |name| done.get(name).unwrap();
    assert!(get("lost") > 500.0, "{} lost", get("lost"));
    assert_eq!(get("calls") - get("throttles"), 1_000.0);
    assert!((1.0..1.1).contains(&get("time_over_limit")), "{}", get("time_over_limit"));
    let cut_short = run(&scenario(&text.replace("5000s", "200s")), "none", 1).metrics;
    assert_eq!([cut_short.get("time_over_limit"), cut_short.get("time_s")], [None, None]);
}

#[test]
fn convergence_is_found_if_it_occurs_and_not_otherwise() {
    let scenario = scenario(
        "title = 'steps'\nend = '100s'\n[server.bucket]\nburst = 10\nrate = '5/s'\nsteps = [{ at = \
         '50s', rate = '50/s' }]\n[[clients]]\nprocesses = 2\nthreads = 2\n[[convergence]]\nname \
         = 'up_s'\ntoward = 'up'\nat = '40s'\nuntil = '80s'\nwidth = '5s'\nrate = \
         '38/s'\n[[convergence]]\nname = 'never_s'\ntoward = 'up'\nat = '40s'\nuntil = '80s'\nwidth \
         = '5s'\nrate = '99/s'\n[[convergence]]\nname = 'down_s'\ntoward = 'down'\nat = \
         '20s'\nuntil = '80s'\nwidth = '5s'\nrate = '38/s'\n[[convergence]]\nname = \
         'fair_s'\ntoward = 'fair'\nat = '20s'\nuntil = '80s'\nwidth = '10s'\n",
    );
    // Four threads of 100 ms, not throttled from 50 s on: at most 40 calls a second.
    let metrics = run(&scenario, "none", 1).metrics;
    let expected = [("up_s", 10.0), ("never_s", 40.0), ("down_s", 30.0), ("fair_s", 0.0)];
    for (name, value) in expected {
        let found = metrics.get(name).unwrap();
        assert!((found - value).abs() <= 1.0, "{name}: {found}");
    }
}

#[test]
fn two_laws_in_one_controller_are_as_strict_as_the_stricter_one() {
    // Ten calls a second by one law, four in flight by the other. Only a slow server fills four.
    let world = |service, law| {
        let text = format!(
            "title = 'two'\nend = '100s'\nlatency = {{ constant = '1ms' }}\n[server.queue]\nworkers = \
             64\nplaces = 64\nservice = '{service}'\n[[clients]]\nthreads = 8"
        );
        run(&scenario(&text), law, 1).metrics.get("calls").unwrap()
    };
    assert_eq!(world("10ms", "fixed+aimd-concurrency"), world("10ms", "fixed"));
    assert!(world("2s", "fixed+aimd-concurrency") < world("2s", "fixed"));
    // A peer is not a law, and the gem's laws have a delay per thread.
    for name in
        ["fixed+", "+fixed", "fixed+oracle", "fixed+heroku-gradual", "fixed+aimd-concurrency+aimd"]
    {
        assert!(!controllers::is_known(name), "{name}");
    }
}

#[test]
fn equal_clients_without_hints_have_similar_shares_after_forty_thousand_calls_each() {
    let text = "title = 'long'\nend = '4000s'\nmeasure_from = '3000s'\nlatency = { constant = '25ms' \
                }\n[server.bucket]\nburst = 160\nrate = '160/s'\n[[clients]]\nprocesses = 16\nthreads = 8";
    let mut fairness: Vec<f64> = (1..=5)
        .map(|seed| run(&scenario(text), "adaptive", seed).metrics.get("jain_process").unwrap())
        .collect();
    fairness.sort_unstable_by(f64::total_cmp);
    assert!(fairness[2] >= 0.55, "Jain's index: {fairness:?}");
}

/// Those who spend a window's calls at once can take a whole one at each end of a run, and those
/// who spread them cannot.
#[test]
fn the_used_share_of_windows_is_of_what_the_run_covers() {
    for (width, limit) in [(60, 120), (3_600, 3_000), (1, 4)] {
        for phase in [0, 1, 13, 45, 59].map(|sixtieth| width * 1_000 * sixtieth / 60) {
            for end in [20, 30, 60, 61, 90, 150, 179].map(|sixtieth| width * sixtieth / 60 + 2) {
                let scenario = scenario(&format!(
                    "end = '{end}s'\n[server.window]\nlimit = {limit}\nwidth = '{width}s'\n\
                     phase = '{phase}ms'\n[laws.even]\nfixed = {{ rate = '{}/h' }}\n\
                     [[clients]]\nthreads = 4",
                    limit * 3_600 / width
                ));
                for law in ["even", "backoff", "none"] {
                    if law == "none" && width > 60 {
                        continue; // millions of rejections
                    }
                    let metrics = run(&scenario, law, 1).metrics;
                    let [all, half] = ["util", "ss_util"].map(|name| metrics.get(name).unwrap());
                    let run = format!("{law}: {limit} in {width} s, phase {phase} ms, end {end} s");
                    assert!(all <= 1.0 && half <= 1.0, "{run}: {all} {half}");
                    assert!(all > 0.8, "{run}: {all}");
                }
            }
        }
    }
}
