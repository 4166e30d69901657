//! The Heroku client's throttle: a sleep that grows on throttled calls and shrinks in proportion.

pub mod bench;
pub mod demonstration;
pub mod server;

use crate::report::Report;

/// The figures of this source.
#[must_use]
pub fn report() -> Report {
    Report {
        name: "heroku",
        title: "The Heroku client's throttle (rate_throttle_client)",
        source: "zombocom/rate_throttle_client, `rake bench`, 2020; schneems/rate-limit-gcra-client-demo, 2019",
        tables: bench::tables().into_iter().chain(demonstration::tables()).collect(),
        listing: Vec::new(),
    }
}
