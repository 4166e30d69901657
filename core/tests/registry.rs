//! Checks the lists of laws outside of this crate, which are generated from its registry.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test that panics fails")]

use std::{env, fs};

use tidegate::Policy;

/// Checks the text between two lines of a file. With `BLESS` set, writes it.
fn is_written(file: &str, before: &str, after: &str, expected: &str) {
    let path = format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once(before).unwrap();
    let (_, tail) = rest.split_once(after).unwrap();
    let written = [head, before, expected, after, tail].concat();
    if env::var_os("BLESS").is_some() {
        fs::write(&path, written).unwrap();
    } else {
        assert!(
            text == written,
            "{file} differs: run BLESS=1 cargo test -p tidegate --test registry"
        );
    }
}

fn lines(line: impl Fn(&str, &str) -> String) -> String {
    Policy::NAMES.iter().map(|name| line(name, Policy::about(name).unwrap())).collect()
}

#[test]
fn the_table_of_the_guide_has_every_law() {
    let rows = lines(|name, about| format!("| `{name}` | {about} |\n"));
    is_written("docs/choosing.md", "| law | what it does |\n|---|---|\n", "\nThe last five", &rows);
}

#[test]
fn the_npm_package_has_every_law() {
    let about = lines(|name, about| format!(" * - `\"{name}\"`: {about}\n"));
    is_written("wasm/ts/law.ts", "How the rate responds to outcomes.\n *\n", " */", &about);
    let names = lines(|name, _| format!("  \"{name}\",\n"));
    is_written("wasm/ts/law.ts", "export const LAWS = [\n", "] as const;", &names);
}
