//! What the throttle logs: waits, rejections and later attempts. It logs to defmt and to
//! `log`, as enabled.

macro_rules! log {
    ($level:ident, $text:literal $(, $what:expr)*) => {{
        #[cfg(feature = "defmt")]
        defmt::$level!($text $(, $what)*);
        #[cfg(feature = "log")]
        log::$level!($text $(, $what)*);
        #[cfg(not(any(feature = "defmt", feature = "log")))]
        if false { $(_ = &$what;)* }
    }};
}

pub(crate) use log;
