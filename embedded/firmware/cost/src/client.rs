//! A client that always has another call to make.

use core::hint::black_box;

use tidegate::law::Law;
use tidegate::{Call, Decision, Instant, Policy, Rng, Single, Span};

use crate::meter::Meters;
use crate::server::Server;

const ROUND_TRIP: Span = Span::from_millis(20);

/// Its gate, and its clock, which only advances when it waits or calls.
pub struct Client<L: Law + Copy> {
    gate: Single<L>,
    call: Call<1, ()>,
    now: Instant,
}

impl<L: Law + Copy> Client<L> {
    pub fn new(policy: Policy<L>) -> Self {
        let now = Instant::from_nanos(1_000_000_000);
        let gate = Single::with_rng(policy, Rng::new(7), now);
        Self { gate: black_box(gate), call: black_box(Call::new()), now }
    }

    /// Waits until a call may be sent, makes it, and settles it.
    pub fn call(&mut self, server: &mut impl Server, meters: &mut Meters) {
        let permit = loop {
            let (call, now) = (black_box(self.call), black_box(self.now));
            // Only the decision determines the meter.
            let waits = !matches!(self.gate.check(now, &call), tidegate::Verdict::Admit);
            let meter = if waits { &mut meters.wait } else { &mut meters.admit };
            match meter.of(&mut self.gate, |gate| gate.poll(now, &call)) {
                Decision::Admit(permit) => break permit,
                Decision::Wait(until) => self.now = until,
                Decision::Full | Decision::Reject(_) => board::fail(board::Trouble::Wrong),
            }
        };
        let reply = black_box(server.serve(self.now));
        self.now += ROUND_TRIP;
        let now = black_box(self.now);
        meters.settle.of(&mut self.gate, |gate| gate.settle(now, permit.twin(), reply));
    }
}
