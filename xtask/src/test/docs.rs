//! The documentation builds without warnings, and has no dead links.

use crate::links;
use crate::site;
use crate::tally::Tally;
use crate::workspace::cargo;

pub fn run(tally: &mut Tally) {
    // A page for developers may link to private items, and repeat the target of a link.
    const INSIDE: &str = "-D warnings -A rustdoc::private-intra-doc-links \
        -A rustdoc::redundant-explicit-links";
    tally.check("cargo doc, for users", site::documented());
    let mut inside = cargo("doc");
    inside.args(["--no-deps", "--all-features", "--document-private-items"]);
    inside.env("RUSTDOCFLAGS", INSIDE);
    tally.check("cargo doc, for developers", inside);
    pages(tally);
}

/// Checks the links between the Markdown pages.
pub fn pages(tally: &mut Tally) {
    tally.verdict("links between pages", links::in_repository);
}
