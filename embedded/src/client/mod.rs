//! What network clients hand over, as [`Replied`](crate::Replied): each a thin call into the core's
//! [`signal`](tidegate::signal), behind the feature of the client's name.

#[cfg(feature = "coap-message")]
pub mod coap;
#[cfg(feature = "reqwless")]
mod reqwless;
#[cfg(feature = "rust-mqtt")]
mod rust_mqtt;
