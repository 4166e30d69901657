//! A law chosen at run time.

/// Defines a law that is one of several, and its state. Each has its tag in snapshots.
macro_rules! choice {
    (
        $(#[$of_law:meta])* $Any:ident,
        $(#[$of_state:meta])* $State:ident: $($tag:literal $law:ident)+
    ) => {
        $(#[$of_law])*
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub enum $Any {
            $(#[doc = concat!("[`", stringify!($law), "`].")] $law($law),)+
        }

        $(#[$of_state])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub enum $State {
            $(#[doc = concat!("Of [`", stringify!($Any), "::", stringify!($law), "`].")] $law(<$law as Law>::State),)+
        }

        $(impl From<$law> for $Any {
            fn from(law: $law) -> Self {
                Self::$law(law)
            }
        })+

        /// A state of another law, which no controller ever has, counts as no state: the law sets
        /// no rate until its next sample, and then starts from scratch.
        impl Law for $Any {
            type State = $State;

            #[inline(never)] // a copy for each limit is large
            fn start(&self, now: Instant) -> $State {
                match self {
                    $(Self::$law(law) => $State::$law(law.start(now)),)+
                }
            }

            #[inline(always)]
            fn pace(&self, state: &$State, now: Instant, in_flight: u16, is_retry: bool) -> Pace {
                match (self, state) {
                    $((Self::$law(law), $State::$law(state)) => law.pace(state, now, in_flight, is_retry),)+
                    _ => Pace::UNLIMITED,
                }
            }

            fn interval(&self, state: &$State, now: Instant, cost: Option<u32>) -> Option<Span> {
                match (self, state) {
                    $((Self::$law(law), $State::$law(state)) => law.interval(state, now, cost),)+
                    _ => None,
                }
            }

            fn sent(&self, state: &mut $State, now: Instant, cost: u32, attempt: u16, rng: &mut Rng) {
                match (self, state) {
                    $((Self::$law(law), $State::$law(state)) => law.sent(state, now, cost, attempt, rng),)+
                    _ => {}
                }
            }

            fn corrected(&self, state: &mut $State, now: Instant, charged: u32, used: Option<u32>) {
                match (self, state) {
                    $((Self::$law(law), $State::$law(state)) => law.corrected(state, now, charged, used),)+
                    _ => {}
                }
            }

            fn shorten(&self, state: &mut $State, latest: Instant) {
                match (self, state) {
                    $((Self::$law(law), $State::$law(state)) => law.shorten(state, latest),)+
                    _ => {}
                }
            }

            fn observe(
                &self,
                state: &mut $State,
                pacing: &mut Pacing,
                sample: &Sample<'_>,
                rng: &mut Rng,
            ) -> Move {
                match (self, &mut *state) {
                    $((Self::$law(law), $State::$law(state)) => law.observe(state, pacing, sample, rng),)+
                    _ => {
                        *state = self.start(sample.now);
                        Move::Kept
                    }
                }
            }
        }

        impl Record for $Any {
            const BYTES: usize = 1 + longest([$(<$law as Record>::BYTES),+]);

            fn write(&self, state: &$State, out: &mut Writer<'_>) {
                match (self, state) {
                    $((Self::$law(law), $State::$law(state)) => {
                        out.variant(Self::BYTES, $tag, |out| law.write(state, out));
                    })+
                    _ => {}
                }
            }

            fn read(&self, input: &mut Reader<'_>) -> Option<$State> {
                input.variant(Self::BYTES, |tag, input| match (self, tag) {
                    $((Self::$law(law), $tag) => law.read(input).map($State::$law),)+
                    _ => None,
                })
            }
        }
    };
}
pub(super) use choice;

/// Defines [`AnyLaw`](super::AnyLaw), its state, and [`Policy::named`](crate::Policy::named) from
/// the rows.
macro_rules! registry {
    ($($tag:literal $law:ident { $($name:literal => $of:expr, $rules:ident, $about:literal;)+ })+) => {
        any::choice! {
            /// Any of the laws, for frontends that choose one at run time. Firmware with a single law
            /// names it as the type parameter instead, and links no other law.
            ///
            /// ```
            /// use tidegate::law::{Aimd, AnyLaw};
            /// use tidegate::{Controller, Instant, Policy};
            ///
            /// let chosen = AnyLaw::from(Aimd::DEFAULT);
            /// let gate: Controller = Controller::new(Policy::new(chosen), 1, Instant::ZERO);
            /// # let _ = gate;
            /// ```
            #[non_exhaustive]
            AnyLaw,
            /// The state of an [`AnyLaw`].
            ///
            /// ```
            /// use tidegate::law::{Aimd, AnyLaw, AnyState, AimdConcurrency, Law, Pace};
            /// use tidegate::{Controller, Instant, Policy};
            ///
            /// let law = AnyLaw::from(AimdConcurrency::DEFAULT);
            /// let gate: Controller = Controller::new(Policy::new(law), 1, Instant::ZERO);
            /// let state = gate.states().next().unwrap();
            /// assert!(matches!(state, AnyState::AimdConcurrency(_)));
            /// assert_eq!(law.pace(state, Instant::ZERO, 0, false).concurrency.unwrap().get(), 4);
            /// // To another law it is no state, and nothing that stops a call either.
            /// let other = AnyLaw::from(Aimd::DEFAULT);
            /// assert_eq!(other.pace(state, Instant::ZERO, 0, false), Pace::UNLIMITED);
            /// ```
            #[non_exhaustive]
            AnyState: $($tag $law)+
        }

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
                concat!("no policy has this name; the names are", $($(" ", $name),+),+);
        }

        impl Policy {
            /// The names that [`named`](Self::named) knows.
            pub const NAMES: &[&str] = &[$($($name),+),+];

            /// The policy of a name, for command lines and configuration files:
            ///
            /// | name | what it does |
            /// |---|---|
            $($(#[doc = concat!("| `", $name, "` | ", $about, " |")])+)+
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
                    $($($name => (AnyLaw::$law($of), &rules::$rules),)+)+
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
                    $($($name => $about,)+)+
                    _ => return None,
                })
            }
        }
    };
}
pub(super) use registry;
