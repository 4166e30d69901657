//! Every law and every peer by its name; and the real controller as a throttle of this world.

use std::rc::Rc;

use tidegate::gate::Permit;
use tidegate::{Controller, Decision, Instant, Outcome, Policy};

use crate::peer;
use crate::throttle::{Answer, Call, Outlook, Response, Throttle};

/// The names of all laws, then of all peers that are not also laws.
pub fn names() -> Vec<&'static str> {
    let peers = peer::NAMES.iter().copied().filter(|name| !is_law(name));
    Policy::NAMES.iter().copied().chain(peers).collect()
}

/// Whether a name is one of [`names`].
pub fn is_known(name: &str) -> bool {
    is_law(name) || peer::NAMES.contains(&name)
}

/// Whether a name is a law of the product, and not a peer.
pub fn is_law(name: &str) -> bool {
    Policy::NAMES.contains(&name)
}

/// The throttle of a name, for a process that starts at `now`; `None` if there is no such name.
pub fn named(
    name: &str,
    seed: u64,
    now: Instant,
    process: u32,
    outlook: &Rc<Outlook>,
) -> Option<Box<dyn Throttle>> {
    match Policy::named(name) {
        Some(policy) => Some(Box::new(Real::new(policy, seed, now))),
        None => peer::named(name, seed, process, outlook),
    }
}

/// As many calls in flight as any process of a scenario has threads, and more.
const SLOTS: usize = 512;

type Real = Controller<tidegate::law::AnyLaw, 1, SLOTS>;

impl Throttle for Real {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        match Self::poll(self, now, &call.ask) {
            Decision::Go(permit) => Answer::Go(permit.into_raw()),
            Decision::Wait(until) => Answer::Wait(until),
            Decision::Full => Answer::Full,
            Decision::Refuse(reason) => Answer::Refuse(reason),
        }
    }

    fn settle(&mut self, now: Instant, permit: u64, response: &Response) {
        Self::settle(self, now, Permit::from_raw(permit), response.outcome.with(response.hint));
    }

    fn retry(&mut self, now: Instant, call: &mut Call, response: &Response) -> bool {
        if response.outcome == Outcome::Ok {
            return false;
        }
        match Self::retry(self, now, &call.ask, response.outcome) {
            Some(ask) => {
                call.ask = ask;
                true
            }
            None => false,
        }
    }

    fn next_at(&self) -> Option<Instant> {
        Self::next_at(self)
    }

    fn in_flight(&self) -> Option<u32> {
        Some(u32::from(Self::in_flight(self)))
    }
}
