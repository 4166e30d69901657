//! What the throttle logs: waits, rejections and later attempts. It logs to defmt if enabled, else
//! to `log` if enabled.

macro_rules! debug {
    ($text:literal $(, $what:expr)*) => {{
        #[cfg(feature = "defmt")]
        defmt::debug!($text $(, $what)*);
        #[cfg(all(feature = "log", not(feature = "defmt")))]
        log::debug!($text $(, $what)*);
        #[cfg(not(any(feature = "defmt", feature = "log")))]
        if false { $(_ = &$what;)* }
    }};
}

macro_rules! trace {
    ($text:literal $(, $what:expr)*) => {{
        #[cfg(feature = "defmt")]
        defmt::trace!($text $(, $what)*);
        #[cfg(all(feature = "log", not(feature = "defmt")))]
        log::trace!($text $(, $what)*);
        #[cfg(not(any(feature = "defmt", feature = "log")))]
        if false { $(_ = &$what;)* }
    }};
}

pub(crate) use {debug, trace};
