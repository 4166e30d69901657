//! Every family of hints over real sockets: `adaptive` parses all headers and uses the best basis.

mod common;

use common::{demo_json, number};
use serde_json::Value;
use std::thread;

/// A family, the API's limits, and the expected result.
struct Case {
    hints: &'static str,
    api: &'static [&'static str],
    hinted: Hinted,
    /// The best possible basis.
    tier: &'static str,
}

/// Which responses have a hint.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hinted {
    No,
    Throttled,
    All,
}

const BUCKET: &[&str] = &["--policy", "gcra", "--limit", "50", "--burst", "50"];
const PERIOD: &[&str] = &["--policy", "window", "--limit", "100", "--period", "2s"];
const TWO: &[&str] = &["--policy", "window", "--limit", "40", "--period", "1s", "--also", "100/3s"];

const TOKENS: &[&str] = &["--limit", "80", "--burst", "20", "--tokens", "30000/1s"];

const CASES: [Case; 17] = [
    Case { hints: "none", api: BUCKET, hinted: Hinted::No, tier: "blind" },
    Case { hints: "none", api: PERIOD, hinted: Hinted::No, tier: "blind" },
    Case { hints: "retry-after", api: PERIOD, hinted: Hinted::Throttled, tier: "blind" },
    Case { hints: "retry-date", api: PERIOD, hinted: Hinted::Throttled, tier: "blind" },
    Case { hints: "aws", api: PERIOD, hinted: Hinted::Throttled, tier: "blind" },
    Case { hints: "quota", api: BUCKET, hinted: Hinted::All, tier: "quota" },
    Case { hints: "remaining", api: BUCKET, hinted: Hinted::All, tier: "remaining" },
    Case { hints: "ietf", api: BUCKET, hinted: Hinted::All, tier: "remaining" },
    Case { hints: "openai", api: BUCKET, hinted: Hinted::All, tier: "remaining" },
    Case { hints: "discord", api: PERIOD, hinted: Hinted::All, tier: "remaining" },
    Case { hints: "github", api: PERIOD, hinted: Hinted::All, tier: "remaining" },
    Case { hints: "ratelimit", api: PERIOD, hinted: Hinted::All, tier: "remaining" },
    Case { hints: "ietf", api: PERIOD, hinted: Hinted::All, tier: "remaining" },
    Case { hints: "ietf", api: TWO, hinted: Hinted::All, tier: "remaining" },
    Case { hints: "retry-after", api: TOKENS, hinted: Hinted::Throttled, tier: "blind" },
    Case { hints: "openai", api: TOKENS, hinted: Hinted::All, tier: "remaining" },
    Case { hints: "ietf", api: TOKENS, hinted: Hinted::All, tier: "remaining" },
];

#[test]
fn adaptive_understands_every_family_and_uses_the_best_basis() {
    thread::scope(|scope| {
        for case in &CASES {
            scope.spawn(|| case.check());
        }
    });
}

impl Case {
    fn check(&self) {
        let fleet = ["--seconds", "6", "--processes", "2", "--workers", "4"];
        let args = [&fleet[..], self.api, &["--law", "adaptive", "--hints", self.hints]].concat();
        let document = demo_json(&args);
        let run = &document["runs"][0];
        let Case { hints, api, hinted, tier } = self;
        let at = format!("{hints} {api:?}: {run}");

        assert_eq!(number(run, "lost"), 0.0, "{at}");
        assert_eq!(number(run, "ignored"), 0.0, "{at}");
        let (responses, answered) = (number(run, "responses"), number(run, "answered"));
        let expected = match hinted {
            Hinted::No => 0.0,
            Hinted::Throttled => responses - answered,
            Hinted::All => responses,
        };
        assert_eq!(number(run, "told"), expected, "{at}");
        let tiers = ["open", "blind", "quota", "remaining"].map(|tier| count(run, tier));
        assert_eq!(tiers.iter().sum::<f64>(), responses, "{at}");
        let best = ["quota", "remaining"].into_iter().rfind(|tier| count(run, tier) > 0.0);
        assert_eq!(best.unwrap_or("blind"), *tier, "{at}");
        assert!(count(run, tier) > 0.0, "{at}");
        assert!(count(run, tier) >= count(run, "blind"), "blind despite hints: {at}");

        // A generous bound, so that a busy machine does not fail the test.
        assert!(number(run, "throttled") < 0.4, "{at}");
        assert!(number(run, "utilisation") > 0.2, "{at}");
    }
}

fn count(run: &Value, tier: &str) -> f64 {
    run["tiers"][tier].as_f64().unwrap_or(0.0)
}
