//! The oracle: the best possible result of clients that know the server and coordinate perfectly.
//!
//! It cannot be implemented, and is the reference of every table: calls are sent so that each finds
//! a token when it arrives, first come, first served. So closed loops of equal clients get equal
//! shares.
//!
//! A call that is sent at t arrives between t + 25 ms and t + 75 ms, or as the scenario says, and
//! calls overtake each other on the way. A token is therefore reserved for a call's *earliest*
//! arrival. Of the server's burst the oracle leaves what refills between earliest and latest
//! arrival, so that no refill is lost in a full bucket while calls with reserved tokens are on
//! their way. If the burst is smaller than that, and at the start of an outage, calls are throttled
//! nevertheless. The mean rate of strangers is subtracted. If they arrive at random, some collide
//! with the oracle's calls.
//!
//! The obedient oracle also sends nothing until a `Retry-After` is over, as a server demands. Every
//! client that obeys loses the same.

use std::collections::BTreeMap;
use std::rc::Rc;

use tidegate::{Instant, Span};

use super::sleep;
use super::supply::Supply;
use crate::scenario::units::Time;
use crate::throttle::{Answer, Call, Ledger, Outlook, Response, Throttle};

/// The throttle of one process. All processes share the ledger in the outlook.
pub(super) struct Oracle {
    outlook: Rc<Outlook>,
    supply: Supply,
    /// By thread: when its current call may be sent, once that is reserved.
    promised: BTreeMap<u32, Instant>,
    /// Until when no call is sent, because the server said so. `None` if that is ignored.
    obeys: Option<Instant>,
}

impl Oracle {
    pub fn new(outlook: &Rc<Outlook>, obeys: bool) -> Self {
        let (outlook, supply) = (Rc::clone(outlook), Supply::new(outlook));
        let obeys = obeys.then_some(Instant::ZERO);
        Self { outlook, supply, promised: BTreeMap::new(), obeys }
    }

    fn promise(&self, now: Instant) -> Instant {
        let mut ledger = self.outlook.ledger.borrow_mut();
        let from = now.max(ledger.next);
        let leaves = match self.outlook.window {
            Some((_, width, phase)) => self.by_windows(width, phase, &mut ledger, from),
            None => self.by_tokens(&mut ledger, from),
        };
        (ledger.open, ledger.next) = (true, leaves);
        leaves
    }

    /// The first instant at or after `from` that finds a token, for any travel time.
    fn by_tokens(&self, ledger: &mut Ledger, from: Instant) -> Instant {
        let (soonest, spread) = self.outlook.way;
        let arrives = from + soonest;
        if !ledger.open {
            ledger.tokens = self.outlook.start;
        }
        let reserve = self.supply.at(arrives) * Time::from(spread).seconds();
        let depth = (self.outlook.burst - reserve).max(1.0);
        let tokens = (ledger.tokens + self.supply.between(ledger.at, arrives)).min(depth);
        // If a token has to refill first, the call finds the bucket empty and leaves it empty.
        ledger.at = self.supply.arrival(arrives, 1.0 - tokens);
        ledger.tokens = (tokens - 1.0).max(0.0);
        Instant::from_nanos(ledger.at.as_nanos() - soonest.as_nanos())
    }

    /// The first instant at or after `from` whose call arrives within one window for any travel
    /// time, if strangers leave room in that window.
    fn by_windows(
        &self,
        width: Span,
        phase: Instant,
        ledger: &mut Ledger,
        from: Instant,
    ) -> Instant {
        let places =
            libm::round(self.supply.at(from) * Time::from(width).seconds()).max(1.0) as u32;
        let width = width.as_nanos();
        // Counted from one width before the first full window, so that all numbers are positive.
        let number = |at: u64| (at + width - phase.as_nanos() % width) / width;
        let begins = |number: u64| number * width + phase.as_nanos() % width - width;
        let (soonest, spread) = self.outlook.way;
        // If travel times differ by more than a window, no instant is certain to lie within one.
        let spread = spread.as_nanos().min(width / 2);
        let earliest = from.as_nanos() + soonest.as_nanos();
        let (mut arrives, mut window) = (earliest, number(earliest));
        if !ledger.open || number(ledger.at.as_nanos()) < window {
            ledger.used = 0;
        }
        if number(earliest + spread) > window || ledger.used >= places {
            window += 1;
            arrives = begins(window);
            ledger.used = 0;
        }
        ledger.used += 1;
        ledger.at = Instant::from_nanos(arrives);
        Instant::from_nanos(arrives - soonest.as_nanos())
    }
}

impl Throttle for Oracle {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        if let Some(until) = self.obeys.filter(|until| *until > now) {
            return Answer::Wait(until);
        }
        let leaves = self.promised.remove(&call.thread).unwrap_or_else(|| self.promise(now));
        if leaves <= now {
            return Answer::Admit(0);
        }
        self.promised.insert(call.thread, leaves);
        Answer::Wait(leaves)
    }

    fn settle(&mut self, now: Instant, _: u64, response: &Response) {
        if let (Some(until), Some(wait)) = (&mut self.obeys, response.hint.retry_after) {
            *until = (now + wait).max(*until);
        }
    }

    fn retry(&mut self, now: Instant, call: &mut Call, response: &Response) -> bool {
        response.outcome.is_retryable() && sleep(now, call, Span::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use tidegate::Hint;

    use super::*;
    use crate::chance::Chance;
    use crate::peer::tests::{self, at, call, outlook};
    use crate::throttle::Member;

    /// The arrivals, in order, of `calls` calls of as many threads in closed loops.
    fn arrivals(outlook: Outlook, calls: usize) -> Vec<Instant> {
        let mut oracle = Oracle::new(&Rc::new(outlook), false);
        let (mut chance, mut now) = (Chance::of(4), Instant::ZERO);
        let mut arrivals: Vec<Instant> = (0..calls)
            .map(|_| {
                while let Answer::Wait(until) = oracle.poll(now, &call()) {
                    assert!(until > now);
                    now = until;
                }
                let way = Span::from_nanos(chance.within(25e6, 75e6) as u64);
                now + way
            })
            .collect();
        arrivals.sort_unstable();
        arrivals
    }

    /// How many of the arrivals a token bucket throttles, computed independently in whole
    /// nanotokens.
    fn throttled(arrivals: &[Instant], per_second: u128, burst: u128, start: u128) -> usize {
        const TOKEN: u128 = 1_000_000_000;
        let (mut level, mut last) = (start * TOKEN, 0);
        let throttled = |arrival: &&Instant| {
            let now = u128::from(arrival.as_nanos());
            level = (level + (now - last) * per_second).min(burst * TOKEN);
            last = now;
            let throttled = level < TOKEN;
            level -= if throttled { 0 } else { TOKEN };
            throttled
        };
        arrivals.iter().filter(throttled).count()
    }

    #[test]
    fn a_token_bucket_is_fully_used_without_a_throttled_call() {
        let cases = [(1, 10, 10), (4, 4, 4), (100, 100, 0), (1_000, 2_000, 2_000)];
        for (rate, burst, start) in cases {
            let calls = 100 * rate as usize + start as usize;
            let known = Outlook {
                rate: vec![(Instant::ZERO, rate as f64)],
                burst: burst as f64,
                start: start as f64,
                ..outlook()
            };
            let arrivals = arrivals(known, calls);
            assert_eq!(throttled(&arrivals, rate, burst, start), 0, "{rate}/s");
            // The whole supply, within the second that a small bucket's reserve may cost.
            assert!(arrivals[calls - 1] < at(101.5), "{rate}/s: {:?}", arrivals[calls - 1]);
        }
    }

    #[test]
    fn a_change_of_rate_is_followed_and_an_outage_is_waited_out() {
        let known = Outlook {
            rate: vec![(at(0.0), 10.0), (at(10.0), 0.0), (at(60.0), 20.0)],
            burst: 2.0,
            start: 1.0,
            ..outlook()
        };
        let arrivals = arrivals(known, 301);
        let count = |from, to| arrivals.iter().filter(|a| (at(from)..at(to)).contains(a)).count();
        // The last call before the outage may be on its way when the outage begins.
        assert!((99..=101).contains(&count(0.0, 10.0)), "{}", count(0.0, 10.0));
        assert!(count(10.05, 60.0) <= 1, "{}", count(10.05, 60.0));
        assert!((196..=202).contains(&count(60.0, 70.0)), "{}", count(60.0, 70.0));
    }

    #[test]
    fn strangers_keep_their_mean_share_while_present() {
        let stranger = Member { from: at(10.0), to: at(20.0), stranger: Some(3.0) };
        let known = Outlook {
            rate: vec![(at(0.0), 4.0)],
            burst: 1.0,
            start: 0.0,
            members: vec![stranger],
            ..outlook()
        };
        let arrivals = arrivals(known, 90);
        let count = |from, to| arrivals.iter().filter(|a| (at(from)..at(to)).contains(a)).count();
        assert_eq!([count(0.0, 10.1), count(10.1, 20.1), count(20.1, 30.1)], [40, 10, 40]);
    }

    #[test]
    fn every_window_is_filled_exactly_beside_the_strangers() {
        for (phase, strangers, places) in
            [(0.0, 0.0, 100), (0.03, 0.5, 70), (17.3, 0.0, 100), (60.0, 1.5, 10)]
        {
            let window = Some((100, Span::from_secs(60), at(phase)));
            let rate = vec![(at(0.0), 100.0 / 60.0)];
            let known = Outlook { window, rate, strangers, ..outlook() };
            let arrivals = arrivals(known, 1_000);
            let number = |arrival: &Instant| {
                let phase = (phase * 1e9) as u64;
                (arrival.as_nanos() + 60_000_000_000 - phase) / 60_000_000_000
            };
            let first = number(&arrivals[0]);
            for window in first..first + 10 {
                let filled = arrivals.iter().filter(|a| number(a) == window).count();
                assert_eq!(filled, places, "window {window} of phase {phase}");
            }
        }
    }

    #[test]
    fn only_the_obedient_oracle_waits_for_a_retry_after() {
        for (obeys, answer) in [(false, Answer::Admit(0)), (true, Answer::Wait(at(5.0)))] {
            let known = Outlook { rate: vec![(at(0.0), 9.0)], burst: 9.0, start: 9.0, ..outlook() };
            let (mut oracle, wait) = (Oracle::new(&Rc::new(known), obeys), Span::from_secs(4));
            let response = Response { hint: Hint::retry_after(wait), ..tests::throttled(0) };
            oracle.settle(at(1.0), 0, &response);
            assert_eq!(oracle.poll(at(4.9), &call()), answer);
        }
    }

    #[test]
    fn processes_share_one_ledger() {
        let known = Outlook { rate: vec![(at(0.0), 1.0)], burst: 1.0, start: 1.0, ..outlook() };
        let known = Rc::new(known);
        let mut oracles = [0, 1, 2].map(|_| Oracle::new(&known, false));
        let answers = [0, 1, 2].map(|i| oracles[i].poll(at(0.0), &call()));
        assert_eq!(answers[0], Answer::Admit(0));
        let [_, Answer::Wait(second), Answer::Wait(third)] = answers else { panic!("{answers:?}") };
        assert_eq!(third - second, Span::from_secs(1));
        assert_eq!(oracles[1].poll(second, &call()), Answer::Admit(0));
    }
}
