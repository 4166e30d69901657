//! The simulator stops at a throttle that violates a promise, and names the violation.

use tidegate::Instant;
use tidegate_sim::breach::Breach;
use tidegate_sim::throttle::{Answer, Call, Next, Response, Throttle};
use tidegate_sim::{Scenario, World};

#[derive(Clone, Copy, PartialEq)]
enum Defect {
    /// None: it allows one call in flight, and answers others with `Full`.
    OneAtATime,
    WaitsForNow,
    IsFullThoughIdle,
    QueuesForEver,
    CountsTwice,
    RetriesWhatWasServed,
}

struct Defective {
    defect: Defect,
    out: u32,
}

fn throttle(defect: Defect) -> Box<dyn Throttle> {
    Box::new(Defective { defect, out: 0 })
}

impl Throttle for Defective {
    fn poll(&mut self, now: Instant, _: &Call) -> Answer {
        match self.defect {
            Defect::WaitsForNow => Answer::Wait(now),
            Defect::IsFullThoughIdle => Answer::Full,
            Defect::OneAtATime if self.out == 1 => Answer::Full,
            Defect::QueuesForEver => Answer::Queued,
            _ => {
                self.out += if self.defect == Defect::CountsTwice { 2 } else { 1 };
                Answer::Admit(0)
            }
        }
    }

    fn next(&mut self, _: Instant) -> Next {
        match self.defect {
            Defect::QueuesForEver => Next::Sleep { until: None, first: Some(0) },
            _ => Next::NOTHING,
        }
    }

    fn settle(&mut self, _: Instant, _: u64, _: &Response) {
        self.out -= 1;
    }

    fn retry(&mut self, _: Instant, _: &mut Call, _: &Response) -> bool {
        self.defect == Defect::RetriesWhatWasServed
    }

    fn in_flight(&self) -> Option<u32> {
        Some(self.out)
    }
}

const SCENARIO: &str = r#"
title = "four calls"
end = "10s"
stop_when_work_is_done = true
[server.bucket]
burst = 10
rate = "1/s"
[[clients]]
demand = { work = 4 }
"#;

#[test]
fn a_violated_promise_ends_the_run_and_is_named() {
    let scenario = Scenario::parse(SCENARIO, "test", "test").unwrap();
    for (defect, expected) in [
        (Defect::OneAtATime, None),
        (Defect::WaitsForNow, Some("zero wait")),
        (Defect::IsFullThoughIdle, Some("stuck")),
        (Defect::QueuesForEver, Some("stuck")),
        (Defect::CountsTwice, Some("permits")),
        (Defect::RetriesWhatWasServed, Some("again")),
    ] {
        let world = World::with(&scenario, 1, |_| Some(throttle(defect)));
        let found = world.unwrap().run().err().map(|broken| match broken.what {
            Breach::ZeroWait { .. } => "zero wait",
            Breach::Stuck { .. } => "stuck",
            Breach::Permits { permits: 2, calls: 1, .. } => "permits",
            Breach::Again { .. } => "again",
            _ => "another one",
        });
        assert_eq!(found, expected);
    }
}

#[test]
fn calls_that_find_no_room_are_sent_in_order_as_others_settle() {
    let text =
        SCENARIO.replace("demand", "threads = 5\ndemand").replace("burst = 10", "burst = 20");
    let scenario = Scenario::parse(&text, "test", "test").unwrap();
    let mut order = Vec::new();
    let mut world = World::with(&scenario, 1, |_| Some(throttle(Defect::OneAtATime))).unwrap();
    world
        .advance(Instant::MAX, &mut |step| {
            if matches!(step.what, tidegate_sim::trace::What::Sent(_)) {
                order.push(step.thread);
            }
        })
        .unwrap();
    let run = world.finish();
    // Twenty round trips of 50 to 150 ms in sequence.
    let time = run.metrics.get("time_s").unwrap();
    assert!((1.5..2.5).contains(&time), "{time} s");
    assert_eq!(order.len(), 20);
    // The order is the same in every round.
    assert_eq!(order[..5], order[5..10]);
    assert_eq!(order[5..10], order[15..20]);
}
