//! Counts by idempotency key.
//!
//! The API ignores keys and repeats the work, so the counts reveal repeated calls.

use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    pub served: u64,
    /// Served, and the response was written to the connection.
    pub delivered: u64,
}

/// Every key that has been served.
#[derive(Debug, Default)]
pub struct Works(BTreeMap<String, Work>);

impl Works {
    pub fn serve(&mut self, key: &str) {
        self.0.entry(key.to_owned()).or_default().served += 1;
    }

    /// Counts a response that was written to the connection.
    pub fn deliver(&mut self, key: &str) {
        self.0.entry(key.to_owned()).or_default().delivered += 1;
    }

    pub fn each(&self) -> &BTreeMap<String, Work> {
        &self.0
    }
}
