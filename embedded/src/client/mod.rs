//! The results of network clients as [`Replied`](crate::Replied): each calls the core's
//! [`signal`](tidegate::signal), behind a feature with the client's name.

#[cfg(feature = "coap-message")]
pub mod coap;
#[cfg(feature = "reqwless")]
mod reqwless;
#[cfg(feature = "rust-mqtt")]
mod rust_mqtt;
