//! All laws and peers by name, and the controller and queue of core as a throttle of the simulator.

use std::rc::Rc;

use tidegate::Permit;
use tidegate::law::{Aimd, AnyLaw, Fixed, Law};
use tidegate::{Controller, Decision, Instant, Outcome, Policy};

use crate::peer;
use crate::place::Place;
use crate::queued::Queued;
use crate::throttle::{Answer, Call, Outlook, Response, Throttle};

/// Whether the law has a separate delay in each thread.
fn is_per_thread(policy: &Policy) -> bool {
    matches!(policy.laws(), [AnyLaw::Heroku(_)])
}

/// The names of all laws, then of all peers.
pub fn names() -> Vec<&'static str> {
    Policy::NAMES.iter().copied().chain(peer::names()).collect()
}

pub fn is_known(name: &str) -> bool {
    is_law(name) || is_peer(name)
}

pub fn is_peer(name: &str) -> bool {
    peer::names().any(|peer| peer == name)
}

/// Whether a name is one of tidegate's laws, or two of them as `ONE+OTHER`.
pub fn is_law(name: &str) -> bool {
    Policy::NAMES.contains(&name) || two_laws(name).is_some()
}

/// The policy of `ONE+OTHER`: two laws in one controller, with the other settings of the first. A
/// law with a delay per thread cannot be combined.
fn two_laws(name: &str) -> Option<Policy<AnyLaw, 2>> {
    let (one, other) = name.split_once('+')?;
    Some(shared(one)?.beside(&shared(other)?))
}

/// The throttle of a name for a process. `None` if the name is unknown.
pub fn named(name: &str, place: &Place, outlook: &Rc<Outlook>) -> Option<Box<dyn Throttle>> {
    if let Some(policy) = place.scenario.own_law(name).or_else(|| shared(name)) {
        Some(real(policy, place))
    } else if let Some(policy) = endless(name) {
        Some(per_thread(&policy, place))
    } else if let Some(policy) = two_laws(name) {
        Some(real(policy, place))
    } else {
        peer::named(name, place.seed, outlook)
    }
}

/// The same for the few laws that the page shows first, so that it need not load the code of the
/// others.
pub fn plain(name: &str, place: &Place) -> Option<Box<dyn Throttle>> {
    let unlimited = Policy::new(Fixed::UNLIMITED);
    Some(match name {
        "none" => real(unlimited.backoff(None).attempts(None), place),
        "backoff" => real(unlimited.attempts(None), place),
        "aimd" => real(Policy::new(Aimd::DEFAULT).attempts(None), place),
        "adaptive" => real(Policy::adaptive().attempts(None), place),
        _ => return None,
    })
}

/// The policy of a name, with unlimited attempts.
fn endless(name: &str) -> Option<Policy> {
    Some(Policy::named(name)?.attempts(None))
}

/// The policy of a name whose controller the threads of a process share.
fn shared(name: &str) -> Option<Policy> {
    endless(name).filter(|policy| !is_per_thread(policy))
}

/// A controller for all threads of a process.
pub fn real<L: Law + Copy + 'static, const LAWS: usize>(
    policy: Policy<L, LAWS>,
    place: &Place,
) -> Box<dyn Throttle> {
    let &Place { seed, from: now, threads, .. } = place;
    Box::new(Queued::new(Permits::new(Controller::new(policy, seed, now), threads), threads))
}

/// One controller per thread, for the laws of the Ruby gem: its threads sleep independently. A
/// shared controller would space the calls of all threads by the delay of one.
pub fn per_thread(policy: &Policy, place: &Place) -> Box<dyn Throttle> {
    let &Place { seed, from: now, threads, .. } = place;
    // The seeds of neighbouring processes differ in other bits.
    let seed = |thread| seed ^ (u64::from(thread) << 32);
    let gate = |thread| Permits::new(Controller::new(*policy, seed(thread), now), 1);
    Box::new((0..threads).map(gate).collect::<Vec<Permits<AnyLaw, 1>>>())
}

/// A controller, and of each thread its call and the permit of that if it is in flight. A permit is identified by its
/// thread, because a thread has one call at a time.
pub struct Permits<L: Law, const LAWS: usize> {
    pub gate: Controller<L, LAWS>,
    threads: Box<[(tidegate::Call<LAWS>, Option<Permit<LAWS>>)]>,
}

impl<L: Law, const LAWS: usize> Permits<L, LAWS> {
    fn new(gate: Controller<L, LAWS>, threads: u32) -> Self {
        Self { gate, threads: (0..threads).map(|_| (tidegate::Call::new(), None)).collect() }
    }

    /// The slot of a thread. If there is only one, it belongs to all threads.
    fn of(&mut self, thread: u32) -> &mut (tidegate::Call<LAWS>, Option<Permit<LAWS>>) {
        let count = self.threads.len();
        &mut self.threads[thread as usize % count]
    }

    /// The controller, and its call for that of a thread.
    pub fn call(&mut self, call: &Call) -> (&mut Controller<L, LAWS>, tidegate::Call<LAWS>) {
        let own = &mut self.of(call.thread).0;
        if call.attempt == 0 {
            *own = tidegate::Call::new().deadline(call.deadline);
        }
        let own = *own;
        (&mut self.gate, own)
    }

    pub fn admit(&mut self, thread: u32, permit: Permit<LAWS>) -> Answer {
        self.of(thread).1 = Some(permit);
        Answer::Admit(thread.into())
    }
}

impl<L: Law + Copy, const LAWS: usize> Throttle for Permits<L, LAWS> {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        let (gate, own) = self.call(call);
        match gate.poll(now, &own) {
            Decision::Admit(permit) => self.admit(call.thread, permit),
            Decision::Wait(until) => Answer::Wait(until),
            Decision::Full => Answer::Full,
            Decision::Reject(reason) => Answer::Reject(reason),
        }
    }

    fn settle(&mut self, now: Instant, permit: u64, response: &Response) {
        if let Some(permit) = self.of(permit as u32).1.take() {
            self.gate.settle(now, permit, response.outcome.with(response.hint));
        }
    }

    fn retry(&mut self, now: Instant, call: &mut Call, response: &Response) -> bool {
        if response.outcome == Outcome::Ok {
            return false;
        }
        let own = self.of(call.thread).0;
        match self.gate.retry(now, &own, response.outcome) {
            Ok(next) => {
                self.of(call.thread).0 = next;
                true
            }
            Err(_) => false,
        }
    }

    fn in_flight(&self) -> Option<u32> {
        Some(u32::from(self.gate.in_flight()))
    }

    fn rate(&self, now: Instant) -> Option<f64> {
        let interval = self.gate.intervals(now).next().flatten()?;
        Some(1e9 / interval.as_nanos() as f64)
    }
}

/// One for each thread.
impl Throttle for Vec<Permits<AnyLaw, 1>> {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        self[call.thread as usize].poll(now, call)
    }

    fn settle(&mut self, now: Instant, permit: u64, response: &Response) {
        self[permit as usize].settle(now, permit, response);
    }

    fn retry(&mut self, now: Instant, call: &mut Call, response: &Response) -> bool {
        self[call.thread as usize].retry(now, call, response)
    }

    fn in_flight(&self) -> Option<u32> {
        self.iter().map(Throttle::in_flight).sum()
    }
}
