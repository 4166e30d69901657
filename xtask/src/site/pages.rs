//! The Markdown pages of the site, copied from the repository with links that work outside it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::links::{links, resolve};
use crate::workspace::root;

/// The chapters in order, as mdBook reads them.
const SUMMARY: &str = include_str!("summary.txt");
/// The page that links the parts of the site that are not Markdown.
const REFERENCE: &str = include_str!("reference.txt");

/// Pages that rustdoc renders, and where.
const IN_RUSTDOC: [(&str, &str); 2] = [
    ("core/docs/adaptive.md", "rust/tidegate/law/struct.Adaptive.html"),
    ("core/docs/shared.md", "rust/tidegate/shared/index.html"),
];

/// Writes the book's sources into `folder`. Links to other files of the repository lead to `repository`, or become
/// plain text without one.
pub fn stage(folder: &Path, repository: Option<&str>) -> Result<()> {
    let chapters = links(SUMMARY);
    let write = |name: &str, text: &[u8]| {
        let path = folder.join(name.replace("README.md", "index.md"));
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, text).with_context(|| path.display().to_string())
    };
    let read = |name: &str| fs::read(root().join(name)).with_context(|| name.to_owned());
    write("book.toml", include_bytes!("book.toml"))?;
    write("site.css", include_bytes!("site.css"))?;
    write("src/SUMMARY.md", SUMMARY.replace("README.md", "index.md").as_bytes())?;
    write("src/reference.md", REFERENCE.as_bytes())?;
    for name in chapters.iter().filter(|name| *name != "reference.md") {
        let mut text = without_badges(&String::from_utf8(read(name)?)?);
        for link in links(&text) {
            let (path, anchor) = link.split_at(link.find('#').unwrap_or(link.len()));
            if path.is_empty() || path.contains(':') {
                continue;
            }
            let target = resolve(name, path).with_context(|| format!("{name}: {link}"))?;
            if target.ends_with(".svg") {
                write(&format!("src/{target}"), &read(&target)?)?;
                continue;
            }
            let address = address(name, &target, &chapters, repository);
            let address = address.map(|address| address + anchor);
            text = relink(&text, &link, address.as_deref()).with_context(|| name.clone())?;
        }
        write(&format!("src/{name}"), text.as_bytes())?;
    }
    Ok(())
}

/// The parts that other tools render are where the pages link to them.
pub fn check(site: &Path) -> Result<()> {
    for place in links(REFERENCE) {
        ensure!(site.join(&place).is_file(), "the site has no {place}");
    }
    Ok(())
}

/// A page without the lines that only show a badge, which another site serves.
fn without_badges(page: &str) -> String {
    page.split_inclusive('\n').filter(|line| !line.starts_with("[![")).collect()
}

/// Where a link from the page `from` to a file or folder leads; `None` if it becomes text.
fn address(
    from: &str,
    target: &str,
    chapters: &BTreeSet<String>,
    repository: Option<&str>,
) -> Option<String> {
    let up = "../".repeat(from.matches('/').count());
    if let Some((_, address)) = IN_RUSTDOC.iter().find(|(page, _)| *page == target) {
        return Some(format!("{up}{address}"));
    }
    let pages = [target.to_owned(), format!("{target}/README.md")];
    if let Some(page) = pages.iter().find(|page| chapters.contains(*page)) {
        return Some(format!("{up}{}", page.replace("README.md", "index.md")));
    }
    repository.map(|repository| format!("{repository}/blob/HEAD/{target}"))
}

/// The text with another address of a link, or with the link's words alone.
fn relink(text: &str, link: &str, address: Option<&str>) -> Result<String> {
    let end = format!("]({link})");
    ensure!(text.contains(&end), "write [{link}] as an inline link");
    if let Some(address) = address {
        return Ok(text.replace(&end, &format!("]({address})")));
    }
    let parts = text.split(&end).collect::<Vec<_>>();
    let (last, linked) = parts.split_last().context("no text")?;
    let words = linked.iter().map(|part| {
        let (before, words) = part.rsplit_once('[').context("a link without words")?;
        Ok(format!("{before}{words}"))
    });
    Ok(words.collect::<Result<String>>()? + last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_page_of_the_site_or_to_the_repository_or_is_text() {
        let chapters = ["README.md", "docs/node.md", "tools/README.md"].map(str::to_owned);
        let chapters = BTreeSet::from(chapters);
        let there = |target| address("docs/node.md", target, &chapters, Some("https://a.org/b"));
        for (target, expected) in [
            ("README.md", "../index.md"),
            ("tools", "../tools/index.md"),
            ("core/docs/shared.md", "../rust/tidegate/shared/index.html"),
            ("core/src", "https://a.org/b/blob/HEAD/core/src"),
        ] {
            assert_eq!(there(target).as_deref(), Some(expected));
        }
        assert_eq!(address("docs/node.md", "core/src", &chapters, None), None);
        let text = "# a\n\n[![b](https://a.org/b.svg)](c.md)\nSee [`a`](x.rs) and [b\nc](x.rs).";
        let text = without_badges(text);
        assert_eq!(relink(&text, "x.rs", None).unwrap(), "# a\n\nSee `a` and b\nc.");
        let relinked = relink(&text, "x.rs", Some("y")).unwrap();
        assert_eq!(relinked, "# a\n\nSee [`a`](y) and [b\nc](y).");
        assert!(relink(&text, "z.rs", None).is_err());
    }

    #[test]
    fn every_page_of_the_site_can_be_staged() {
        let folder = std::env::temp_dir().join(format!("tidegate-book-{}", std::process::id()));
        stage(&folder, None).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }
}
