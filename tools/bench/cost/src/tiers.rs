//! `adaptive` with a server of ten calls a second that sends more or fewer hints.

use std::hint::black_box;

use tidegate::law::Adaptive;
use tidegate::{Call, Decision, Hint, Instant, Outcome, Policy, Reply, Rng, Single, Span, Verdict};
use tidegate_limits::{Bucket, Limit, Window};

use crate::meter::{meter, run};

const ROUND_TRIP: Span = Span::from_millis(20);
/// The time in which the server regains one call.
const REGAIN: u64 = 100_000_000;

/// A client that always has another call to make.
struct Client {
    gate: Single<Adaptive>,
    call: Call<1, ()>,
    now: Instant,
}

impl Client {
    fn new() -> Self {
        let policy = Policy::adaptive();
        let now = Instant::from_nanos(1_000_000_000);
        let gate = Single::with_rng(policy, Rng::new(7), now);
        Self { gate: black_box(gate), call: black_box(Call::new()), now }
    }

    fn wait(&mut self, on: bool) {
        while let Verdict::Wait(until) = self.gate.check(self.now, &self.call) {
            let told = meter(on, || self.gate.poll(self.now, &self.call));
            assert_eq!(told, Decision::Wait(until));
            self.now = until;
        }
    }

    /// Sends a call that completes with `reply`.
    fn call(&mut self, on: bool, reply: Reply) {
        let then = self.now + ROUND_TRIP;
        let left = meter(on, || match self.gate.poll(self.now, &self.call) {
            Decision::Admit(permit) => {
                self.gate.settle(then, permit, reply);
                true
            }
            _ => false,
        });
        assert!(left, "a call that had waited was delayed again");
        self.now = then;
    }
}

/// Whether a call is served, and how many calls remain.
fn serve(limit: &mut impl Limit, now: Instant) -> (Outcome, u64) {
    let served = limit.take(now.as_nanos(), 1);
    (if served { Outcome::Ok } else { Outcome::Throttled }, limit.remaining())
}

/// No throttled call yet, so no call waits.
pub fn open() {
    let mut client = Client::new();
    run(|on| client.call(on, Outcome::Ok.into()));
}

/// Only throttled calls are known. They are included as they occur.
pub fn blind() {
    let (mut client, mut server) = (Client::new(), Bucket::new(1, REGAIN, 4));
    run(|on| {
        client.wait(false);
        let (outcome, _) = serve(&mut server, client.now);
        client.call(on, outcome.into());
    });
}

/// The same, but only the polls that return a wait: one for each call.
pub fn blind_waits() {
    let (mut client, mut server) = (Client::new(), Bucket::new(1, REGAIN, 4));
    run(|on| {
        client.wait(on);
        let (outcome, _) = serve(&mut server, client.now);
        client.call(false, outcome.into());
    });
}

pub fn remaining() {
    let (mut client, mut server) = (Client::new(), Bucket::new(1, REGAIN, 60));
    run(|on| {
        client.wait(false);
        let (outcome, left) = serve(&mut server, client.now);
        client.call(on, outcome.with(Hint::remaining(left)));
    });
}

/// A hundred calls per ten seconds. The server reports that, the remaining calls and the reset.
pub fn period() {
    const LIMIT: u64 = 100;
    const PERIOD: Span = Span::from_secs(10);
    let (mut client, mut server) = (Client::new(), Window::new(LIMIT, PERIOD.as_nanos()));
    run(|on| {
        client.wait(false);
        let (outcome, left) = serve(&mut server, client.now);
        let reset = Span::from_nanos(server.reset());
        let hint = Hint::quota(LIMIT, PERIOD).and_remaining(left).and_reset(reset);
        client.call(on, outcome.with(hint));
    });
}
