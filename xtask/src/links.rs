//! Every link between the repository's Markdown pages leads to a file, and to an anchor in it.
//!
//! Nothing is fetched, so links to other hosts are not checked. The tests that the page of promises names exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Result, ensure};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::workspace::{self, root};

/// The page whose tables name tests: `` `the_start_of_its_name_…` in [a file](…) ``.
const PROMISES: &str = "docs/promises.md";

/// Checks every Markdown page that git tracks, and new ones that it does not ignore.
pub fn in_repository() -> Result<()> {
    let files = workspace::files()?;
    let mut pages = Pages::new();
    for name in files.iter().filter(|name| name.ends_with(".md")) {
        // A deleted file may still be listed.
        let Ok(text) = fs::read_to_string(root().join(name)) else { continue };
        pages.insert(name.clone(), Page::markdown(&text));
    }
    let folders =
        files.iter().flat_map(|name| name.match_indices('/').map(|(end, _)| &name[..end]));
    let places = folders.chain(files.iter().map(String::as_str)).map(str::to_owned).collect();
    check(&pages, &places)?;
    for (test, file) in pages.get(PROMISES).iter().flat_map(|page| &page.tests) {
        let path = resolve(PROMISES, file).unwrap_or_default();
        let text = fs::read_to_string(root().join(path)).unwrap_or_default();
        ensure!(text.contains(test), "{PROMISES}: {file} has no test `{test}`");
    }
    Ok(())
}

type Pages = BTreeMap<String, Page>;

fn check(pages: &Pages, places: &BTreeSet<String>) -> Result<()> {
    let mut dead = Vec::new();
    for (name, page) in pages {
        for link in &page.links {
            if let Err(why) = follow(name, link, pages, places) {
                dead.push(format!("{name}: {link}: {why}"));
            }
        }
    }
    ensure!(dead.is_empty(), "{} dead links:\n{}", dead.len(), dead.join("\n"));
    Ok(())
}

/// What a page links to, and what can be linked to in it.
#[derive(Default)]
pub struct Page {
    pub links: BTreeSet<String>,
    /// Code before a link in the same cell of a table: the start or end of a test's name, with the link.
    tests: Vec<(String, String)>,
    anchors: BTreeSet<String>,
}

impl Page {
    pub fn markdown(text: &str) -> Self {
        let mut page = Self::default();
        let (mut heading, mut names) = (None::<String>, None::<Vec<String>>);
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        for event in Parser::new_ext(text, options) {
            match event {
                // rustdoc checks a link to an item of the crate that includes the page.
                Event::Start(Tag::Link { dest_url, .. }) if dest_url.contains("::") => (),
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    let named = names.iter_mut().flat_map(|names| names.drain(..));
                    page.tests.extend(named.map(|name| (name, dest_url.to_string())));
                    page.links.insert(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors.extend(heading.take().map(|words| anchor(&words, &page.anchors)));
                }
                Event::Start(Tag::TableCell) => names = Some(Vec::new()),
                Event::End(TagEnd::TableCell) => names = None,
                Event::Text(words) | Event::Code(words) if heading.is_some() => {
                    heading.get_or_insert_default().push_str(&words);
                }
                Event::Code(name) => {
                    names
                        .iter_mut()
                        .for_each(|names| names.push(name.trim_matches(['…', ' ']).into()));
                }
                _ => (),
            }
        }
        page
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
fn follow(from: &str, link: &str, pages: &Pages, places: &BTreeSet<String>) -> Result<(), String> {
    // Another host, or `data:` or `mailto:`.
    if link.split(['/', '#', '?']).next().is_some_and(|begin| begin.contains(':')) {
        return Ok(());
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() { Some(from.to_owned()) } else { resolve(from, path) };
    let target = target.ok_or("leads out")?;
    match pages.get(&target) {
        _ if !places.contains(&target) => Err(format!("{target} does not exist")),
        _ if anchor.is_empty() => Ok(()),
        Some(page) if page.anchors.contains(anchor) => Ok(()),
        _ => Err(format!("{target} has no anchor #{anchor}")),
    }
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
    fn a_page_has_the_links_anchors_and_tests_that_git_hosts_show() {
        let page = Page::markdown(
            "# The `fn` law: 5 rules\n\n## More\n\n## More\n\n```\n# no heading\n```\n\
             [a](one.md)\n`[b](two.md)`\n\n[d]\n\n[d]: four\n\n[e](crate::Policy::named)\n\n| `b` | c |\n|---|---|\n| `d` | `e_…`, `… f` in [y](y.rs), ![c](3.svg): `g` |\n",
        );
        let has = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(has(&page.anchors), "more more-1 the-fn-law-5-rules");
        assert_eq!(has(&page.links), "3.svg four one.md y.rs");
        let tests: Vec<_> = page.tests.iter().map(|(test, file)| (&**test, &**file)).collect();
        assert_eq!(tests, [("e_", "y.rs"), ("f", "y.rs")]);
    }

    #[test]
    fn a_dead_link_is_found() {
        let pages = Pages::from([("a/law.md".to_owned(), Page::markdown("# Rules"))]);
        let places = BTreeSet::from(["a/law.md", "c", "c/lib.rs"].map(str::to_owned));
        let from = |page: &str, link: &str| follow(page, link, &pages, &places);
        for link in ["../c/lib.rs", "../c/", "../c", "law.md#rules", "https://a.org/b", "data:a"] {
            assert_eq!(from("a/b.md", link), Ok(()), "{link}");
        }
        for (link, why) in [
            ("c", "a/c does not exist"),
            ("law.md#rule", "a/law.md has no anchor #rule"),
            ("../c/lib.rs#L3", "c/lib.rs has no anchor #L3"),
            ("../../x", "leads out"),
            ("/etc/passwd", "leads out"),
        ] {
            assert_eq!(from("a/b.md", link).unwrap_err(), why, "{link}");
        }
    }
}
