//! The same scenario, law and seed give the same trace natively and in WebAssembly.

use std::path::{Path, PathBuf};
use std::process::Command;

use tidegate_sim::{Scenario, World};

/// They cover Poisson, think and work demand, logarithms and exponentials, hints, several kinds of
/// servers, integer laws and floating-point peers.
const RUNS: [(&str, &str, u64); 5] = [
    ("strangers", "aimd", 1),
    ("strangers", "netflix-vegas", 2),
    ("b-4-strangers", "aws-cubic", 3),
    ("l", "decorr", 4),
    ("e-5-remaining", "heroku-remaining", 5),
];

const HOST: &str = r#"
const { readFileSync } = require("node:fs");
const [, module, ...runs] = process.argv;
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(module)));
for (let i = 0; i < runs.length; i += 3) {
    const [law, file, seed] = runs.slice(i, i + 3);
    const text = Buffer.concat([Buffer.from(law), readFileSync(file)]);
    const at = exports.text(text.length);
    new Uint8Array(exports.memory.buffer).set(text, at);
    const world = exports.open(law.length, Number(seed), 0);
    exports.advance(world, Infinity);
    exports.digest(world);
    const digest = new Float64Array(exports.memory.buffer, exports.numbers_at(), 2);
    console.log(Array.from(digest, (half) => half.toString(16).padStart(8, "0")).join(""));
    exports.close(world);
}
"#;

#[test]
fn five_runs_have_equal_digests_natively_and_in_node() {
    // `cargo xtask test sim` has already built the module.
    let module = std::env::var_os("TIDEGATE_SIM_WASM").map_or_else(build, PathBuf::from);
    let mut node = Command::new("node");
    node.args(["--eval", HOST, "--"]).arg(module);
    let mut native = Vec::new();
    for (name, law, seed) in RUNS {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scenarios/{name}.toml"));
        let scenario = Scenario::read(&file).unwrap();
        let run = World::new(&scenario, law, seed).unwrap().run().unwrap();
        assert!(run.calls > 500, "{name} has too few calls: {} calls", run.calls);
        native.push(run.digest.to_string());
        node.arg(law).arg(file).arg(seed.to_string());
    }
    let output = node.output().expect("Node is not on the PATH: `cargo xtask setup` brings it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let wasm: Vec<&str> = str::from_utf8(&output.stdout).unwrap().lines().collect();
    assert_eq!(wasm, native);
}

/// Builds the module in a separate directory, because the build that runs this test may hold the
/// lock.
fn build() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("wasm");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--package", "tidegate-sim-wasm"])
        .args(["--target", "wasm32-unknown-unknown", "--target-dir"])
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .unwrap();
    assert!(status.success(), "no module: is the target there? `cargo xtask setup` brings it");
    target.join("wasm32-unknown-unknown/release/tidegate_sim_wasm.wasm")
}
