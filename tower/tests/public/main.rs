//! Tests of the crate's public API in one program, which links once and shares helpers.

mod bodies;
#[path = "../common/mod.rs"]
mod common;
mod costs;
mod gate;
mod keys;
mod layer;
mod layers;
mod local;
mod metrics;
mod readme;
mod reqwest;
mod service;
mod tonic;
