//! A law chosen at run time.

/// Defines [`AnyLaw`](super::AnyLaw), its state, and [`Policy::named`](crate::Policy::named) from
/// the rows.
macro_rules! registry {
    ($($tag:literal $law:ident { $($name:literal => $of:expr, $rules:ident, $about:literal;)+ })+) => {
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
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[non_exhaustive]
        pub enum AnyLaw {
            $(#[doc = concat!("[`", stringify!($law), "`].")] $law($law),)*
        }

        /// The state of an [`AnyLaw`].
        ///
        /// ```
        /// use tidegate::law::{Aimd, AnyLaw, AnyState, AimdConcurrency, Law};
        /// use tidegate::{Controller, Instant, Policy};
        ///
        /// let law = AnyLaw::from(AimdConcurrency::DEFAULT);
        /// let gate: Controller = Controller::new(Policy::new(law), 1, Instant::ZERO);
        /// let state = gate.states().next().unwrap();
        /// assert!(matches!(state, AnyState::AimdConcurrency(_)));
        /// assert_eq!(law.concurrency(state, Instant::ZERO).unwrap().get(), 4);
        /// // To another law it is no state, and nothing that stops a call either.
        /// let other = AnyLaw::from(Aimd::DEFAULT);
        /// assert_eq!((other.quota(state), other.concurrency(state, Instant::ZERO)), (None, None));
        /// ```
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[non_exhaustive]
        pub enum AnyState {
            $(#[doc = concat!("Of [`AnyLaw::", stringify!($law), "`].")] $law(<$law as Law>::State),)*
        }

        $(impl From<$law> for AnyLaw {
            fn from(law: $law) -> Self {
                Self::$law(law)
            }
        })*

        /// A state of another law, which no controller ever has, counts as no state: the law sets
        /// no rate until its next sample, and then starts from scratch.
        impl Law for AnyLaw {
            type State = AnyState;

            fn start(&self, now: Instant) -> AnyState {
                match self {
                    $(Self::$law(law) => AnyState::$law(law.start(now)),)*
                }
            }

            fn quota(&self, state: &AnyState) -> Option<Quota> {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.quota(state),)*
                    _ => None,
                }
            }

            fn interval(&self, state: &AnyState, now: Instant) -> Option<Span> {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.interval(state, now),)*
                    _ => None,
                }
            }

            fn interval_after(&self, state: &AnyState, now: Instant, cost: u32) -> Option<Span> {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.interval_after(state, now, cost),)*
                    _ => None,
                }
            }

            fn check(&self, state: &AnyState, now: Instant, in_flight: u16, is_retry: bool) -> Verdict {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.check(state, now, in_flight, is_retry),)*
                    _ => Verdict::Admit,
                }
            }

            fn concurrency(&self, state: &AnyState, now: Instant) -> Option<NonZeroU16> {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.concurrency(state, now),)*
                    _ => None,
                }
            }

            fn widens_at(&self, state: &AnyState, now: Instant) -> Option<Instant> {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.widens_at(state, now),)*
                    _ => None,
                }
            }

            fn shorten(&self, state: &mut AnyState, latest: Instant) {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.shorten(state, latest),)*
                    _ => {}
                }
            }

            fn released(
                &self,
                state: &mut AnyState,
                now: Instant,
                cost: u32,
                attempt: u16,
                rng: &mut Rng,
            ) {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.released(state, now, cost, attempt, rng),)*
                    _ => {}
                }
            }

            fn corrected(&self, state: &mut AnyState, now: Instant, charged: u32, used: u32) {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.corrected(state, now, charged, used),)*
                    _ => {}
                }
            }

            fn refunded(&self, state: &mut AnyState, now: Instant, cost: u32) {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.refunded(state, now, cost),)*
                    _ => {}
                }
            }

            fn observe(
                &self,
                state: &mut AnyState,
                pacing: &mut Pacing,
                sample: &Sample<'_>,
                rng: &mut Rng,
            ) -> Move {
                match (self, &mut *state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.observe(state, pacing, sample, rng),)*
                    _ => {
                        *state = self.start(sample.now);
                        Move::Kept
                    }
                }
            }
        }

        impl Record for AnyLaw {
            const BYTES: usize = 1 + longest([$(<$law as Record>::BYTES),*]);

            fn write(&self, state: &AnyState, out: &mut Writer<'_>) {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => {
                        out.variant(Self::BYTES, $tag, |out| law.write(state, out));
                    })*
                    _ => {}
                }
            }

            fn read(&self, input: &mut Reader<'_>) -> Option<AnyState> {
                input.variant(Self::BYTES, |tag, input| match (self, tag) {
                    $((Self::$law(law), $tag) => law.read(input).map(AnyState::$law),)*
                    _ => None,
                })
            }
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
