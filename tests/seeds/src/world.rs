//! A closed loop in virtual time: threads that call one after the other, their controllers, and a
//! server with a limit.

use tidegate::gate::Permit;
use tidegate::{Call, Controller, Decision, Hint, Instant, Outcome, Policy, Rng, Span};

use crate::agenda::Agenda;

/// A server that serves or throttles.
pub trait Server {
    /// Decides an arriving call.
    fn hit(&mut self, now: Instant) -> Answer;
}

/// The answer of a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Answer {
    /// Whether it served the call.
    pub served: bool,
    /// How many more it would serve, according to its hint.
    pub remaining: Option<u64>,
}

/// The next call of a stranger after this one.
pub type Stranger = fn(Instant, &mut Rng) -> Instant;

/// An event.
#[derive(Debug)]
enum Event {
    /// A thread polls its controller.
    Call(usize),
    /// A thread's call arrives at the server.
    Arrive(usize, Span),
    /// A thread's call returns.
    Return(usize, Answer),
    /// A stranger's call arrives at the server.
    Stranger,
}

/// A thread, which calls again as soon as possible.
#[derive(Debug)]
pub struct Thread {
    gate: usize,
    call: Call,
    flight: Option<Permit>,
    /// Calls that arrived at the server.
    pub sent: u32,
    /// Those of them that were throttled.
    pub throttled: u32,
    /// The longest wait of a call.
    pub longest: Span,
    /// When it made its last call, if it has finished.
    pub done: Option<Instant>,
}

impl Thread {
    /// Calls that were served.
    #[must_use]
    pub const fn served(&self) -> u32 {
        self.sent - self.throttled
    }
}

/// Threads, controllers and a server.
pub struct World<S> {
    server: S,
    /// The mean round trip of a call.
    trip: Span,
    stranger: Option<Stranger>,
    gates: Vec<Controller>,
    /// All threads.
    pub threads: Vec<Thread>,
    agenda: Agenda<Event>,
    now: Instant,
    chance: Rng,
    /// Calls of strangers that were served, and that were throttled.
    pub strangers: (u32, u32),
}

impl<S: Server> World<S> {
    /// A world without threads. A call takes from half to one and a half of `trip`, equally in both
    /// directions.
    pub fn new(server: S, trip: Span, seed: u64) -> Self {
        Self {
            server,
            trip,
            stranger: None,
            gates: Vec::new(),
            threads: Vec::new(),
            agenda: Agenda::default(),
            now: Instant::ZERO,
            chance: Rng::new(seed),
            strangers: (0, 0),
        }
    }

    /// Adds a stranger, who ignores the limit.
    pub fn share_with(&mut self, stranger: Stranger) {
        self.stranger = Some(stranger);
        let first = stranger(self.now, &mut self.chance);
        self.agenda.enter(first, Event::Stranger);
    }

    /// Starts threads that share one controller, within `stagger` of now.
    pub fn start(&mut self, policy: Policy, threads: u32, stagger: Span) {
        let gate = self.gates.len();
        let seed = u64::from(self.chance.next_u32()) << 32 | u64::from(self.chance.next_u32());
        self.gates.push(Controller::new(policy, seed, self.now));
        for _ in 0..threads {
            let first = self.now.saturating_add(self.chance.between(Span::ZERO, stagger));
            self.agenda.enter(first, Event::Call(self.threads.len()));
            self.threads.push(Thread {
                gate,
                call: Call::new(),
                flight: None,
                sent: 0,
                throttled: 0,
                longest: Span::ZERO,
                done: None,
            });
        }
    }

    /// The controllers, in the order in which they were started.
    pub fn gates(&self) -> &[Controller] {
        &self.gates
    }

    /// Runs until `end`, or until every thread is done. `done` is called after each served call.
    pub fn run(&mut self, end: Instant, done: impl Fn(&Thread, Answer) -> bool) {
        while let Some((at, event)) = self.agenda.take() {
            if at > end || self.threads.iter().all(|thread| thread.done.is_some()) {
                // Kept, so that a longer run can continue here.
                self.agenda.enter(at, event);
                return;
            }
            self.now = at;
            match event {
                Event::Call(number) => self.call(number),
                Event::Arrive(number, back) => self.arrive(number, back),
                Event::Return(number, answer) => self.come_back(number, answer, &done),
                Event::Stranger => self.stranger_calls(),
            }
        }
    }

    fn call(&mut self, number: usize) {
        let thread = &mut self.threads[number];
        match self.gates[thread.gate].poll(self.now, &thread.call) {
            Decision::Admit(permit) => {
                thread.flight = Some(permit);
                let half = Span::from_nanos(self.trip.as_nanos() / 2);
                let whole = self.chance.between(half, self.trip.saturating_add(half));
                let there = Span::from_nanos(whole.as_nanos() / 2);
                let back = whole.saturating_sub(there);
                let arrives = self.now.saturating_add(there);
                self.agenda.enter(arrives, Event::Arrive(number, back));
            }
            Decision::Wait(until) => {
                thread.longest = thread.longest.max(until.saturating_since(self.now));
                self.agenda.enter(until, Event::Call(number));
            }
            other => panic!("a policy without a window or a budget answered {other:?}"),
        }
    }

    fn arrive(&mut self, number: usize, back: Span) {
        let answer = self.server.hit(self.now);
        let thread = &mut self.threads[number];
        thread.sent += 1;
        thread.throttled += u32::from(!answer.served);
        self.agenda.enter(self.now.saturating_add(back), Event::Return(number, answer));
    }

    fn come_back(
        &mut self,
        number: usize,
        answer: Answer,
        done: &impl Fn(&Thread, Answer) -> bool,
    ) {
        let thread = &mut self.threads[number];
        let gate = &mut self.gates[thread.gate];
        let outcome = if answer.served { Outcome::Ok } else { Outcome::Throttled };
        let hint = answer.remaining.map_or(Hint::NONE, Hint::remaining);
        if let Some(permit) = thread.flight.take() {
            gate.settle(self.now, permit, outcome.with(hint));
        }
        thread.call = gate.retry(self.now, &thread.call, outcome).unwrap_or_default();
        if answer.served && done(thread, answer) {
            thread.done = Some(self.now);
            return;
        }
        self.call(number);
    }

    fn stranger_calls(&mut self) {
        let Some(stranger) = self.stranger else { return };
        if self.server.hit(self.now).served {
            self.strangers.0 += 1;
        } else {
            self.strangers.1 += 1;
        }
        let next = stranger(self.now, &mut self.chance);
        self.agenda.enter(next, Event::Stranger);
    }
}
