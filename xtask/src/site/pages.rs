//! The Markdown pages of the site, copied from the repository with links that work outside it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

use crate::links::resolve;

/// The chapters in order, as mdBook reads them.
const SUMMARY: &str = include_str!("summary.txt");
/// The page that links the parts of the site that are not Markdown.
const REFERENCE: &str = include_str!("reference.txt");
const BOOK: &str = include_str!("book.toml");
const STYLE: &str = include_str!("site.css");

/// Pages that rustdoc renders, and where.
const IN_RUSTDOC: [(&str, &str); 2] = [
    ("core/docs/adaptive.md", "rust/tidegate/law/struct.Adaptive.html"),
    ("core/docs/shared.md", "rust/tidegate/shared/index.html"),
];

/// Writes the book's sources into `folder`. Links to other files of the repository lead to `repository`, or become
/// plain text without one.
pub fn stage(root: &Path, folder: &Path, repository: Option<&str>) -> Result<()> {
    let names = chapters(SUMMARY);
    let chapters: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let write = |name: &str, text: &[u8]| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, text).with_context(|| path.display().to_string())
    };
    write("book.toml", BOOK.as_bytes())?;
    write("site.css", STYLE.as_bytes())?;
    write("src/SUMMARY.md", SUMMARY.replace("README.md", "index.md").as_bytes())?;
    write("src/reference.md", REFERENCE.as_bytes())?;
    for name in chapters.iter().filter(|name| **name != "reference.md") {
        let text = fs::read_to_string(root.join(name)).with_context(|| (*name).to_owned())?;
        let mut images = Vec::new();
        let page = Page { name, chapters: &chapters, repository };
        let text = page.relink(&without_badges(&text), &mut images)?;
        write(&format!("src/{}", name.replace("README.md", "index.md")), text.as_bytes())?;
        for image in images {
            write(
                &format!("src/{image}"),
                &fs::read(root.join(&image)).with_context(|| image.clone())?,
            )?;
        }
    }
    Ok(())
}

/// A page without the lines that only show a badge, which another site serves.
fn without_badges(page: &str) -> String {
    page.split_inclusive('\n').filter(|line| !line.starts_with("[![")).collect()
}

/// The pages that a summary lists.
fn chapters(summary: &str) -> Vec<String> {
    let links = Parser::new(summary).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    });
    links.collect()
}

/// A page whose links are rewritten.
struct Page<'a> {
    /// Its path in the repository.
    name: &'a str,
    chapters: &'a BTreeSet<&'a str>,
    repository: Option<&'a str>,
}

/// The rewritten link.
enum Link {
    Same,
    To(String),
    Text,
}

impl Page<'_> {
    /// The text with links for the site. The images it shows are added to `images`.
    fn relink(&self, text: &str, images: &mut Vec<String>) -> Result<String> {
        let mut changes = Vec::new();
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            let (Event::Start(Tag::Link { link_type, dest_url, .. })
            | Event::Start(Tag::Image { link_type, dest_url, .. })) = &event
            else {
                continue;
            };
            if *link_type == LinkType::Autolink {
                continue;
            }
            ensure!(
                *link_type == LinkType::Inline,
                "{}: write [{dest_url}] as an inline link",
                self.name
            );
            let is_image = matches!(event, Event::Start(Tag::Image { .. }));
            if let (true, Some(image)) = (is_image, resolve(self.name, dest_url)) {
                images.push(image);
                continue;
            }
            let whole = &text[range.clone()];
            let (inner, _) = whole.rsplit_once("](").context("a link without an address")?;
            match self.follow(dest_url) {
                Link::Same => (),
                Link::To(address) => changes.push((range, format!("{inner}]({address})"))),
                Link::Text => changes.push((range, inner[1..].to_owned())),
            }
        }
        let mut relinked = text.to_owned();
        for (range, new) in changes.into_iter().rev() {
            relinked.replace_range(range, &new);
        }
        Ok(relinked)
    }

    fn follow(&self, link: &str) -> Link {
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let Some(target) =
            resolve(self.name, path).filter(|_| !path.is_empty() && !path.contains(':'))
        else {
            return Link::Same;
        };
        let anchor = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
        let up = "../".repeat(self.name.matches('/').count());
        if let Some((_, address)) = IN_RUSTDOC.iter().find(|(page, _)| *page == target) {
            return Link::To(format!("{up}{address}{anchor}"));
        }
        let overview = format!("{target}/README.md");
        if let Some(page) =
            [&target, &overview].into_iter().find(|page| self.chapters.contains(page.as_str()))
        {
            let page = page.replace("README.md", "index.md");
            return Link::To(format!("{up}{page}{anchor}"));
        }
        match self.repository {
            Some(repository) => Link::To(format!("{repository}/blob/HEAD/{target}{anchor}")),
            None => Link::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relinked(repository: Option<&str>, text: &str) -> String {
        let chapters = BTreeSet::from(["README.md", "docs/node.md", "tools/README.md"]);
        let page = Page { name: "docs/node.md", chapters: &chapters, repository };
        page.relink(text, &mut Vec::new()).unwrap()
    }

    #[test]
    fn a_link_to_a_chapter_leads_to_its_page() {
        assert_eq!(relinked(None, "[a](../README.md#top)"), "[a](../index.md#top)");
        assert_eq!(relinked(None, "[a](../tools)"), "[a](../tools/index.md)");
        assert_eq!(relinked(None, "[a](#top) <https://a.org>"), "[a](#top) <https://a.org>");
    }

    #[test]
    fn a_link_to_a_page_of_rustdoc_leads_there() {
        let there = relinked(None, "[a](../core/docs/shared.md#protocol)");
        assert_eq!(there, "[a](../rust/tidegate/shared/index.html#protocol)");
    }

    #[test]
    fn a_link_to_another_file_leads_to_the_repository_or_is_text() {
        let text = "See [`a`](../core/src) and\n[b\nc](x.rs).";
        assert_eq!(relinked(None, text), "See `a` and\nb\nc.");
        let there = "See [`a`](https://a.org/b/blob/HEAD/core/src) and\n[b\nc](https://a.org/b/blob/HEAD/docs/x.rs).";
        assert_eq!(relinked(Some("https://a.org/b"), text), there);
    }

    #[test]
    fn badges_are_left_out() {
        let page = "# a\n\n[![b](https://a.org/b.svg)](c.md)\n\nd\n";
        assert_eq!(without_badges(page), "# a\n\n\nd\n");
    }

    #[test]
    fn images_are_copied() {
        let chapters = BTreeSet::new();
        let mut images = Vec::new();
        let page = Page { name: "docs/node.md", chapters: &chapters, repository: None };
        assert_eq!(page.relink("![a](../b.svg)", &mut images).unwrap(), "![a](../b.svg)");
        assert_eq!(images, ["b.svg"]);
    }

    #[test]
    fn every_chapter_is_a_page_of_the_repository() {
        for name in chapters(SUMMARY).iter().filter(|name| *name != "reference.md") {
            assert!(crate::workspace::root().join(name).is_file(), "{name}");
        }
    }
}
