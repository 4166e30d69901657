//! The command line.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn sim(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tidegate-sim"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn file(name: &str, text: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli");
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// A scenario that is not in the repository, with other counts, rates and units.
const OWN: &str = r#"
title = "seven clients and a limit by the minute"
end = "10min"
latency = { exponential = "80ms" }
[server.window]
limit = 33
width = "17s"
[[clients]]
processes = 7
demand = { poisson = "20/min" }
"#;

#[test]
fn a_list_names_every_scenario_and_marks_the_peers() {
    let list = stdout(&sim(&["list"]));
    for part in ["  day ", "  a-5x5 ", "  none\n", "  aimd\n", "  aws-cubic (peer)\n"] {
        assert!(list.contains(part), "{part:?} is not in {list}");
    }
}

#[test]
fn a_custom_scenario_runs_with_chosen_laws_and_seeds() {
    let path = file("own.toml", OWN);
    let args = ["run", path.to_str().unwrap(), "--law", "aimd,oracle", "--seeds", "11..13"];
    let rows: serde_json::Value =
        serde_json::from_str(&stdout(&sim(&[&args[..], &["--json"]].concat()))).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["scenario"], &rows[0]["law"]), (&"own".into(), &"aimd".into()));
    assert_eq!(rows[0]["seeds"], serde_json::json!([11, 12, 13]));
    for name in ["util", "throttled", "ss_util", "ss_throttled", "jain_process", "jain_worker"] {
        let figure = rows[0]["metrics"][name].as_f64().unwrap();
        assert!((0.0..=1.1).contains(&figure), "{name}: {figure}");
    }
    for name in ["throttles", "wait_p50_ms", "wait_p99_ms", "latency_p50_ms", "peak_1s", "lost"] {
        assert!(rows[0]["metrics"][name].is_number(), "{name}");
    }
    for name in ["time_over_limit", "recovery_s", "up_s", "down_s"] {
        assert!(rows[0]["metrics"][name].is_null(), "{name}");
    }
    let table = stdout(&sim(&args));
    assert!(table.contains("oracle (peer)") && table.contains("seeds 11 to 13"), "{table}");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let path = file("threads.toml", OWN);
    let digests = |threads: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_tidegate-sim"))
            .args(["run", path.to_str().unwrap(), "--seeds", "1..4", "--json"])
            .env("RAYON_NUM_THREADS", threads)
            .output()
            .unwrap();
        stdout(&output)
    };
    assert_eq!(digests("1"), digests("3"));
}

#[test]
fn a_trace_ends_with_the_digest_of_the_json_row() {
    let path = file("trace.toml", OWN);
    let args = ["run", path.to_str().unwrap(), "--law", "fixed", "--seeds", "5"];
    let trace = stdout(&sim(&[&args[..], &["--trace"]].concat()));
    let digest = trace.lines().last().unwrap().strip_prefix("# digest ").unwrap();
    let json = stdout(&sim(&[&args[..], &["--json"]].concat()));
    assert!(json.contains(&format!("\"digests\":[\"{digest}\"]")), "{digest} {json}");
    assert!(trace.lines().filter(|line| line.ends_with("arrives: ok")).count() > 500, "{trace}");
}

#[test]
fn an_error_is_one_line_with_an_exit_status() {
    let bad = file("bad.toml", &OWN.replace("limit = 33", "limit = 33\ncolour = 1"));
    let good = file("good.toml", OWN);
    let (bad, good) = (bad.to_str().unwrap(), good.to_str().unwrap());
    for (args, status, part) in [
        (vec!["run", bad], 2, "bad.toml, line 7: unknown field `colour`, expected "),
        (vec!["run", "nowhere.toml"], 2, "nowhere.toml: cannot be read"),
        (vec!["run", good, "--law", "magic"], 2, "there is no law \"magic\"; the laws are "),
        (vec!["run", good, "--seeds", "3..1"], 2, "must be at most the last"),
        (vec!["run", good, "--json", "--trace"], 2, "cannot be used with"),
    ] {
        let output = sim(&args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{args:?}: {error}");
        assert!(error.contains(part), "{args:?}: {error}");
        assert!(output.stdout.is_empty());
    }
}
