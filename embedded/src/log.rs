//! What the throttle logs: waits, rejections and later attempts. It logs to defmt and to
//! `log`, as enabled.

macro_rules! debug {
    ($text:literal $(, $what:expr)*) => {{
        #[cfg(feature = "defmt")]
        defmt::debug!($text $(, $what)*);
        #[cfg(feature = "log")]
        log::debug!($text $(, $what)*);
        #[cfg(not(any(feature = "defmt", feature = "log")))]
        if false { $(_ = &$what;)* }
    }};
}

macro_rules! trace {
    ($text:literal $(, $what:expr)*) => {{
        #[cfg(feature = "defmt")]
        defmt::trace!($text $(, $what)*);
        #[cfg(feature = "log")]
        log::trace!($text $(, $what)*);
        #[cfg(not(any(feature = "defmt", feature = "log")))]
        if false { $(_ = &$what;)* }
    }};
}

pub(crate) use {debug, trace};
