//! Every link between pages of the site leads to a file of it, and to an anchor in that file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use html5gum::{DefaultEmitter, Token, Tokenizer};

use crate::test::links::resolve;

/// Checks all pages below `folder`.
pub fn check(folder: &Path) -> Result<()> {
    let mut pages = BTreeMap::new();
    let mut files = BTreeSet::new();
    collect(folder, "", &mut files, &mut pages)?;
    ensure!(pages.contains_key("index.html"), "the site has no index.html");
    let mut dead = BTreeSet::new();
    for (name, page) in &pages {
        for link in &page.links {
            if let Some(why) = fault(name, link, &files, &pages) {
                dead.insert(format!("{name}: {link}: {why}"));
            }
        }
    }
    let lines: Vec<_> = dead.into_iter().collect();
    ensure!(lines.is_empty(), "{} dead links:\n{}", lines.len(), lines.join("\n"));
    Ok(())
}

/// What a page links to, and what can be linked to in it.
struct Page {
    links: BTreeSet<String>,
    anchors: BTreeSet<String>,
    /// A redirect to another page, with the same anchor.
    redirects: bool,
}

impl Page {
    fn read(text: &str) -> Self {
        let (mut links, mut anchors) = (BTreeSet::new(), BTreeSet::new());
        let mut redirects = false;
        let mut emitter = DefaultEmitter::default();
        // The content of a script is not markup.
        emitter.naively_switch_states(true);
        for token in Tokenizer::new_with_emitter(text, emitter).flatten() {
            let Token::StartTag(tag) = token else { continue };
            for (name, value) in &tag.attributes {
                let value = String::from_utf8_lossy(value).into_owned();
                match &***name {
                    b"href" | b"src" => _ = links.insert(value),
                    b"id" | b"name" => _ = anchors.insert(value),
                    b"http-equiv" => redirects |= value == "refresh",
                    _ => (),
                }
            }
        }
        Self { links, anchors, redirects }
    }
}

/// Reads the pages, and lists all files with their paths from the site's root.
fn collect(
    folder: &Path,
    prefix: &str,
    files: &mut BTreeSet<String>,
    pages: &mut BTreeMap<String, Page>,
) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{prefix}{name}");
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files, pages)?;
            continue;
        }
        if name.ends_with(".html") {
            let text = fs::read_to_string(&path).with_context(|| name.clone())?;
            pages.insert(name.clone(), Page::read(&text));
        }
        files.insert(name);
    }
    Ok(())
}

/// Why a link is dead.
fn fault(
    from: &str,
    link: &str,
    files: &BTreeSet<String>,
    pages: &BTreeMap<String, Page>,
) -> Option<String> {
    // Only links within the site: no `https:`, `data:` or `javascript:`.
    if link.split(['/', '#', '?']).next().is_some_and(|begin| begin.contains(':')) {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let path = path.split('?').next().unwrap_or_default();
    let target = if path.is_empty() { Some(from.to_owned()) } else { resolve(from, path) };
    let Some(mut target) = target else { return Some("leaves the site".into()) };
    if path.ends_with('/') {
        target = resolve(from, &format!("{path}index.html"))?;
    }
    if !files.contains(&target) {
        return Some(format!("{target} does not exist"));
    }
    // rustdoc's script marks the lines of a source page.
    if anchor.is_empty() || target.starts_with("rust/src/") {
        return None;
    }
    let known =
        pages.get(&target).is_none_or(|page| page.redirects || page.anchors.contains(anchor));
    (!known).then(|| format!("{target} has no anchor #{anchor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_link_is_found() {
        let files = ["index.html", "a/b.html", "a/index.html", "c.css"].map(str::to_owned);
        let pages = BTreeMap::from([
            ("index.html".to_owned(), Page::read("<h1 id=top>")),
            ("a/b.html".to_owned(), Page::read("<a href='../index.html#top'><img src=d.png>")),
        ]);
        assert_eq!(
            pages["a/b.html"].links,
            BTreeSet::from(["../index.html#top".to_owned(), "d.png".to_owned()])
        );
        let files = BTreeSet::from(files);
        let fault = |link: &str| fault("a/b.html", link, &files, &pages);
        for link in ["../index.html#top", "../c.css?v=2", "./", "#", "https://a.org/b", "data:a"] {
            assert_eq!(fault(link), None, "{link}");
        }
        assert_eq!(fault("c.css").unwrap(), "a/c.css does not exist");
        assert_eq!(fault("../index.html#end").unwrap(), "index.html has no anchor #end");
        assert_eq!(fault("../../x").unwrap(), "leaves the site");
    }
}
