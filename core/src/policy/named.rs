//! The policies that have a name.

use super::{Policy, rules};
use crate::config_error::ConfigError;
use crate::law::{
    Adaptive, Aimd, AimdConcurrency, AnyLaw, Fixed, Vegas,
    published::{Autosleeper, Heroku, Strategy, Tchannel},
};
use crate::time::Span;

/// Defines [`Policy::named`] from the rows.
macro_rules! named {
    ($($name:literal => $of:expr, $rules:ident, $about:literal;)+) => {
        /// [`Policy::named`], for parsers of command lines and configuration files.
        ///
        /// ```
        /// use tidegate::{ConfigError, Policy};
        ///
        /// assert_eq!("aimd".parse(), Ok(Policy::named("aimd").unwrap()));
        /// assert_eq!("magic".parse::<Policy>(), Err(ConfigError::PolicyName));
        /// ```
        impl core::str::FromStr for Policy {
            type Err = ConfigError;

            fn from_str(name: &str) -> Result<Self, ConfigError> {
                Self::named(name).ok_or(ConfigError::PolicyName)
            }
        }

        impl ConfigError {
            pub(crate) const NO_SUCH_POLICY: &str =
                concat!("no policy has this name; the names are", $(" ", $name),+);
        }

        impl Policy {
            /// The names that [`named`](Self::named) knows.
            pub const NAMES: &[&str] = &[$($name),+];

            /// The policy of a name, for command lines and configuration files:
            ///
            /// | name | what it does |
            /// |---|---|
            $(#[doc = concat!("| `", $name, "` | ", $about, " |")])+
            ///
            /// A call has ten [`attempts`](Self::attempts). A law that delays calls itself has no
            /// [`backoff`](Self::backoff).
            ///
            /// ```
            /// use tidegate::Policy;
            ///
            /// assert!(Policy::NAMES.iter().all(|name| Policy::named(name).is_some()));
            /// assert!(Policy::named("magic").is_none());
            /// ```
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                let (law, rules) = match name {
                    $($name => (AnyLaw::from($of), &rules::$rules),)+
                    _ => return None,
                };
                Some(Self { laws: [law], rules: *rules })
            }

            /// A one-line description of the policy with this name. `None` if the name is unknown.
            ///
            /// ```
            /// use tidegate::Policy;
            ///
            /// assert_eq!(Policy::about("backoff"), Some("no rate: each call backs off by itself"));
            /// ```
            #[must_use]
            pub fn about(name: &str) -> Option<&'static str> {
                Some(match name {
                    $($name => $about,)+
                    _ => return None,
                })
            }
        }
    };
}

// One row per name: the law, the settings of its policy, and a one-line description. The first four names are those of
// the small npm module, whose laws are `FewLaws`.
named! {
    "adaptive" => Adaptive::DEFAULT, ADAPTIVE,
        "for an unknown limit of any size: finds the rate, and follows every hint of the server";
    "fixed" => Fixed::TEN_A_SECOND, DEFAULT,
        "for a limit that you know and share with nobody: keeps a quota";
    "none" => Fixed::UNLIMITED, WITHOUT_BACKOFF,
        "no rate and no delay between attempts, but follows `Retry-After`; for comparison";
    "backoff" => Fixed::UNLIMITED, DEFAULT,
        "no rate: each call backs off by itself";
    "aimd" => Aimd::DEFAULT, DEFAULT,
        "for an unknown limit of 5 to 500 calls a second per client: halves the rate when throttled";
    "vegas" => Vegas, DEFAULT,
        "for servers that queue: a concurrency limit that falls when calls take longer";
    "aimd-concurrency" => AimdConcurrency::DEFAULT, DEFAULT,
        "for servers that queue: a concurrency limit that falls by a tenth when throttled";
    "autosleeper" => Autosleeper::DEFAULT, WITHOUT_BACKOFF,
        "for few and long calls: a delay that grows on failure and shrinks after ten successes";
    "tchannel" => Tchannel::DEFAULT, DEFAULT,
        "TChannel's limit for each second, which busy responses halve";
    "heroku-gradual" => Heroku::gem(Strategy::Gradual(Span::from_millis(800))), WITHOUT_BACKOFF,
        "the Heroku client's strategy: each success shortens the sleep by a constant";
    "heroku-proportional" => Heroku::gem(Strategy::Proportional), WITHOUT_BACKOFF,
        "the Heroku client's strategy: each success shortens the sleep by a fraction";
    "heroku-remaining" => Heroku::gem(Strategy::Remaining), WITHOUT_BACKOFF,
        "the Heroku client's strategy: a success shortens the sleep more if more calls are left";
}
