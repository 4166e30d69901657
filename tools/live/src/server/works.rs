//! What was done how often, where calls say what they are for.
//!
//! The API does a work again as often as it is asked to, as one does that knows of no keys: so its counts
//! tell who asks twice.

use serde::Serialize;
use std::collections::BTreeMap;

/// What became of the calls for one work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    /// Let in by the policy.
    pub served: u64,
    /// Served, and the answer handed to the connection.
    pub delivered: u64,
}

/// Every work that has been served, by its key.
#[derive(Debug, Default)]
pub struct Works(BTreeMap<String, Work>);

impl Works {
    /// A call for it is let in.
    pub fn serve(&mut self, key: &str) {
        self.0.entry(key.to_owned()).or_default().served += 1;
    }

    /// Its answer has been handed to the connection.
    pub fn deliver(&mut self, key: &str) {
        self.0.entry(key.to_owned()).or_default().delivered += 1;
    }

    pub fn each(&self) -> &BTreeMap<String, Work> {
        &self.0
    }
}
