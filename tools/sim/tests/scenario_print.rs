//! A scenario file that the simulator prints is the one that it has read.

use std::path::Path;

use tidegate_sim::Scenario;
use tidegate_sim::scenario::files;
use tidegate_sim::worlds::{self, Family, Hints, Purpose};

/// All values of a scenario, without their places in the file.
fn values(scenario: &Scenario) -> String {
    let text = format!("{scenario:?}");
    let mut parts = text.split("span: ");
    let first = parts.next().unwrap().to_owned();
    first + &parts.map(|part| part.split_once(", ").unwrap().1).collect::<String>()
}

#[test]
fn a_printed_scenario_is_read_as_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let read = |file| std::fs::read_to_string(file).unwrap();
    let mut texts: Vec<String> = files(&folder).unwrap().into_iter().map(read).collect();
    for family in Family::ALL {
        let world = |index| worlds::draw(Purpose::Validation, 3, family, index);
        texts.extend((0..20).map(|index| world(index).text(Hints::Everything)));
    }
    texts.push(EVERYTHING_ELSE.into());
    assert!(texts.len() > 200);
    for text in texts {
        let scenario = Scenario::parse(&text, "", "").unwrap();
        let printed = scenario.print();
        let again = Scenario::parse(&printed, "printed", "").expect(&printed);
        assert_eq!(values(&again), values(&scenario), "{text}\n\n{printed}");
        assert_eq!(again.print(), printed);
    }
}

/// What no file of the repository has.
const EVERYTHING_ELSE: &str = r#"
title = "a \"quoted\" title"
end = "1h 30min"
bin = "1500us"
latency = { lognormal = { median = "40ms", sigma = 0.5 } }
[laws.mine]
backoff = { factor = 1.5, most = "1s", jitter = "none" }
[server.window]
limit = 3
width = "7ns"
start = 2
[server.hints]
quota = { always = { limit = 5, period = "1min" } }
remaining = { times = 0.25 }
[[clients]]
law = "mine"
demand = { poisson = "0.000001/d" }
"#;

#[test]
fn rates_and_times_keep_their_units() {
    let text = "end = '90min'\n[server.bucket]\nburst = 1\nrate = '4500.25/h'\n[[clients]]\n";
    let printed = Scenario::parse(text, "", "").unwrap().print();
    for expected in ["end = \"90min\"", "rate = \"4500.25/h\"", "bin = \"1s\""] {
        assert!(printed.contains(expected), "{printed}");
    }
    assert!(!printed.contains("hints"), "{printed}");
}
