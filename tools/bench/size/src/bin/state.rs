//! Memory use: arrays with the sizes of the types.
#![no_std]
#![no_main]

use tidegate_size::Gate;

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use tidegate::law::{Adaptive, AdaptiveState, Aimd, Fixed};
use tidegate_embassy::{Acquire, Throttle};

/// An array with the size of `T` on this machine.
macro_rules! as_large_as {
    ($name:ident, $type:ty) => {
        #[unsafe(no_mangle)]
        pub static $name: [u8; size_of::<$type>()] = [0; size_of::<$type>()];
    };
}

as_large_as!(ADAPTIVE_STATE, AdaptiveState);
as_large_as!(ADAPTIVE_CONTROLLER, Gate<Adaptive>);
as_large_as!(FIXED_CONTROLLER, Gate<Fixed>);
as_large_as!(ADAPTIVE_THROTTLE, Throttle<CriticalSectionRawMutex, Adaptive>);
as_large_as!(AIMD_THROTTLE, Throttle<CriticalSectionRawMutex, Aimd>);
as_large_as!(ACQUIRE, Acquire<'static, Throttle<CriticalSectionRawMutex, Adaptive>>);
as_large_as!(LEAST_ADAPTIVE_THROTTLE, Throttle<CriticalSectionRawMutex, Adaptive, 1>);
as_large_as!(LEAST_AIMD_THROTTLE, Throttle<CriticalSectionRawMutex, Aimd, 1>);

#[unsafe(no_mangle)]
pub static ROOTS: [&[u8]; 8] = [
    &ADAPTIVE_STATE,
    &ADAPTIVE_CONTROLLER,
    &FIXED_CONTROLLER,
    &ADAPTIVE_THROTTLE,
    &AIMD_THROTTLE,
    &ACQUIRE,
    &LEAST_ADAPTIVE_THROTTLE,
    &LEAST_AIMD_THROTTLE,
];
