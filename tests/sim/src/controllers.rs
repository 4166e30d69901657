//! Every law and every peer by its name; and the real controller as a throttle of this world.

use std::rc::Rc;

use tidegate::gate::Permit;
use tidegate::law::AnyLaw;
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
    let Some(policy) = Policy::named(name) else {
        return peer::named(name, seed, process, outlook);
    };
    let threads = outlook.members.get(process as usize).map_or(0, |member| member.threads);
    Some(if threads <= 32 {
        Box::new(Real::<32>::new(policy, seed, now))
    } else {
        Box::new(Real::<512>::new(policy, seed, now))
    })
}

/// A controller with room for so many calls in flight: it is small where a thousand are to fit
/// into a processor's cache, and large where a process has many threads.
type Real<const SLOTS: usize> = Controller<AnyLaw, 1, SLOTS>;

impl<const SLOTS: usize> Throttle for Real<SLOTS> {
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
