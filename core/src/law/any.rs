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

            fn sent(&self, state: &mut $State, sent: &Sent, rng: &mut Rng) {
                match (self, state) {
                    $((Self::$law(law), $State::$law(state)) => law.sent(state, sent, rng),)+
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
