//! AATB, the assisted adaptive token bucket: ATB's bucket, and a telemetry server that reports how
//! much all clients send.
//!
//! Source: arXiv 2510.04516v3 and its program, github.com/Bfarkiani/ratelimiter at 5def00a,
//! `AATB_TB.py`, `AATB.py` and `telemetry.py` with the constants of `configs/AATB/config1.json`. A
//! client starts like one of [`atb`](super::atb). Every 30 s, unless it was throttled within the
//! last 30 s, it reports what it has sent. If the response reports throttled calls, its next call
//! waits 30 s ± 2 s longer. Otherwise, if its rate is 30 s old, the rate is multiplied by 1.4 if
//! the client has sent less than 75 % of the mean or is alone, and by 1.2 if not. After each
//! failure it also reports, halves its rate if it has sent less than half of the mean and divides
//! it by three if not, sets its bucket to 1.1 tokens, and waits (throttled calls + 1) / (the
//! server's rate) + U(0, 1) s. A call is repeated until it is served.
//!
//! The telemetry server is configured with the server's rate (80 a minute in the source), here with
//! the rate at the start of the world. Each thread is a client. A report is made at the first event
//! of its client that is not too early, and a sleeping client wakes for it.
//!
//! Known defects: the rate grows once per half minute, so a client that could send a hundred calls
//! a second reaches that after seven minutes. One throttled call of one client in half a minute
//! stops all of them for half a minute. Like ATB, it reads no hints.

use std::rc::Rc;

use tidegate::{Instant, Outcome, Span};

use super::atb::Bucket;
use super::dice::{Dice, seconds};
use super::threads::Threads;
use crate::throttle::{Answer, Call, Outlook, Response, Throttle};

const REPORT: Span = Span::from_secs(30);
const PAUSE: f64 = 30.0;
const PAUSE_JITTER: f64 = 2.0;
const FEW: (f64, f64) = (0.75, 1.4);
const GROWTH: f64 = 1.2;
const FEWER: (f64, f64) = (0.5, 2.0);
const CUT: f64 = 3.0;
const TOKENS: f64 = 1.1;
/// The server's rate if it is not known, in calls a second.
const SERVER: f64 = 80.0 / 60.0;

/// The throttle, with one client per thread.
pub(super) struct Aatb {
    clients: Threads<Option<Client>>,
    outlook: Rc<Outlook>,
    /// The server's rate that the telemetry server is configured with, in calls a second.
    server: f64,
    dice: Dice,
}

struct Client {
    number: usize,
    bucket: Bucket,
    /// Calls that returned since the last report, and those of that report.
    sent: u64,
    reported: u64,
    next_report: Instant,
    /// The earliest time of the next call.
    not_before: Instant,
    throttled: Option<Instant>,
    changed: Option<Instant>,
}

impl Aatb {
    pub fn new(dice: Dice, outlook: &Rc<Outlook>) -> Self {
        let server = outlook.rate.first().map(|step| step.1).filter(|rate| *rate > 0.0);
        let server = server.unwrap_or(SERVER);
        Self { clients: Threads::default(), outlook: Rc::clone(outlook), server, dice }
    }
}

impl Throttle for Aatb {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        let join = || Client::new(now, self.outlook.telemetry.borrow_mut().join());
        let client = self.clients.of(call.thread).get_or_insert_with(join);
        if now >= client.next_report {
            client.report(now, &self.outlook, &mut self.dice);
        }
        let not_before = &mut client.not_before;
        match client.bucket.acquire(now, || std::mem::take(not_before)) {
            Some(until) => Answer::Wait(until.min(client.next_report)),
            None => Answer::Admit(call.thread.into()),
        }
    }

    fn settle(&mut self, now: Instant, permit: u64, response: &Response) {
        let Some(client) = self.clients.of(permit as u32) else { return };
        if now >= client.next_report {
            client.report(now, &self.outlook, &mut self.dice);
        }
        if response.outcome == Outcome::Abandoned {
            return;
        }
        client.sent += 1;
        if response.outcome != Outcome::Ok {
            client.be_throttled(now, &self.outlook, self.server, &mut self.dice);
        }
    }

    fn retry(&mut self, _: Instant, _: &mut Call, response: &Response) -> bool {
        response.outcome.is_retryable()
    }

    fn next_at(&self, _: Instant) -> Option<Instant> {
        None
    }
}

impl Client {
    fn new(now: Instant, number: usize) -> Self {
        Self {
            number,
            bucket: Bucket::new(now),
            sent: 0,
            reported: 0,
            next_report: now.saturating_add(REPORT),
            not_before: Instant::ZERO,
            throttled: None,
            changed: None,
        }
    }

    /// The half-minute report. If several are due, one is made.
    fn report(&mut self, now: Instant, outlook: &Outlook, dice: &mut Dice) {
        let late = now.saturating_since(self.next_report).as_nanos() / REPORT.as_nanos();
        self.next_report = self.next_report.saturating_add(REPORT.saturating_mul(late + 1));
        let is_recent = |at: Instant| now.saturating_since(at) < REPORT;
        if self.throttled.is_some_and(is_recent) {
            return;
        }
        self.reported = std::mem::take(&mut self.sent);
        let load = outlook.telemetry.borrow_mut().report(now, self.number, self.reported, false);
        if load.throttled > 0.0 {
            let pause = PAUSE + dice.between(-PAUSE_JITTER, PAUSE_JITTER);
            self.not_before = now.saturating_add(seconds(pause));
        } else if !self.changed.is_some_and(is_recent) {
            let alone = load.clients == 1.0 || load.mean() == 0.0;
            let few = alone || (self.reported as f64) < FEW.0 * load.mean();
            self.bucket.grow(if few { FEW.1 } else { GROWTH });
            self.changed = Some(now);
        }
    }

    fn be_throttled(&mut self, now: Instant, outlook: &Outlook, server: f64, dice: &mut Dice) {
        self.throttled = Some(now);
        self.reported = std::mem::take(&mut self.sent);
        let load = outlook.telemetry.borrow_mut().report(now, self.number, self.reported, true);
        let few = (self.reported as f64) < FEWER.0 * load.mean();
        self.bucket.cut(if few { FEWER.1 } else { CUT });
        self.bucket.tokens = TOKENS;
        self.changed = Some(now);
        let wait = (load.throttled + 1.0) / server + dice.between(0.0, 1.0);
        self.not_before = now.saturating_add(seconds(wait));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::tests::{accepted, at, call, outlook, throttled};

    /// Clients of one telemetry server, at a server of 4 calls a second.
    fn clients<const N: usize>() -> [Aatb; N] {
        let outlook = Rc::new(Outlook { rate: vec![(Instant::ZERO, 4.0)], ..outlook() });
        std::array::from_fn(|seed| Aatb::new(Dice::new(seed as u64), &outlook))
    }

    fn go(client: &mut Aatb, now: f64) {
        assert_eq!(client.poll(at(now), &call()), Answer::Admit(0), "at {now} s");
    }

    fn rate(client: &mut Aatb) -> f64 {
        client.clients.of(0).as_ref().unwrap().bucket.rate()
    }

    /// Seconds until the client's next call is sent, found by following its answers.
    fn next_call(client: &mut Aatb, mut now: Instant) -> f64 {
        loop {
            match client.poll(now, &call()) {
                Answer::Wait(until) => now = until,
                answer => {
                    assert_eq!(answer, Answer::Admit(0));
                    return now.as_nanos() as f64 / 1e9;
                }
            }
        }
    }

    #[test]
    fn a_single_client_grows_by_two_fifths_every_half_minute() {
        let [mut client] = clients();
        go(&mut client, 0.0);
        client.settle(at(0.1), 0, &accepted(0));
        for (now, expected) in [(29.9, 0.67), (30.0, 0.94), (59.9, 0.94), (60.0, 1.32)] {
            go(&mut client, now);
            assert_eq!(rate(&mut client), expected, "at {now} s");
        }
    }

    #[test]
    fn a_client_that_sends_as_much_as_the_others_grows_more_slowly() {
        let [mut busy, mut idle] = clients();
        for client in [&mut busy, &mut idle] {
            go(client, 0.0);
            client.settle(at(0.1), 0, &accepted(0));
        }
        // A report is not included in its own response. Those of a minute ago are.
        for now in [30.0, 60.0] {
            go(&mut busy, now);
            (0..9).for_each(|_| busy.settle(at(now), 0, &accepted(0)));
            go(&mut idle, now);
        }
        // 0.67 x 1.4 each without a mean, then 9 and 0 calls against a mean of 1 for two clients.
        assert_eq!([&mut busy, &mut idle].map(rate), [1.13, 1.32]);
    }

    #[test]
    fn a_throttled_client_keeps_a_third_of_its_rate_and_waits_for_all_throttled_calls() {
        let [mut one, mut two] = clients();
        for client in [&mut one, &mut two] {
            go(client, 0.0);
        }
        one.settle(at(1.0), 0, &throttled(0));
        // 0.67 / 3 in hundredths. Nothing is reported yet: 1 / 4 s plus up to a second.
        assert_eq!(rate(&mut one), 0.22);
        let left = next_call(&mut one, at(1.0));
        assert!((1.25..2.25).contains(&left), "{left}");
        // One slot later the first throttled call counts: 2 / 4 s.
        two.settle(at(3.0), 0, &throttled(0));
        let left = next_call(&mut two, at(3.0));
        assert!((3.5..4.5).contains(&left), "{left}");
    }

    #[test]
    fn a_client_that_sent_less_than_half_of_the_mean_is_halved() {
        let [mut busy, mut idle] = clients();
        for client in [&mut busy, &mut idle] {
            go(client, 0.0);
        }
        (0..20).for_each(|_| busy.settle(at(5.0), 0, &accepted(0)));
        busy.settle(at(5.0), 0, &throttled(0));
        idle.settle(at(12.0), 0, &throttled(0));
        assert_eq!([&mut busy, &mut idle].map(rate), [0.22, 0.34]);
    }

    #[test]
    fn a_throttled_call_stops_all_other_clients_for_half_a_minute() {
        let [mut one, mut two] = clients();
        for client in [&mut one, &mut two] {
            go(client, 0.0);
        }
        one.settle(at(20.0), 0, &throttled(0));
        two.settle(at(30.0), 0, &accepted(0));
        let left = next_call(&mut two, at(30.0));
        assert!((58.0..62.0).contains(&left), "{left}");
        // A pause applies to one call.
        let again = next_call(&mut two, at(left));
        assert!(again < left + 2.0, "{again}");
    }
}
