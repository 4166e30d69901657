//! Follows the guides of `docs/` step by step in an empty folder, as a reader with a checkout does.
//!
//! Each code block of a guide is one of three kinds. A block whose first line is a comment with a
//! file name, such as `// main.ts`, is that file. `sh` is a list of commands, which run in the
//! page's order; `sh background` starts a process that keeps running. `text` is the output of the
//! previous commands: each line must appear, with any numbers. Any other block fails. The
//! TypeScript is also type-checked.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, Result, anyhow, bail};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd, TextMergeStream};

use super::wasm;
use crate::npm;
use crate::programs;
use crate::progress::{step, step_within};
use crate::setup;
use crate::tally::Tally;
use crate::workspace::{empty, find_in, root};

/// The page that lists the guides and their common setup: its server runs beside each guide.
const START: &str = "README";
/// The pages of `docs/` that are not guides.
const OTHERS: [&str; 3] = [START, "measurements", "promises"];
/// The target of the guide that builds for a chip.
const CHIP: &str = "thumbv7em-none-eabihf";
/// The time limit of a guide: an installation and a build, on a busy machine.
const LIMIT: Duration = Duration::from_secs(1_800);

pub fn run(tally: &mut Tally) {
    // The API of the guides. Before other parts build, which may take long.
    tally.verdict("the programs", programs::build);
    let ready = tally.verdict("pack and install", || {
        setup::need(&[npm::TARGET, CHIP])?;
        // The guides build the package again only if it is outdated.
        npm::package()?;
        // The tests' tools, among them the Node version that the guides require.
        wasm::install()?;
        let (_, once) = start()?;
        bash(START, &shell(&once, &output(START)?.join("step")))
    });
    tally.verdict("redis-server", || setup::need(&["redis"]));
    let names = ready.and_then(|()| tally.verdict("the guides", pages));
    for name in names.into_iter().flatten() {
        tally.verdict(&name, || follow(&name));
    }
}

/// The names of the guides, without their extension.
fn pages() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("docs")).context("docs")? {
        let path = entry.context("docs")?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|it| it == "md") && !OTHERS.contains(&&*name) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn read(name: &str) -> Result<Vec<Step>> {
    let page = format!("docs/{name}.md");
    let text = fs::read_to_string(root().join(&page)).with_context(|| page.clone())?;
    steps(&text).context(page)
}

/// The common steps: those that run beside each guide, and those that run once.
fn start() -> Result<(Vec<Step>, Vec<Step>)> {
    Ok(read(START)?.into_iter().partition(|step| matches!(step, Step::Run { goes_on: true, .. })))
}

/// An empty folder for the output of a page's steps.
fn output(name: &str) -> Result<PathBuf> {
    empty(root().join("target/guides/output").join(name))
}

/// Follows a guide in an empty folder outside the checkout: inside, cargo would find a workspace.
fn follow(name: &str) -> Result<()> {
    let folder = env::temp_dir().join(format!("tidegate-{name}-{}", std::process::id()));
    let folder = empty(folder)?;
    let followed = follow_in(&folder, name);
    fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    followed
}

fn follow_in(folder: &Path, name: &str) -> Result<()> {
    let ((around, _), steps) = (start()?, read(name)?);
    let output = output(name)?;
    let script = format!(
        "{}\nexport CARGO_TARGET_DIR='{}'\ncd '{}'\n{}",
        shell(&around, &output.join("around")),
        // Kept between runs.
        root().join("target/guides/target").display(),
        folder.display(),
        shell(&steps, &output.join("step"))
    );
    bash(name, &script)?;
    types(folder, &steps)
}

/// Runs a script in the checkout, with a Node that runs TypeScript and with a Redis server.
fn bash(name: &str, script: &str) -> Result<()> {
    let mut command = Command::new("bash");
    command.arg("-c").arg(format!("{BUILT}{BEFORE}{script}"));
    command.env("XTASK", format!("/proc/{}/exe", std::process::id()));
    command.env("LIVE", programs::path(programs::LIVE));
    command.current_dir(root()).env("TIDEGATE", root());
    command.envs([("CI", "1"), ("NO_COLOR", "1"), ("WRANGLER_SEND_METRICS", "false")]);
    find_in(npm::installed().join("node-24/bin"), &mut command)?;
    step_within(LIMIT, name, command).map(drop)
}

/// Runs the repository's programs without cargo, which would wait for the builds of other parts.
const BUILT: &str = r#"cargo() {
    case "$*" in
        xtask\ *) "$XTASK" "${@:2}" ;;
        run\ --quiet\ --package\ tidegate-live\ --\ *) "$LIVE" "${@:6}" ;;
        *) command cargo "$@" ;;
    esac
}
"#;

/// Ends all processes, and prints their output if a step failed.
const BEFORE: &str = r#"set -eu
trap 'code=$?; trap "" TERM; [ $code = 0 ] || tail -n 40 "$OUTPUT"*; kill 0; exit $code' EXIT
"#;

/// Type-checks a guide's TypeScript with strict settings.
fn types(folder: &Path, steps: &[Step]) -> Result<()> {
    let files = steps.iter().filter_map(|step| match step {
        Step::File { path, .. } => Some(path).filter(|path| path.ends_with(".ts")),
        Step::Run { .. } => None,
    });
    let mut files = files.peekable();
    if files.peek().is_none() {
        return Ok(());
    }
    let tools = npm::installed();
    let mut tsc = Command::new("node");
    tsc.arg(tools.join("typescript/bin/tsc")).current_dir(folder);
    tsc.args(["--ignoreConfig", "--noEmit", "--strict", "--exactOptionalPropertyTypes"]);
    tsc.args(["--noUnusedLocals", "--skipLibCheck", "--target", "es2024"]);
    // The output of `wrangler types` declares a worker's whole environment.
    let declared = "worker-configuration.d.ts";
    if folder.join(declared).exists() {
        tsc.args(["--module", "esnext", "--moduleResolution", "bundler", "--types", "", declared]);
    } else {
        tsc.args(["--module", "nodenext", "--types", "node", "--typeRoots"])
            .arg(tools.join("@types"));
    }
    tsc.args(files);
    step("tsc", tsc)?;
    Ok(())
}

#[derive(Debug, Eq, PartialEq)]
enum Step {
    File {
        path: String,
        text: String,
    },
    /// Run these commands, in the background or to their end.
    Run {
        commands: String,
        goes_on: bool,
        prints: String,
    },
}

fn steps(page: &str) -> Result<Vec<Step>> {
    let (mut steps, mut language) = (Vec::new(), None);
    for event in TextMergeStream::new(Parser::new(page)) {
        match (event, &language) {
            (Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(name))), _) => language = Some(name),
            (Event::Start(Tag::CodeBlock(_)), _) => bail!("an indented code block"),
            (Event::Text(code), Some(name)) => take(&mut steps, name, code.into_string())?,
            (Event::End(TagEnd::CodeBlock), _) => language = None,
            _ => (),
        }
    }
    Ok(steps)
}

fn take(steps: &mut Vec<Step>, language: &str, text: String) -> Result<()> {
    match language {
        "sh" | "sh background" => {
            let goes_on = language != "sh";
            steps.push(Step::Run { commands: text, goes_on, prints: String::new() });
        }
        "text" => match steps.last_mut() {
            Some(Step::Run { prints, .. }) => *prints = text,
            _ => bail!("no command prints this:\n{text}"),
        },
        _ => {
            let first = text.lines().next().unwrap_or_default();
            let name = ["// ", "# "].iter().find_map(|comment| first.strip_prefix(comment));
            let path = name.filter(|name| name.contains('.') && !name.contains(' '));
            let path = path.ok_or_else(|| anyhow!("no file, command or output:\n{text}"))?;
            steps.push(Step::File { path: path.to_owned(), text });
        }
    }
    Ok(())
}

/// The steps as a script. The output of each is in a file whose name begins with `output`.
fn shell(steps: &[Step], output: &Path) -> String {
    let mut script = format!("OUTPUT='{}'\n", output.display());
    for (number, step) in steps.iter().enumerate() {
        _ = match step {
            Step::File { path, text } => write!(
                script,
                "mkdir -p \"$(dirname {path})\"\ncat > {path} <<'END OF FILE'\n{text}END OF FILE\n"
            ),
            Step::Run { commands, goes_on, prints } => write!(
                script,
                "{{\n{commands}}} > \"$OUTPUT-{number}\" 2>&1 < /dev/null{}\n{}",
                if *goes_on { " &" } else { "" },
                expect(prints, number, *goes_on)
            ),
        };
    }
    script
}

/// Searches a step's output for each line, or waits for it if the step keeps running. Numbers and spaces may differ.
fn expect(prints: &str, number: usize, goes_on: bool) -> String {
    const NORMAL: &str = "sed -E 's/[0-9]+/0/g; s/[[:space:]]+/ /g'";
    let mut script = String::new();
    for line in prints.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "...") {
        // Between single quotes of a shell.
        let line = line.replace('\'', "'\\''");
        let normal = format!("\"$(printf %s '{line}' | {NORMAL})\"");
        let found = format!("{NORMAL} \"$OUTPUT-{number}\" | grep -qF -e {normal}");
        _ = if goes_on {
            writeln!(script, "until {found}; do kill -0 $!; sleep 0.1; done")
        } else {
            writeln!(script, "{found} || {{ echo 'not printed: {line}'; exit 1; }}")
        };
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_a_file_a_command_or_the_output_of_a_command() {
        let page = "Words.\n\n```ts\n// src/main.ts\nmain();\n```\n\n```sh\nnode src/main.ts\n```\n\n```text\n3 served\n```\n\n```sh background\nserve\n```\n";
        let run = |commands: &str, goes_on, prints: &str| Step::Run {
            commands: commands.into(),
            goes_on,
            prints: prints.into(),
        };
        let main = "// src/main.ts\nmain();\n";
        let expected = [
            Step::File { path: "src/main.ts".into(), text: main.into() },
            run("node src/main.ts\n", false, "3 served\n"),
            run("serve\n", true, ""),
        ];
        assert_eq!(steps(page).unwrap(), expected);
        for page in ["```ts\nmain();\n```", "```text\n3 served\n```", "    main();\n"] {
            assert!(steps(page).is_err(), "{page}");
        }
    }

    #[test]
    fn printed_output_may_differ_in_numbers_but_not_in_words() {
        let follow = |printed: &str, expected: &str| {
            let page = format!("```sh\necho '{printed}'\n```\n```text\n{expected}\n```\n");
            let output = env::temp_dir().join(format!("tidegate-guide-{}", std::process::id()));
            let mut command = Command::new("bash");
            command.args(["-c", &format!("{BEFORE}{}", shell(&steps(&page).unwrap(), &output))]);
            let success = step("a guide", command).is_ok();
            _ = fs::remove_file(output.with_extension("").to_string_lossy().into_owned() + "-0");
            success
        };
        for (printed, expected, is_it) in [
            ("17 served, 3 throttled", "  20 served, 10 throttled", true),
            ("{ served: 17 } [^\\]", "...\n{ served: 4 } [^\\]", true),
            ("17 served", "17 throttled", false),
            ("served", "17 served", false),
        ] {
            assert_eq!(follow(printed, expected), is_it, "{printed}: {expected}");
        }
    }

    #[test]
    fn every_guide_can_be_read() {
        for name in pages().unwrap() {
            assert!(read(&name).is_ok_and(|steps| !steps.is_empty()), "{name}");
        }
    }
}
