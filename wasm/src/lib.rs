//! tidegate for WebAssembly: the functions that JavaScript calls.
//!
//! All arguments are numbers: slots for controllers, milliseconds for time (see [`number`]). Longer
//! data (a policy, a header, a record) is passed in static buffers. Only lists allocate memory, in
//! whole pages.
#![cfg_attr(target_arch = "wasm32", no_std)]
#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "JavaScript calls them"))]

#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
compile_error!("the desk is for one thread: build without the `atomics` feature");

mod arena;
mod bare;
mod number;

#[cfg(feature = "shared")]
mod budget;
#[cfg(any(feature = "lite", feature = "shared"))]
mod common;
#[cfg(feature = "lite")]
mod controllers;
#[cfg(any(feature = "lite", feature = "shared"))]
mod desk;
#[cfg(any(feature = "lite", feature = "shared"))]
mod draft;
#[cfg(feature = "lite")]
mod gate;
#[cfg(feature = "full")]
mod layers;
#[cfg(feature = "shared")]
mod leases;
#[cfg(any(feature = "lite", feature = "shared"))]
mod line;
mod list;
#[cfg(feature = "pacing")]
mod pacing;
#[cfg(feature = "lite")]
mod permits;
#[cfg(any(feature = "lite", feature = "shared"))]
mod policy;
#[cfg(feature = "shared")]
mod shared;
#[cfg(feature = "shared")]
mod standing;

/// Number of limits for which a call has costs: requests and tokens.
#[cfg(feature = "lite")]
const LIMITS: usize = if cfg!(feature = "gate") { 2 } else { 1 };

#[cfg(any(feature = "full", feature = "shared"))]
type Law = tidegate::law::AnyLaw;
#[cfg(all(feature = "lite", not(any(feature = "full", feature = "shared"))))]
type Law = tidegate::law::FewLaws;

/// What a call costs. Without `gate`, each costs one.
#[cfg(feature = "gate")]
type Costs = [u32; LIMITS];
#[cfg(all(feature = "lite", not(feature = "gate")))]
type Costs = ();

#[cfg(feature = "lite")]
type Call = tidegate::Call<LIMITS, Costs>;
#[cfg(feature = "lite")]
type Controller = tidegate::Controller<Law, LIMITS, tidegate::Policy<Law, LIMITS>, Costs>;
