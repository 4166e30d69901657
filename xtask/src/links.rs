//! The links of Markdown pages.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Options, Parser, Tag};

/// What a page links to, except items of the crate that includes the page.
pub fn links(page: &str) -> BTreeSet<String> {
    let events = Parser::new_ext(page, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES);
    let links = events.filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.into_string())
        }
        _ => None,
    });
    links.filter(|link| !link.contains("::")).collect()
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
    use std::fs;

    use pulldown_cmark::TagEnd;

    use super::*;
    use crate::workspace::root;

    #[test]
    fn a_page_has_links_and_a_path_is_relative_to_its_page() {
        let page = "[a](one.md) ![c](3.svg)\n\n`[b](two.md)`\n\n[d]\n\n[d]: four\n\n[e](crate::Policy::named)";
        assert_eq!(links(page), ["3.svg", "four", "one.md"].map(str::to_owned).into());
        for (path, expected) in [
            ("../c/lib.rs", Some("c/lib.rs")),
            ("./law.md", Some("a/law.md")),
            ("../../x", None),
            ("/etc/passwd", None),
        ] {
            assert_eq!(resolve("a/b.md", path).as_deref(), expected, "{path}");
        }
    }

    /// In its tables, a link to a file follows the names of tests, each in code: `` `the_start_of_its_name_…` ``.
    #[test]
    fn the_tests_that_the_page_of_promises_names_exist() {
        let page = fs::read_to_string(root().join("docs/promises.md")).unwrap();
        let (mut names, mut found) = (None::<Vec<String>>, 0);
        for event in Parser::new_ext(&page, Options::ENABLE_TABLES) {
            match (event, &mut names) {
                (Event::Start(Tag::TableCell), _) => names = Some(Vec::new()),
                (Event::End(TagEnd::TableCell), _) => names = None,
                (Event::Code(name), Some(names)) => {
                    names.push(name.trim_matches(['…', ' ']).into());
                }
                (Event::Start(Tag::Link { dest_url, .. }), Some(names)) => {
                    let file = resolve("docs/promises.md", &dest_url).unwrap_or_default();
                    let text = fs::read_to_string(root().join(file)).unwrap_or_default();
                    for name in names.drain(..) {
                        assert!(text.contains(&name), "{dest_url} has no test `{name}`");
                        found += 1;
                    }
                }
                _ => (),
            }
        }
        assert!(found > 100, "only {found} tests are found");
    }
}
