//! Links in the repository's pages have targets. Nothing is fetched: for web addresses, only the
//! syntax is checked. The tests that the page of promises names exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Result, anyhow};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::workspace;

/// The page whose tables name tests: `` `the_start_of_its_name_…` in [a file](…) ``.
const PROMISES: &str = "docs/promises.md";

/// Checks every page that git tracks, and new ones that it does not ignore.
pub fn check(root: &Path) -> Result<()> {
    let files = workspace::files()?;
    let mut pages = BTreeMap::new();
    for name in files.iter().filter(|name| name.ends_with(".md")) {
        // A deleted file may still be listed.
        let Ok(text) = fs::read_to_string(root.join(name)) else { continue };
        pages.insert(name.as_str(), Page::read(&text));
    }
    let there = places(&files);
    let mut dead = Vec::new();
    for (name, page) in &pages {
        for (line, link) in &page.links {
            if let Err(why) = follow(name, link, &pages, &there) {
                dead.push(format!("{name}:{line}: {link}: {why}"));
            }
        }
    }
    for (line, test, file) in pages.get(PROMISES).iter().flat_map(|page| &page.tests) {
        let path = resolve(PROMISES, file).unwrap_or_default();
        let text = fs::read_to_string(root.join(path)).unwrap_or_default();
        if !text.contains(test) {
            dead.push(format!("{PROMISES}:{line}: {file} has no test `{test}`"));
        }
    }
    if dead.is_empty() { Ok(()) } else { Err(anyhow!(dead.join("\n"))) }
}

/// The files, and every folder that contains one.
fn places(files: &[String]) -> BTreeSet<&str> {
    let mut places = BTreeSet::from([""]);
    for name in files {
        let folders = name.match_indices('/').map(|(end, _)| &name[..end]);
        places.extend(folders.chain([name.as_str()]));
    }
    places
}

struct Page {
    /// Links with their lines.
    links: Vec<(usize, String)>,
    /// Code before a link in the same cell of a table: the start or end of a test's name, with the line and the link.
    tests: Vec<(usize, String, String)>,
    anchors: BTreeSet<String>,
}

impl Page {
    fn read(text: &str) -> Self {
        let (mut links, mut tests, mut anchors) = (Vec::new(), Vec::new(), BTreeSet::new());
        let (mut heading, mut names) = (None::<String>, None::<Vec<_>>);
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    let line = text[..range.start].matches('\n').count() + 1;
                    let named = names.iter_mut().flat_map(|names| names.drain(..));
                    tests.extend(named.map(|name| (line, name, dest_url.to_string())));
                    links.push((line, dest_url.into_string()));
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    anchors.extend(heading.take().map(|words| anchor(&words, &anchors)));
                }
                Event::Start(Tag::TableCell) => names = Some(Vec::new()),
                Event::End(TagEnd::TableCell) => names = None,
                Event::Code(name) if names.is_some() => {
                    let name = name.trim_matches(['…', ' ']).to_owned();
                    names.get_or_insert_default().push(name);
                }
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                _ => (),
            }
        }
        Self { links, tests, anchors }
    }
}

/// A heading's anchor as GitHub makes it; the second one with the same words is `words-1`.
fn anchor(words: &str, taken: &BTreeSet<String>) -> String {
    let kept = words.to_lowercase();
    let kept: String = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect();
    let again = (1..).map(|n| format!("{kept}-{n}"));
    let mut free = std::iter::once(kept.clone()).chain(again).filter(|name| !taken.contains(name));
    free.next().unwrap_or_default()
}

/// Checks the target of `link` from the page `from`. The error gives the reason.
fn follow(
    from: &str,
    link: &str,
    pages: &BTreeMap<&str, Page>,
    there: &BTreeSet<&str>,
) -> Result<(), String> {
    if let Some(rest) = link.strip_prefix("https://").or_else(|| link.strip_prefix("http://")) {
        return if is_address(rest) { Ok(()) } else { Err("is no address".into()) };
    }
    // A link to an item of the crate that includes the page: rustdoc checks it.
    if link.contains("::") {
        return Ok(());
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() { Some(from.to_owned()) } else { resolve(from, path) };
    let Some(target) = target else { return Err("leads out of the repository".into()) };
    if !there.contains(target.as_str()) {
        return Err(format!("{target} does not exist"));
    }
    match pages.get(target.as_str()) {
        _ if anchor.is_empty() => Ok(()),
        Some(page) if page.anchors.contains(anchor) => Ok(()),
        Some(_) => Err(format!("{target} has no heading #{anchor}")),
        None => Err(format!("{target} has no headings")),
    }
}

/// A host with a dot, or this machine, without invalid characters.
fn is_address(rest: &str) -> bool {
    let (host, _) = rest.split_once(['/', '?', '#']).unwrap_or((rest, ""));
    let (name, port) = host.split_once(':').unwrap_or((host, "0"));
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    (name.contains('.') || name == "localhost")
        && name.split('.').all(is_label)
        && port.parse::<u16>().is_ok()
        && rest.chars().all(|c| c.is_ascii_graphic() && !"<>\"\\^`{|}".contains(c))
}

/// A relative path from a page, without `.` and `..`; `None` if it leads out.
pub fn resolve(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if path.starts_with('/') {
        return None;
    }
    for part in path.split('/') {
        match part {
            "" | "." => (),
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_the_anchors_that_git_hosts_give_them() {
        let page =
            Page::read("# The `fn` law: 5 rules\n\n## More\n\n## More\n\n```\n# no heading\n```\n");
        let anchors: Vec<&str> = page.anchors.iter().map(String::as_str).collect();
        assert_eq!(anchors, ["more", "more-1", "the-fn-law-5-rules"]);
    }

    #[test]
    fn links_are_found_with_their_lines_and_not_in_code() {
        let page = Page::read(
            "[a](one.md)\n`[b](two.md)`\n\n| t |\n|---|\n| ![c](three.svg) |\n\n[d]\n\n[d]: four\n",
        );
        let links: Vec<_> = page.links.iter().map(|(line, link)| (*line, link.as_str())).collect();
        assert_eq!(links, [(1, "one.md"), (6, "three.svg"), (8, "four")]);
    }

    #[test]
    fn the_tests_of_a_file_are_named_before_it() {
        let page = Page::read(
            "`a` in [x](x.rs)\n\n| `b` | c |\n|---|---|\n| `d` | `e_…`, `… f` in [y](y.rs), [z](z.rs): `g` |\n",
        );
        let tests: Vec<_> =
            page.tests.iter().map(|(n, test, file)| (*n, &**test, &**file)).collect();
        assert_eq!(tests, [(5, "e_", "y.rs"), (5, "f", "y.rs")]);
    }

    #[test]
    fn a_link_leads_to_a_file_a_folder_or_a_heading_or_is_an_error() {
        let files = ["README.md", "core/docs/law.md", "core/src/lib.rs"].map(str::to_owned);
        let pages = BTreeMap::from([
            ("README.md", Page::read("# Top")),
            ("core/docs/law.md", Page::read("# Rules")),
        ]);
        let there = places(&files);
        let from = |page: &str, link: &str| follow(page, link, &pages, &there);
        for link in
            ["core", "core/src/", "./core/docs/law.md#rules", "#top", "https://example.org/a?b#c"]
        {
            assert_eq!(from("README.md", link), Ok(()), "{link}");
        }
        assert_eq!(from("core/docs/law.md", "../../README.md#top"), Ok(()));
        assert_eq!(from("core/docs/law.md", "crate::Policy::named"), Ok(()));
        for (link, why) in [
            ("core/docs/lew.md", "core/docs/lew.md does not exist"),
            ("core/docs/law.md#rule", "core/docs/law.md has no heading #rule"),
            ("core/src/lib.rs#L3", "core/src/lib.rs has no headings"),
            ("../other", "leads out of the repository"),
            ("/etc/passwd", "leads out of the repository"),
            ("https://example", "is no address"),
            ("https://exa mple.org", "is no address"),
            ("http://example.org:99999/", "is no address"),
        ] {
            assert_eq!(from("README.md", link).unwrap_err(), why, "{link}");
        }
    }
}
