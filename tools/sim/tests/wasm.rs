//! The same scenario, law and seed give the same trace and figures natively and in the page's
//! module.

use std::path::Path;
use std::process::Command;

use tidegate_sim::{Scenario, World};

/// Together they cover every kind of server, demand, latency, hint and measure, laws with integers,
/// laws of their own, and peers with floating-point numbers.
const RUNS: [(&str, &[&str]); 12] = [
    ("b-4", &["none", "backoff"]),
    ("e-5", &["adaptive", "oracle"]),
    ("e-5-reset", &["heroku-remaining", "adaptive"]),
    ("e-20-retry-after", &["adaptive", "backoff"]),
    ("strangers", &["aimd", "aws-cubic"]),
    ("l", &["adaptive", "nall-cubic"]),
    ("i-4-1", &["adaptive"]),
    ("j-5", &["aimd-concurrency", "heroku-gradual"]),
    ("g", &["adaptive", "aimd+vegas"]),
    ("h", &["tchannel"]),
    ("autoscaling", &["adaptive"]),
    ("own", &["mine", "autosleeper"]),
];

const OWN: &str = "
end = '2min'
[laws.mine]
backoff = { base = '1ms', most = '15min', factor = 1.6, jitter = 'equal', attempts = 9 }
[server.bucket]
burst = 5
rate = '90/min'
[[clients]]
processes = 4
threads = 2
";

/// Prints the digest and the metrics of each run, as the page's engine reads them.
const HOST: &str = r#"
const { readFileSync } = require("node:fs");
const [, module, ...runs] = process.argv;
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(module)));
const numbers = () => new Float64Array(exports.memory.buffer, exports.numbers_at(), exports.numbers_length());
for (let i = 0; i < runs.length; i += 3) {
    const [law, file, seed] = runs.slice(i, i + 3);
    const text = Buffer.concat([Buffer.from(law), readFileSync(file)]);
    const at = exports.text(text.length);
    new Uint8Array(exports.memory.buffer).set(text, at);
    const world = exports.open(law.length, Number(seed));
    exports.advance(world, Infinity);
    exports.digest(world);
    console.log(Array.from(numbers(), (half) => half.toString(16).padStart(8, "0")).join(""));
    exports.metrics(world);
    const values = new DataView(numbers().slice().buffer);
    const names = Buffer.from(exports.memory.buffer, exports.text_at(), exports.text_length()).toString().split("\n");
    console.log(names.map((name, i) => `${name} ${Number.isNaN(values.getFloat64(8 * i, true)) ? "-" : values.getBigUint64(8 * i, true)}`).join());
    exports.close(world);
}
"#;

#[test]
#[ignore = "`cargo xtask test web` builds the module and runs it"]
fn runs_have_equal_digests_and_metrics_natively_and_in_node() {
    let mut node = Command::new("node");
    node.args(["--eval", HOST, "--"]).arg(std::env::var_os("TIDEGATE_SIM_WASM").unwrap());
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own.toml");
    std::fs::write(&own, OWN).unwrap();
    let mut native = Vec::new();
    for (seed, (name, laws)) in (1..).zip(RUNS) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scenarios/{name}.toml"));
        let file = if name == "own" { &own } else { &file };
        let scenario = Scenario::read(file).unwrap();
        for law in laws {
            let run = World::new(&scenario, law, seed).unwrap().run().unwrap();
            assert!(run.calls > 100, "{name} has too few calls: {} calls", run.calls);
            let metric = |(name, value): &(_, Option<f64>)| match value {
                Some(value) => format!("{name} {}", value.to_bits()),
                None => format!("{name} -"),
            };
            let metrics: Vec<String> = run.metrics.0.iter().map(metric).collect();
            native.extend([run.digest.to_string(), metrics.join(",")]);
            node.arg(law).arg(file).arg(seed.to_string());
        }
    }
    let output = node.output().expect("Node is not on the PATH: `cargo xtask setup` brings it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let wasm: Vec<&str> = str::from_utf8(&output.stdout).unwrap().lines().collect();
    assert_eq!(wasm, native);
}
