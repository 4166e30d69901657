//! Every link between pages leads to a file, and to an anchor in it: in the repository's Markdown, and in the site.
//!
//! Nothing is fetched, so links to other hosts are not checked. The tests that the page of promises names exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use html5gum::{DefaultEmitter, Token, Tokenizer};
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

pub fn in_site(folder: &Path) -> Result<()> {
    let (mut pages, mut files) = (Pages::new(), BTreeSet::new());
    for path in walk(folder)? {
        let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
        if name.ends_with(".html") {
            let text = fs::read_to_string(&path).with_context(|| name.clone())?;
            pages.insert(name.clone(), Page::html(&text));
        }
        files.insert(name);
    }
    ensure!(pages.contains_key("index.html"), "the site has no index.html");
    check(&pages, &files)
}

fn walk(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() { files.extend(walk(&path)?) } else { files.push(path) }
    }
    Ok(files)
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
    /// A redirect to another page, with the same anchor.
    redirects: bool,
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
                Event::Html(text) | Event::InlineHtml(text) => page.add_html(&text),
                _ => (),
            }
        }
        page
    }

    fn html(text: &str) -> Self {
        let mut page = Self::default();
        page.add_html(text);
        page
    }

    fn add_html(&mut self, text: &str) {
        let mut emitter = DefaultEmitter::default();
        // The content of a script is not markup.
        emitter.naively_switch_states(true);
        for token in Tokenizer::new_with_emitter(text, emitter).flatten() {
            let Token::StartTag(tag) = token else { continue };
            for (name, value) in &tag.attributes {
                let value = String::from_utf8_lossy(value).into_owned();
                match &***name {
                    b"href" | b"src" => _ = self.links.insert(value),
                    b"id" | b"name" => _ = self.anchors.insert(value),
                    b"http-equiv" => self.redirects |= value == "refresh",
                    _ => (),
                }
            }
        }
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
    let path = path.split('?').next().unwrap_or_default();
    let target = if path.is_empty() { Some(from.to_owned()) } else { resolve(from, path) };
    let mut target = target.ok_or("leads out")?;
    if !places.contains(&target) {
        let index = format!("{target}/index.html");
        let index = index.trim_start_matches('/');
        if !places.contains(index) {
            return Err(format!("{target} does not exist"));
        }
        target = index.to_owned();
    }
    match pages.get(&target) {
        // rustdoc's script marks the lines of a source page.
        _ if anchor.is_empty() || target.starts_with("rust/src/") => Ok(()),
        Some(page) if page.redirects || page.anchors.contains(anchor) => Ok(()),
        // A file of icons.
        None if target.ends_with(".svg") => Ok(()),
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
             [a](one.md)\n`[b](two.md)`\n\n[d]\n\n[d]: four\n\n<img src=\"five.svg\">\n\n\
             [e](crate::Policy::named)\n\n| `b` | c |\n|---|---|\n| `d` | `e_…`, `… f` in [y](y.rs), ![c](3.svg): `g` |\n",
        );
        let has = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(has(&page.anchors), "more more-1 the-fn-law-5-rules");
        assert_eq!(has(&page.links), "3.svg five.svg four one.md y.rs");
        let tests: Vec<_> = page.tests.iter().map(|(test, file)| (&**test, &**file)).collect();
        assert_eq!(tests, [("e_", "y.rs"), ("f", "y.rs")]);
    }

    #[test]
    fn a_dead_link_is_found() {
        let pages = Pages::from([
            ("index.html".to_owned(), Page::html("<h1 id=top>")),
            ("a/b.html".to_owned(), Page::html("<a href='../index.html#top'><img src=d.png>")),
            ("a/law.md".to_owned(), Page::markdown("# Rules")),
        ]);
        assert_eq!(
            pages["a/b.html"].links,
            BTreeSet::from(["../index.html#top".to_owned(), "d.png".to_owned()])
        );
        let places = ["index.html", "a/b.html", "a/index.html", "a/law.md", "c", "c/lib.rs"];
        let places = BTreeSet::from(places.map(str::to_owned));
        let from = |page: &str, link: &str| follow(page, link, &pages, &places);
        let inside = "../index.html#top ../ ../c/lib.rs?v=2 ./ # ../c/ ../c law.md#rules";
        for link in inside.split(' ').chain(["https://a.org/b", "data:a"]) {
            assert_eq!(from("a/b.html", link), Ok(()), "{link}");
        }
        for (link, why) in [
            ("c", "a/c does not exist"),
            ("../index.html#end", "index.html has no anchor #end"),
            ("law.md#rule", "a/law.md has no anchor #rule"),
            ("../c/lib.rs#L3", "c/lib.rs has no anchor #L3"),
            ("../../x", "leads out"),
            ("/etc/passwd", "leads out"),
        ] {
            assert_eq!(from("a/b.html", link).unwrap_err(), why, "{link}");
        }
    }
}
