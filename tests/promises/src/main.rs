//! `tidegate-promises`: the exhaustive walk.

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let known = ["--quick", "--json"];
    if let Some(unknown) = arguments.iter().find(|word| !known.contains(&word.as_str())) {
        eprintln!(
            "exhaustive: unknown argument `{unknown}`; use --quick (three events fewer) or --json."
        );
        return ExitCode::from(2);
    }
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let kept =
        tidegate_promises::exhaustive::run(if given("--quick") { 3 } else { 0 }, given("--json"));
    ExitCode::from(u8::from(!kept))
}
