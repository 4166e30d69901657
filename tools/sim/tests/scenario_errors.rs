//! Every error in a scenario file is one sentence with the file, the line and the reason.

use tidegate_sim::Scenario;

const GOOD: &str = r#"title = "a world"
end = "60s"
latency = { uniform = ["25ms", "75ms"] }

[server]
outages = [{ from = "10s", to = "20s" }]

[server.bucket]
burst = 10
rate = "4/s"
steps = [{ at = "30s", rate = "2/s" }]

[server.hints]
retry_after = { times = 0.5 }

[[clients]]
threads = 2
demand = { poisson = "1/s" }
law = "none"

[[stretch]]
name = "half"
from = "30s"
to = "60s"
show = ["util"]

[[convergence]]
name = "down_s"
toward = "down"
at = "30s"
until = "60s"
width = "5s"
rate = "2/s"
"#;

#[test]
fn an_error_names_its_file_line_and_reason() {
    for (good, bad, line, reason) in [
        ("end = \"60s\"", "ende = \"60s\"", 2, "unknown field `ende`"),
        ("end = \"60s\"", "end = 60", 2, "expected a time with a unit"),
        ("end = \"60s\"", "end = \"60\"", 2, "is not a time like"),
        ("end = \"60s\"", "end = \"0s\"", 2, "must be after its start"),
        ("end = \"60s\"", "end = \"200years\"", 2, "longer than a century"),
        ("end = \"60s\"", "end = \"60s\"\nbin = \"0s\"", 3, "bin must be longer than zero"),
        ("end = \"60s\"", "end = \"99years\"\nbin = \"1ms\"", 3, "choose a longer one"),
        ("end = \"60s\"", "end = ", 2, "string values must be quoted"),
        ("\"25ms\", \"75ms\"", "\"75ms\", \"25ms\"", 3, "must not be above its second"),
        ("uniform = [\"25ms\", \"75ms\"]", "gauss = \"5ms\"", 3, "unknown variant `gauss`"),
        ("uniform = [\"25ms\", \"75ms\"]", "constant = \"0s\"", 3, "a latency must be above zero"),
        ("to = \"20s\"", "to = \"10s\"", 5, "an outage must end after it begins"),
        (
            "[server.bucket]",
            "faults = [{ from = \"1s\", to = \"1s\", share = 0.5, delay = \"1s\" }]\n[server.bucket]",
            5,
            "a fault must end after it begins",
        ),
        (
            "[server.bucket]",
            "faults = [{ from = \"1s\", to = \"2s\", share = 1.5, delay = \"1s\" }]\n[server.bucket]",
            5,
            "the share of a fault",
        ),
        (
            "[server.bucket]",
            "[server.queue]\nworkers = 1\nplaces = 1\nservice = \"1s\"\n[server.bucket]",
            5,
            "exactly one of",
        ),
        (
            "[server.bucket]\nburst = 10\nrate = \"4/s\"\nsteps = [{ at = \"30s\", rate = \"2/s\" }]",
            "flight = 1\n[server.queue]\nworkers = 1\nplaces = 1\nservice = \"1s\"",
            5,
            "need a bucket or a window",
        ),
        ("burst = 10", "burst = 0", 5, "burst must be 1 or more"),
        ("burst = 10", "burst = -1", 9, "expected u32"),
        ("burst = 10", "burst = 10\nstart = 11", 5, "more than its burst"),
        ("rate = \"4/s\"", "rate = \"4\"", 10, "the unit is missing"),
        ("rate = \"4/s\"", "rate = 4", 10, "expected a rate with a unit"),
        ("rate = \"4/s\"", "rate = \"4/week\"", 10, "the unit must be one of"),
        ("rate = \"4/s\"", "rate = \"-4/s\"", 10, "must be positive"),
        ("rate = \"4/s\"", "rate = \"1./s\"", 10, "must be positive"),
        ("rate = \"4/s\"", "rate = \"0.0000001/s\"", 10, "at most six decimals"),
        ("rate = \"4/s\"", "rate = \"1000001/s\"", 10, "a million calls per second"),
        ("rate = \"4/s\"", "rate = \"99999999999999999999/s\"", 10, "must be positive"),
        ("at = \"30s\", rate", "at = \"0s\", rate", 5, "in order of time"),
        ("times = 0.5", "times = -0.5", 5, "a skewed hint"),
        ("times = 0.5", "sometimes = 0.5", 14, "unknown variant `sometimes`"),
        ("threads = 2", "threads = 0", 16, "at least 1 process and 1 thread"),
        ("threads = 2", "threads = 2000000", 5, "at most 1048576"),
        ("threads = 2", "from = \"30s\"\nto = \"20s\"", 16, "join before they leave"),
        ("threads = 2", "thread = 2", 17, "unknown field `thread`"),
        ("poisson = \"1/s\"", "poisson = \"0/s\"", 16, "a rate above 0"),
        ("threads = 2", "timeout = \"0s\"", 16, "a timeout must be longer"),
        ("poisson = \"1/s\" }", "work = 5 }\nsteady = true", 16, "can be steady"),
        ("poisson = \"1/s\"", "work = 0", 16, "at least 1 call"),
        ("law = \"none\"", "law = \"magic\"", 16, "there is no law \"magic\"; the laws are "),
        ("to = \"60s\"\nshow", "to = \"61s\"\nshow", 21, "no later than the world"),
        ("show = [\"util\"]", "show = [\"utility\"]", 25, "unknown variant `utility`"),
        ("show = [\"util\"]", "show = [\"util\"]\ntimes = 2", 21, "needs `every` to repeat"),
        (
            "show = [\"util\"]",
            "show = [\"util\"]\ntimes = 2\nevery = \"30s\"",
            21,
            "must not repeat after",
        ),
        ("from = \"30s\"", "from = \"30s 500ms\"", 21, "multiples of `bin`"),
        ("until = \"60s\"", "until = \"30s\"", 27, "to be looked for after its change"),
        ("rate = \"2/s\"\n", "", 27, "needs a rate"),
        ("toward = \"down\"", "toward = \"fair\"", 27, "toward fair must not have one"),
    ] {
        let at = GOOD.rfind(good).unwrap_or_else(|| panic!("{good} is not in the good file"));
        let text = format!("{}{bad}{}", &GOOD[..at], &GOOD[at + good.len()..]);
        let error = match Scenario::parse(&text, "world.toml", "world") {
            Ok(_) => panic!("{bad} was taken for good"),
            Err(error) => error.to_string(),
        };
        assert!(error.starts_with(&format!("world.toml, line {line}: ")), "{bad}: {error}");
        assert!(error.contains(reason), "{bad}: {error}");
        assert!(!error.contains('\n'), "{bad}: {error}");
    }
}
