//! The states, and how they are written to a snapshot.

use super::cost::Usual;
use super::hinted::Hinted;
use super::log::Log;
use super::meter::Meter;
use super::open::Open;
use super::paced::{MOST_DOUBLINGS, Paced};
use super::places::Places;
use super::{Adaptive, AdaptiveState};
use crate::law::record::{longest, record};
use crate::mean_cost::MeanCost;
use crate::snapshot::{Field, Reader, Writer, fields};
use crate::time::Instant;

/// Whether a limit has been met.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) enum Phase {
    /// There is no rate.
    Open(Open),
    /// There is no rate, and one call at a time probes for the end of a cooldown.
    Cooldown(Open),
    /// Calls are an interval apart.
    Paced(Paced),
}

impl Field for Phase {
    const BYTES: usize = 1 + longest([<Open as Field>::BYTES, <Paced as Field>::BYTES]);

    fn write(&self, out: &mut Writer<'_>) {
        match self {
            Self::Open(open) => out.variant(Self::BYTES, 0, |out| open.write(out)),
            Self::Cooldown(open) => out.variant(Self::BYTES, 1, |out| open.write(out)),
            Self::Paced(paced) => out.variant(Self::BYTES, 2, |out| paced.write(out)),
        }
    }

    fn read(input: &mut Reader<'_>) -> Self {
        let phase = input.variant(Self::BYTES, |tag, input| match tag {
            0 => Some(Self::Open(Open::read(input))),
            1 => Some(Self::Cooldown(Open::read(input))),
            2 => Some(Self::Paced(Paced::read(input))),
            _ => None,
        });
        phase.unwrap_or(Self::Open(Open::new()))
    }
}

/// Makes enums of states without content, each a [`Field`] of one byte.
macro_rules! states {
    ($($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $state:ident,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub(super) enum $name { $($(#[$note])* $state,)* }

        impl Field for $name {
            const BYTES: usize = 1;

            fn write(&self, out: &mut Writer<'_>) {
                out.u8(*self as u8);
            }

            fn read(input: &mut Reader<'_>) -> Self {
                let tag = usize::from(input.u8());
                let states = [$(Self::$state),*];
                *states.get(tag).unwrap_or_else(|| {
                    input.reject();
                    &states[0]
                })
            }
        }
    )*};
}

states! {
    /// The first rate.
    Rate {
        Found,
        /// Fewer than eight calls were served since a cut.
        Searched,
    }

    /// The latest rejection of a first attempt, if it may be evidence and nothing has confirmed it yet.
    Suspect {
        None,
        Throttled,
        /// The server said that it is too busy.
        Busy,
    }

    /// What the server does with calls.
    Server {
        /// The latest call was served.
        Serving,
        /// Calls are rejected.
        Rejecting,
        /// After [`DARK`] misses, the server is assumed to serve nothing for a while.
        Dark,
        /// Calls fail, or the server is still busy after several misses.
        Failing,
        /// After [`DARK`] calls, it is down.
        Outage,
    }
}

/// The misses since the latest success: rejections and failures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Run {
    pub(super) server: Server,
    pub(super) misses: u8,
    /// How many of them were of calls that had not missed before.
    pub(super) calls: u8,
}

/// After this many consecutive misses, the server is assumed to serve nothing.
pub(super) const DARK: u8 = 4;

impl Run {
    /// The count of misses stops here.
    const MOST: u8 = 40;
    pub(super) const NONE: Self = Self { server: Server::Serving, misses: 0, calls: 0 };

    pub(super) const fn fails(&self) -> bool {
        matches!(self.server, Server::Failing | Server::Outage)
    }

    /// So many misses and calls, of which the latest `fails`.
    pub(super) fn count(&mut self, misses: u8, calls: u8, fails: bool) {
        let (misses, calls) = (misses.min(Self::MOST), calls.min(Self::MOST));
        let server = match fails || self.fails() {
            _ if misses == 0 => Server::Serving,
            true if calls >= DARK => Server::Outage,
            true => Server::Failing,
            false if misses >= DARK => Server::Dark,
            false => Server::Rejecting,
        };
        *self = Self { server, misses, calls };
    }

    fn is_reached(&self) -> bool {
        let mut same = *self;
        same.count(self.misses, self.calls, false);
        same == *self && self.calls <= self.misses
    }
}

fields!(Run { server: Server, misses: u8, calls: u8 });

fields!(AdaptiveState {
    phase: Phase,
    meter: Meter,
    interval_end: Instant,
    release: Instant,
    interval: Log,
    event_at: Instant,
    round_trip: u32,
    ceiling: i16,
    run: Run,
    own: u8,
    suspect: Suspect,
    score: u8,
    fresh_at: Instant,
    missed_at: Instant,
    mean: MeanCost,
    usual: Usual,
    places: Places,
    hinted: Hinted,
});

record!(Adaptive, AdaptiveState where |_law, state| state.run.is_reached() && state.own <= MOST_DOUBLINGS);
