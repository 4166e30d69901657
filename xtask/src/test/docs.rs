//! The documentation: it builds without a warning, and no link of it leads nowhere.

use crate::lint::FEATURELESS;
use crate::road::Roads;
use crate::tally::Tally;
use crate::workspace::{cargo, root};

use super::links as pages;

pub fn run(roads: &mut Roads, tally: &mut Tally) {
    // Seen from inside, a public page may lead to what is private, and name what it need not.
    const INSIDE: &str = "-D warnings -A rustdoc::private-intra-doc-links \
        -A rustdoc::redundant-explicit-links";
    let inside =
        ["--workspace", "--exclude", "xtask", "--exclude", FEATURELESS, "--document-private-items"];
    for (label, more, flags) in [
        ("cargo doc, for who uses it", &["--package", "tidegate"][..], "-D warnings"),
        ("cargo doc, for who changes it", &inside[..], INSIDE),
    ] {
        let mut command = cargo("doc");
        command.args(["--no-deps", "--all-features"]).args(more);
        command.env("RUSTDOCFLAGS", flags);
        tally.check(label, command);
    }
    links(roads, tally);
}

/// The links of the pages alone.
pub fn links(_: &mut Roads, tally: &mut Tally) {
    tally.verdict("every link in a page leads somewhere", || pages::check(root()));
}
