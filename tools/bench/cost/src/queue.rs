//! The queue with a controller that admits every call. The number of waiting calls stays constant.

use std::hint::black_box;

use tidegate::law::Fixed;
use tidegate::queue::{Joined, Node, Queue, Step, Turn};
use tidegate::{Call, Controller, Instant, Outcome, Rng, Span};

use crate::limiters::{STEP, with_costs};
use crate::meter::{meter, run};

struct Bench {
    queue: Queue<Vec<Node>>,
    gate: Controller<Fixed>,
    now: Instant,
    chance: Rng,
}

/// Longer than any of these calls takes.
const PATIENCE: Span = Span::from_secs(86_400);

impl Bench {
    /// A queue with this many waiting calls, with random priorities and deadlines.
    fn new(waiting: u32) -> Self {
        let queue = Queue::new(Vec::new(), waiting + 1);
        let mut bench = Self { queue, gate: with_costs(), now: Instant::ZERO, chance: Rng::new(7) };
        // The first ones are admitted, and there is no room for the others.
        while bench.queue.waiting() < waiting as usize {
            let (call, priority) = bench.call();
            let place = bench.queue.place(priority);
            let joined = bench.queue.admit_or_join(bench.now, &mut bench.gate, &call, place);
            _ = joined.expect("a place");
        }
        bench
    }

    fn call(&mut self) -> (Call, u8) {
        let dice = self.chance.next_u32();
        let within = PATIENCE + Span::from_micros((dice >> 8).into());
        (black_box(Call::new().deadline(self.now + within)), (dice % 8) as u8)
    }

    /// A call joins, and another is admitted and completes.
    fn turn(&mut self, on: bool) {
        self.now += STEP;
        let (call, priority) = self.call();
        let Self { queue, gate, now, .. } = self;
        meter(on, || {
            let place = queue.place(priority);
            _ = queue.admit_or_join(*now, gate, &call, place).expect("a place");
            let Step::Wake(ticket) = queue.poll(*now, gate) else { panic!("kept back") };
            let Turn::Admitted(permit) = queue.take(ticket) else { panic!("rejected") };
            gate.settle(*now, permit, Outcome::Ok);
            queue.changed();
        });
    }
}

/// A call that finds no other waiting.
pub fn empty() {
    let mut bench = Bench::new(0);
    let call = black_box(Call::new());
    run(|on| {
        bench.now += STEP;
        let Bench { queue, gate, now, .. } = &mut bench;
        meter(on, || {
            let place = queue.place(0);
            let Ok(Joined::Admitted(permit)) = queue.admit_or_join(*now, gate, &call, place) else {
                panic!("kept back")
            };
            gate.settle(*now, permit, Outcome::Ok);
            queue.changed();
        });
    });
}

pub fn of_a_thousand() {
    let mut bench = Bench::new(1_000);
    run(|on| bench.turn(on));
}

pub fn of_a_hundred_thousand() {
    let mut bench = Bench::new(100_000);
    run(|on| bench.turn(on));
}

/// A check before the first call may be sent.
pub fn idle() {
    let mut bench = Bench::new(1_000);
    let Bench { queue, gate, now, .. } = &mut bench;
    while let Step::Wake(_) = queue.poll(*now, gate) {}
    run(|on| {
        assert!(matches!(meter(on, || queue.poll(black_box(*now), gate)), Step::Sleep(Some(_))));
    });
}
