//! The documentation builds without warnings, and has no dead links.

use crate::links;
use crate::site;
use crate::tally::Tally;

pub fn run(tally: &mut Tally) {
    tally.check("cargo doc", site::documented());
    pages(tally);
}

/// Checks the links between the Markdown pages.
pub fn pages(tally: &mut Tally) {
    tally.verdict("links between pages", links::in_repository);
}
