//! A law chosen at run time.

use core::num::NonZeroU16;

use crate::gate::Pace;
use crate::law::{
    Adaptive, Aimd, Busy, Crowd, Cubic, Fixed, Law, Move, Proportional, Responsive, Sample, Vegas,
};
use crate::rate::Quota;
use crate::rng::Rng;
use crate::snapshot::{Reader, Record, Writer, longest};
use crate::time::{Instant, Span};
use crate::verdict::Verdict;

/// Writes the enum of all laws, the enum of their states, and the match from one to the other.
macro_rules! any_law {
    ($($tag:literal $law:ident),*) => {
        /// Any of the laws, for frontends that choose one at run time. Firmware that has settled
        /// on a law names it as the type parameter instead, and links no other.
        ///
        /// ```
        /// use tidegate::law::{Aimd, AnyLaw};
        /// use tidegate::{Controller, Instant, Policy};
        ///
        /// let chosen = AnyLaw::from(Aimd::DEFAULT);
        /// let gate: Controller = Controller::new(Policy::new(chosen), 1, Instant::ZERO);
        /// # let _ = gate;
        /// ```
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[non_exhaustive]
        pub enum AnyLaw {
            $(#[doc = concat!("[`", stringify!($law), "`].")] $law($law),)*
        }

        /// What an [`AnyLaw`] remembers.
        ///
        /// ```
        /// use tidegate::law::{Aimd, AnyLaw, AnyState, Crowd, Law};
        /// use tidegate::{Controller, Instant, Policy};
        ///
        /// let law = AnyLaw::from(Crowd::DEFAULT);
        /// let gate: Controller = Controller::new(Policy::new(law), 1, Instant::ZERO);
        /// let state = gate.states().next().unwrap();
        /// assert!(matches!(state, AnyState::Crowd(_)));
        /// assert_eq!(law.window(state, Instant::ZERO).unwrap().get(), 4);
        /// // To another law it is no state, and nothing that stops a call either.
        /// let other = AnyLaw::from(Aimd::DEFAULT);
        /// assert_eq!((other.quota(state), other.window(state, Instant::ZERO)), (None, None));
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

        /// A state that belongs to another law, which no controller ever holds, counts as no
        /// state: the law sets no rate until its next sample, with which it starts anew.
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

            fn check(&self, state: &AnyState, now: Instant, in_flight: u16) -> Verdict {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.check(state, now, in_flight),)*
                    _ => Verdict::Go,
                }
            }

            fn window(&self, state: &AnyState, now: Instant) -> Option<NonZeroU16> {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.window(state, now),)*
                    _ => None,
                }
            }

            fn widens_at(&self, state: &AnyState, now: Instant) -> Option<Instant> {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.widens_at(state, now),)*
                    _ => None,
                }
            }

            fn released(
                &self,
                state: &mut AnyState,
                pace: &mut Pace,
                now: Instant,
                cost: u32,
                rng: &mut Rng,
            ) {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.released(state, pace, now, cost, rng),)*
                    _ => {}
                }
            }

            fn corrected(&self, state: &mut AnyState, now: Instant, charged: u32, used: u32) {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.corrected(state, now, charged, used),)*
                    _ => {}
                }
            }

            fn refunded(
                &self,
                state: &mut AnyState,
                pace: &mut Pace,
                now: Instant,
                cost: u32,
                newest: bool,
            ) {
                match (self, state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.refunded(state, pace, now, cost, newest),)*
                    _ => {}
                }
            }

            fn observe(
                &self,
                state: &mut AnyState,
                pace: &mut Pace,
                sample: &Sample<'_>,
                rng: &mut Rng,
            ) -> Move {
                match (self, &mut *state) {
                    $((Self::$law(law), AnyState::$law(state)) => law.observe(state, pace, sample, rng),)*
                    _ => {
                        *state = self.start(sample.now);
                        Move::Held
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
    };
}

// The numbers are the tags in snapshots: a law keeps its own for good.
any_law!(
    0 Adaptive, 1 Aimd, 2 Busy, 3 Crowd, 4 Cubic, 5 Fixed, 6 Proportional, 7 Responsive, 8 Vegas
);
