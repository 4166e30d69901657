//! Searches core for floats, unsafe code, `std` and `alloc`, outside comments and tests.
//!
//! The source is read as tokens, so comments and strings are ignored.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use proc_macro2::{Delimiter, Literal, TokenStream, TokenTree};

use crate::workspace::root;

/// Words that are forbidden in core, also as part of a longer name.
const FORBIDDEN: [&str; 3] = ["f32", "f64", "unsafe"];
/// Crates that core must not use.
const CRATES: [&str; 2] = ["std", "alloc"];

/// Checks every source file below `folder`.
pub fn check(folder: &Path) -> Result<()> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    let lib = folder.join("lib.rs");
    if !files.contains(&lib) {
        bail!("{} is missing: there is nothing to check", lib.display());
    }

    let mut tests = BTreeSet::new();
    let mut findings = Vec::new();
    for file in &files {
        let source = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let scan = scan(&source).with_context(|| file.display().to_string())?;
        tests.extend(scan.tests.iter().flat_map(|module| files_of(file, module)));
        findings.push((file, scan.found));
        if *file == lib && !source.lines().any(|line| line.trim() == "#![no_std]") {
            bail!("{} does not contain `#![no_std]`", file.display());
        }
    }

    let lines: Vec<String> = findings
        .into_iter()
        .filter(|(file, _)| !tests.contains(*file))
        .flat_map(|(file, found)| found.into_iter().map(move |found| (file, found)))
        .map(|(file, (line, what))| {
            let file = file.strip_prefix(root()).unwrap_or(file);
            format!("{}:{line}: {what}", file.display())
        })
        .collect();
    if lines.is_empty() { Ok(()) } else { Err(anyhow!(lines.join("\n"))) }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

/// The files that may contain `mod name;` of `file`.
fn files_of(file: &Path, module: &str) -> [PathBuf; 2] {
    let root = ["lib.rs", "mod.rs"].iter().any(|name| file.ends_with(name));
    let folder = if root { file.with_file_name("") } else { file.with_extension("") };
    [folder.join(format!("{module}.rs")), folder.join(module).join("mod.rs")]
}

/// The findings in one file.
#[derive(Debug, Default)]
struct Scan {
    /// Line and description of each finding.
    found: Vec<(usize, String)>,
    /// Names of modules in separate files that are compiled for tests only.
    tests: Vec<String>,
}

fn scan(source: &str) -> Result<Scan> {
    let tokens: TokenStream = source.parse().map_err(|error| anyhow!("not Rust: {error}"))?;
    let mut scan = Scan::default();
    scan.walk(tokens);
    Ok(scan)
}

impl Scan {
    fn walk(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            if is_test_attribute(&tokens[at..]) {
                at = self.skip_item(&tokens, at + 2);
                continue;
            }
            let line = tokens[at].span().start().line;
            match &tokens[at] {
                TokenTree::Group(group) => self.walk(group.stream()),
                TokenTree::Ident(ident) => {
                    let word = ident.to_string();
                    let path = is_path(&tokens[at + 1..]);
                    if let Some(bad) = FORBIDDEN.iter().find(|bad| word.contains(**bad)) {
                        self.found.push((line, format!("`{bad}` in `{word}`")));
                    } else if CRATES.contains(&&*word) && (path || names_crate(&tokens[..at])) {
                        self.found.push((line, format!("the crate `{word}`")));
                    }
                }
                TokenTree::Literal(literal) if is_float(literal, &tokens[..at]) => {
                    self.found.push((line, format!("the float `{literal}`")));
                }
                TokenTree::Literal(_) | TokenTree::Punct(_) => (),
            }
            at += 1;
        }
    }

    /// The index after the item at `at`. An item ends with `;` or with its last braces.
    fn skip_item(&mut self, tokens: &[TokenTree], mut at: usize) -> usize {
        let start = at;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ';' => {
                    self.tests.extend(module_name(&tokens[start..at]));
                    break;
                }
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    // `use a::{b, c};` continues after its braces.
                    let on =
                        matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ';');
                    return at + usize::from(on);
                }
                _ => (),
            }
        }
        at
    }
}

/// `#[cfg(test)]`, or `#[cfg(all(…))]` with `test` among the conditions.
fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = tokens else { return false };
    let attribute: String = attribute.stream().to_string().split_whitespace().collect();
    let Some(condition) = attribute.strip_prefix("cfg(").and_then(|rest| rest.strip_suffix(')'))
    else {
        return false;
    };
    let all = condition.strip_prefix("all(").and_then(|rest| rest.strip_suffix(')'));
    let test = all.map_or(condition == "test", |all| {
        !all.contains('(') && all.split(',').any(|condition| condition == "test")
    });
    hash.as_char() == '#' && test
}

fn module_name(item: &[TokenTree]) -> Option<String> {
    item.windows(2).find_map(|pair| match pair {
        [TokenTree::Ident(first), TokenTree::Ident(name)] if first == "mod" => {
            Some(name.to_string())
        }
        _ => None,
    })
}

/// Whether `::` follows.
fn is_path(tokens: &[TokenTree]) -> bool {
    let colon = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ':');
    tokens.len() >= 2 && tokens[..2].iter().all(colon)
}

/// Whether `extern crate` or `use` precedes.
fn names_crate(before: &[TokenTree]) -> bool {
    let last = before.last();
    matches!(last, Some(TokenTree::Ident(word)) if *word == "crate" || *word == "use")
}

/// Whether a literal is a float: `1.5`, `1e3`, `1f32`. The `0.1` in `pair.0.1` is not.
fn is_float(literal: &Literal, before: &[TokenTree]) -> bool {
    let dot = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == '.');
    let field = match before {
        [.., other, last] => dot(last) && !dot(other),
        _ => false,
    };
    let text = literal.to_string();
    let number = text.starts_with(|first: char| first.is_ascii_digit());
    let radix = ["0x", "0o", "0b"].iter().any(|prefix| text.starts_with(prefix));
    let digits = text.trim_end_matches("usize").trim_end_matches("isize");
    number && !radix && !field && digits.contains(['.', 'e', 'E', 'f'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<String> {
        scan(source)
            .unwrap()
            .found
            .into_iter()
            .map(|(line, what)| format!("{line}: {what}"))
            .collect()
    }

    #[test]
    fn floats_unsafe_code_and_crates_are_found_with_their_lines() {
        assert_eq!(found("fn f(x: f64) {}"), ["1: `f64` in `f64`"]);
        assert_eq!(found("\n\nfn f() { unsafe { g() } }"), ["3: `unsafe` in `unsafe`"]);
        assert_eq!(found("fn f() -> std::vec::Vec<u8> { g() }"), ["1: the crate `std`"]);
        assert_eq!(found("use std::{fmt, mem};"), ["1: the crate `std`"]);
        assert_eq!(found("extern crate alloc;"), ["1: the crate `alloc`"]);
        assert_eq!(found("use alloc as a;"), ["1: the crate `alloc`"]);
        assert_eq!(found("const A: u64 = x.as_f64_bits();"), ["1: `f64` in `as_f64_bits`"]);
    }

    #[test]
    fn a_float_is_recognised_by_its_digits() {
        for float in ["1.5", "1.", "2e3", "2E3", "1_f32", "0.0f64", "1e-9"] {
            assert_eq!(found(&format!("const A: T = {float};")).len(), 1, "{float}");
        }
        for integer in ["1", "0xfe", "0x1e3", "0xf32", "1_000u64", "3usize", "3isize", "b'e'"] {
            assert!(found(&format!("const A: T = {integer};")).is_empty(), "{integer}");
        }
        assert!(found("fn f() { for _ in 0..10 { t.0 + t.0.1 + t.0 .1; } }").is_empty());
        assert_eq!(found("fn f() { a..1.5 }").len(), 1);
    }

    #[test]
    fn comments_and_strings_are_ignored() {
        for innocent in [
            "// f64 unsafe std::mem",
            "/* f64 /* unsafe */ std:: */",
            "/// `let x: f64 = std::f64::NAN;`\nfn f() {}",
            "//! unsafe",
            "const A: &str = \"unsafe { f64 } // std::\";",
            "const A: &str = r#\"a \" quote, then std::mem\"#;",
            "const A: char = '\"'; const B: &[u8] = b\"f32\";",
            "fn f(standard: u8, alloc: u8) -> u8 { self::std(alloc) }",
        ] {
            assert!(found(innocent).is_empty(), "{innocent}: {:?}", found(innocent));
        }
        assert_eq!(found("const A: &str = \"//\"; type B = f32;"), ["1: `f32` in `f32`"]);
        assert_eq!(found("const A: char = '\"'; type B = f32; // \""), ["1: `f32` in `f32`"]);
        assert_eq!(found("/* a /* b */ c */ type B = f32;"), ["1: `f32` in `f32`"]);
    }

    #[test]
    fn tests_are_skipped_and_code_after_them_is_not() {
        let source = "
            #[cfg(test)]
            #[allow(dead_code)]
            mod tests { use std::mem; const BRACE: char = '}'; fn f() -> f64 { 1.5 } }
            type After = f64;";
        assert_eq!(found(source), ["5: `f64` in `f64`"]);
        assert_eq!(found("#[cfg(test)] extern crate std; type A = f32;").len(), 1);
        assert_eq!(found("#[cfg(test)] use std::{mem, fmt}; type A = f32;").len(), 1);
        assert_eq!(found("#[cfg(all(test, feature = \"x\"))] mod t { type A = f32; }").len(), 0);
        assert_eq!(found("mod a { #[cfg(test)] mod t { type A = f32; } }").len(), 0);
    }

    #[test]
    fn code_that_only_resembles_tests_is_searched() {
        for guilty in [
            "#[cfg(not(test))] mod t { type A = f32; }",
            "#[cfg(any(test, feature = \"x\"))] mod t { type A = f32; }",
            "#[cfg(all(any(test, unix), unix))] mod t { type A = f32; }",
            "#[cfg(feature = \"test\")] mod t { type A = f32; }",
            "mod tests { type A = f32; }",
            "macro_rules! m { () => { 1.5 } }",
            "#[derive(Debug)] struct A(f32);",
        ] {
            assert_eq!(found(guilty).len(), 1, "{guilty}");
        }
    }

    #[test]
    fn a_test_module_in_a_separate_file_is_found() {
        assert_eq!(scan("#[cfg(test)]\nmod oracle;\nmod law;").unwrap().tests, ["oracle"]);
        let files = files_of(Path::new("src/gate/mod.rs"), "oracle");
        assert_eq!(files[0], Path::new("src/gate/oracle.rs"));
        let files = files_of(Path::new("src/rate.rs"), "oracle");
        assert_eq!(files[1], Path::new("src/rate/oracle/mod.rs"));
    }

    #[test]
    fn a_folder_without_a_library_is_an_error() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/test");
        assert!(check(&folder).unwrap_err().to_string().contains("nothing to check"));
    }
}
