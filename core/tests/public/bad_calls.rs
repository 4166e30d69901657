//! Calls that always fail beside calls that the server serves.

use std::collections::BTreeMap;

use tidegate::Permit;
use tidegate::law::Adaptive;
use tidegate::queue::{Joined, Node, Place, Queue, Step, Turn};
use tidegate::{Call, Controller, Decision, Hint, Outcome, Policy, Reply, Rng, Span};

use crate::client::admitted;
use crate::server::{Says, Server};
use crate::{MILLIS, SECOND, at};

/// Calls that arrive at random, 50 a second, each with five seconds.
struct World {
    /// Of how many calls one is bad; zero for none, one for all of them.
    one_in: u64,
    outcome: Outcome,
    /// The seconds from and before which calls are bad.
    bad: (u64, u64),
    takes: u64,
    /// How many calls the server serves a second, if it has a limit.
    limit: Option<u64>,
    /// The length of the windows in which it serves that many a second. It is a bucket of a second without.
    window: Option<u64>,
    /// How many calls are made at the same time, if each worker makes its next call when the last has ended.
    workers: Option<u64>,
}

const PLAIN: World = World {
    one_in: 0,
    outcome: Outcome::Ok,
    bad: (0, u64::MAX / SECOND),
    takes: 5 * MILLIS,
    limit: None,
    window: None,
    workers: None,
};

/// Good calls, those of them that were served in time, and when attempts were sent.
#[derive(Default)]
struct Counts {
    good: u64,
    served: u64,
    sent: Vec<u64>,
}

enum Event {
    Arrives,
    /// The backoff of this call ends.
    Again(u64),
    Ends(u64, Permit, Outcome),
    Look,
}

struct Job {
    call: Call,
    place: Place,
    bad: bool,
}

impl World {
    #[allow(clippy::too_many_lines, reason = "one loop of events")]
    fn run(&self, seconds: u64, seed: u64) -> Counts {
        let mut rng = Rng::new(seed);
        let mut gate: Controller<Adaptive> = Controller::new(Policy::adaptive(), seed, at(0));
        let mut queue = Queue::new(Vec::<Node>::new(), 100_000);
        let mut counts = Counts::default();
        let (mut events, mut number) = (BTreeMap::new(), 0);
        let mut add = |events: &mut BTreeMap<_, _>, time: u64, event| {
            number += 1;
            events.insert((time, number), event);
        };
        let mut jobs = BTreeMap::<u64, Job>::new();
        let mut waiting = BTreeMap::<usize, u64>::new();
        let mut arrived = 0;
        let mut server = self.limit.map(|limit| match self.window {
            Some(window) => Server::new(limit * window / SECOND, window, None, Says::Nothing),
            None => Server::bucket(limit, SECOND),
        });
        (0..self.workers.unwrap_or(1))
            .for_each(|worker| add(&mut events, 1 + worker, Event::Arrives));
        while let Some(((time, _), event)) = events.pop_first() {
            let now = at(time);
            let (mut ended, mut joins, mut admitted) = (false, None, Vec::new());
            match event {
                Event::Arrives if time < seconds * SECOND => {
                    if self.workers.is_none() {
                        let gap = rng.between(Span::ZERO, Span::from_millis(40)).as_nanos();
                        add(&mut events, time + gap.max(1), Event::Arrives);
                    }
                    arrived += 1;
                    let bad =
                        self.one_in > 0 && u64::from(rng.next_u32()).is_multiple_of(self.one_in);
                    counts.good += u64::from(!bad);
                    let call = Call::new().deadline(at(time + 5 * SECOND));
                    jobs.insert(arrived, Job { call, place: queue.place(0), bad });
                    joins = Some(arrived);
                }
                Event::Again(id) => joins = Some(id),
                Event::Arrives | Event::Look => {}
                Event::Ends(id, permit, outcome) => {
                    gate.settle(now, permit, outcome);
                    queue.changed();
                    let job = jobs.get_mut(&id).unwrap();
                    counts.served += u64::from(outcome == Outcome::Ok);
                    match gate.retry(now, &job.call, outcome) {
                        Ok(next) => {
                            job.call = next;
                            let again = next.not_before().max(now).as_nanos();
                            add(&mut events, again, Event::Again(id));
                        }
                        Err(_) => ended = true,
                    }
                }
            }
            if let Some(id) = joins {
                match queue.admit_or_join(now, &mut gate, &jobs[&id].call, jobs[&id].place) {
                    Ok(Joined::Admitted(permit)) => admitted.push((id, permit)),
                    Ok(Joined::Waits(ticket)) => _ = waiting.insert(ticket.slot(), id),
                    Err(_) => ended = true,
                }
            }
            loop {
                match queue.poll(now, &mut gate) {
                    Step::Wake(ticket) => {
                        let id = waiting.remove(&ticket.slot()).unwrap();
                        match queue.take(ticket) {
                            Turn::Admitted(permit) => admitted.push((id, permit)),
                            _ => ended = true,
                        }
                    }
                    Step::Sleep(Some(until)) => {
                        add(&mut events, until.as_nanos(), Event::Look);
                        break;
                    }
                    Step::Sleep(None) => break,
                }
            }
            for (id, permit) in admitted {
                counts.sent.push(time);
                let reply = server.as_mut().map(|server| server.call(time));
                let mut outcome = reply.map_or(Outcome::Ok, |reply| reply.outcome);
                let (from, to) = self.bad;
                let fails = jobs[&id].bad && (from..to).contains(&(time / SECOND));
                if fails && outcome == Outcome::Ok {
                    outcome = self.outcome;
                }
                add(&mut events, time + self.takes, Event::Ends(id, permit, outcome));
            }
            if ended && self.workers.is_some() {
                add(&mut events, time + MILLIS, Event::Arrives);
            }
        }
        counts
    }
}

#[test]
fn calls_that_always_fail_stop_no_other_call() {
    for outcome in [Outcome::Failed, Outcome::Busy, Outcome::Throttled] {
        for (takes, limit) in [(5, None), (1_000, None), (200, Some(100))] {
            for one_in in [10, 50, 500] {
                let world = World { one_in, outcome, takes: takes * MILLIS, limit, ..PLAIN };
                let runs = [1, 2, 3].map(|seed| world.run(30, seed));
                let [good, served] = [|run: &Counts| run.good, |run: &Counts| run.served]
                    .map(|count| runs.iter().map(count).sum::<u64>());
                let what =
                    format!("{outcome:?} of one in {one_in} in {takes} ms, at most {limit:?}");
                assert!(served * 100 >= good * 99, "{served} of {good} served, {what}");
            }
        }
    }
}

/// All of a few workers meet the end of a window together. None is left to show that it is not their calls.
#[test]
fn a_few_workers_use_most_of_each_window() {
    for window in [SECOND, 2 * SECOND, 4 * SECOND] {
        let mut served = Vec::new();
        for workers in 2..=8 {
            for seed in 1..=12 {
                let world = World {
                    takes: 20 * MILLIS,
                    limit: Some(50),
                    window: Some(window),
                    workers: Some(workers),
                    ..PLAIN
                };
                served.push(world.run(24, seed).served);
            }
        }
        served.sort_unstable();
        let (worst, median) = (served[0], served[served.len() / 2]);
        let what = format!("{worst} and {median} served with windows of {window} ns");
        assert!(worst * 3 >= 24 * 50 * 2 && median * 20 >= 24 * 50 * 19, "{what}");
    }
}

/// Probes are a twelfth to a quarter of the outage's time apart, so some twenty reach its tenth second. Ten of
/// twenty workers have sent a call before the first fails.
#[test]
fn an_outage_costs_few_calls() {
    for (outcome, workers, most) in [
        (Outcome::Failed, None, 22),
        (Outcome::Busy, None, 22),
        (Outcome::Throttled, None, 17),
        (Outcome::Failed, Some(1), 22),
        (Outcome::Failed, Some(20), 32),
        (Outcome::Busy, Some(20), 32),
    ] {
        for seed in 1..=8 {
            let world = World { one_in: 1, outcome, workers, ..PLAIN };
            let mut sent = world.run(10, seed).sent;
            sent.retain(|at| *at < 10 * SECOND);
            let what = format!("{sent:?} sent with {workers:?} workers, {outcome:?}, seed {seed}");
            assert!(sent.len() <= most, "{} {what}", sent.len());
            // Without a rate, probes begin at a tenth of a second, and may be four of those apart, give or take half.
            let furthest = |since: u64| (since / 4).max(600 * MILLIS) + 50 * MILLIS;
            let soon = sent.windows(2).all(|pair| pair[1] - pair[0] <= furthest(pair[0]));
            assert!(soon || outcome == Outcome::Throttled, "{what}");
        }
    }
}

/// Fifty calls a second arrive. An outage of rejections looks like the end of a window, until it ends for good.
#[test]
fn a_few_seconds_after_an_outage_the_rate_is_back() {
    for (outcome, from, to, after) in [
        (Outcome::Failed, 60, 70, 5),
        (Outcome::Busy, 60, 70, 5),
        (Outcome::Throttled, 60, 62, 5),
        (Outcome::Throttled, 60, 70, 14),
        (Outcome::Throttled, 30, 40, 12),
    ] {
        let slow = (1..=20).filter(|seed| {
            let world = World { one_in: 1, outcome, bad: (from, to), ..PLAIN };
            let sent = world.run(to + after + 6, *seed).sent;
            let back = (to + after) * SECOND..(to + after + 6) * SECOND;
            sent.iter().filter(|at| back.contains(at)).count() < 270
        });
        let slow = slow.count();
        assert!(slow <= 1, "{slow} of 20 are slow, {outcome:?} from {from} to {to} s");
    }
}

/// An API that rejects a call for ever, for example because it is too large, may not say so.
#[test]
fn a_call_that_is_always_throttled_has_few_attempts() {
    for seed in 1..=8 {
        let mut gate: Controller<Adaptive> = Controller::new(Policy::adaptive(), seed, at(0));
        let (mut bad, mut attempts) = (Call::new(), Vec::new());
        for tick in 1..=120 * 50 {
            let now = at(tick * 20 * MILLIS);
            if let Decision::Admit(permit) = gate.poll(now, &bad) {
                attempts.push(tick / 50);
                gate.settle(now, permit, Outcome::Throttled);
                bad = gate.retry(now, &bad, Outcome::Throttled).unwrap();
            }
            if let Decision::Admit(permit) = gate.poll(now, &Call::new()) {
                gate.settle(now, permit, Outcome::Ok);
            }
        }
        let soon = attempts.iter().filter(|second| **second < 25).count();
        assert!(soon <= 24 && attempts.len() <= 32, "seed {seed}: in the seconds {attempts:?}");
    }
}

/// Rejections in a row double the time between probes, whatever failed before the first of them.
#[test]
fn a_failure_before_a_rejection_is_not_part_of_its_event() {
    for paced in [false, true] {
        let mut gate: Controller<Adaptive> = Controller::new(Policy::adaptive(), 7, at(0));
        let mut now = SECOND;
        let retry = gate.retry(at(now), &Call::new(), Outcome::Failed).unwrap();
        let mut call = |call: &Call, reply: Reply| {
            let permit = admitted(&mut gate, &mut now, call);
            now += 50 * MILLIS;
            gate.settle(at(now), permit, reply);
            gate.intervals(at(now)).next().flatten()
        };
        let (new, ok, failed) = (Call::new(), Outcome::Ok.into(), Outcome::Failed.into());
        let asking = |wait| Outcome::Throttled.with(Hint::retry_after(Span::from_secs(wait)));
        (0..20).for_each(|_| _ = call(&new, ok));
        if paced {
            call(&new, asking(0));
            (0..12).for_each(|_| _ = call(&new, ok));
            call(&retry, failed);
        } else {
            call(&new, failed);
            call(&new, asking(5));
            call(&new, ok);
        }
        let [first, _, third] =
            [(); 3].map(|()| call(&new, Outcome::Throttled.into()).unwrap().as_nanos());
        assert!((first * 39 / 10..first * 41 / 10).contains(&third), "{paced}: {first} {third}");
    }
}
