//! What the throttle tells the firmware's log: of waits, of rejections and of attempts to come. To defmt
//! where that is chosen, else to `log`, else to nobody.

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
