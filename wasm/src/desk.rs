//! The state of the module: controllers and calls in numbered slots, and the reply that is being
//! built. JavaScript is single-threaded, so there is one desk.

use tidegate::gate::{Gate, Permit};
use tidegate::queue::{self, Ahead, Gate as _, Place, Turn};
use tidegate::{Call, Decision, Instant, Policy};

use crate::arena::Arena;
use crate::common::{Calls, Requested};
use crate::draft::Draft;
use crate::line::{Line, Told};
use crate::number::{Clock, count, deadline, millis, whole};
use crate::permits::Permits;
use crate::policy::{WORDS, expiry, policy};
use crate::{Controller, LIMITS, Law};

#[cfg(feature = "full")]
mod layers;
#[cfg(feature = "full")]
use layers::Lent;

/// A controller with its queue.
struct Kept {
    gate: Pausable,
    line: Line<LIMITS>,
    /// The permits that calls keep while they wait for another key.
    #[cfg(feature = "full")]
    lent: Arena<Lent>,
}

#[cfg(not(feature = "full"))]
impl Kept {
    /// A call has one key, and keeps no permits.
    fn renew(&mut self, _: Instant, _: &mut Permits<LIMITS>) {}
}

/// A controller that can be paused.
struct Pausable {
    controller: Controller,
    paused: bool,
}

impl queue::Gate<LIMITS> for Pausable {
    fn poll(&mut self, now: Instant, call: &Call<LIMITS>) -> Decision<Permit<LIMITS>> {
        if self.paused {
            return Decision::Full;
        }
        self.controller.poll(now, call)
    }

    fn refund(&mut self, now: Instant, permit: Permit<LIMITS>) {
        self.controller.refund(now, permit);
    }

    fn ready_at(&self, now: Instant, call: &Call<LIMITS>) -> Option<Instant> {
        if self.paused {
            return None;
        }
        self.controller.ready_at(now, call)
    }

    fn due_behind(&self, now: Instant, call: &Call<LIMITS>, ahead: &[Ahead; LIMITS]) -> Instant {
        queue::Gate::due_behind(&self.controller, now, call, ahead)
    }

    fn count_rejection(&mut self) {
        queue::Gate::count_rejection(&mut self.controller);
    }

    fn is_failing(&self) -> bool {
        queue::Gate::is_failing(&self.controller)
    }
}

/// See the module's documentation.
pub struct Desk {
    gates: Arena<Kept>,
    /// The later attempts of calls.
    pub calls: Calls<LIMITS>,
    permits: Permits<LIMITS>,
    /// The reply of the next call to be settled.
    pub draft: Draft<LIMITS>,
    clock: Clock,
    /// The permit of a call that was in the queue before and joins again.
    #[cfg(feature = "full")]
    pub again: Option<f64>,
    /// Details of the latest decision.
    pub told: Told,
}

impl Desk {
    /// Creates an empty desk.
    pub const fn new() -> Self {
        Self {
            gates: Arena::new(),
            calls: Calls::new(),
            permits: Permits::new(),
            draft: Draft::new(),
            clock: Clock::NEW,
            #[cfg(feature = "full")]
            again: None,
            told: Told::new(),
        }
    }

    /// Creates a controller and returns its slot; -1 if there is no memory, -2 if the policy is
    /// invalid. At most `most` calls may wait.
    pub fn open(&mut self, row: &[f64; WORDS], seed: [u32; 2], now: f64, most: u32) -> i32 {
        let now = self.clock.read(now);
        let Some(policy) = self.policy(row) else { return -2 };
        self.keep(Controller::new(policy, whole(seed), now), most)
    }

    #[cfg(feature = "full")]
    /// Like `open`, but continues from a record; -3 if the record is invalid or does not fit the
    /// policy.
    pub fn restore(
        &mut self,
        row: &[f64; WORDS],
        seed: [u32; 2],
        now: f64,
        record: &[u8],
        away: f64,
        most: u32,
    ) -> i32 {
        let now = self.clock.read(now);
        let Some(policy) = self.policy(row) else { return -2 };
        let away = crate::number::span(away).unwrap_or_default();
        match Controller::restore(policy, whole(seed), record, now, away) {
            Ok(gate) => self.keep(gate, most),
            Err(_) => -3,
        }
    }

    fn policy(&mut self, row: &[f64; WORDS]) -> Option<Policy<Law, LIMITS>> {
        self.permits.keep_for(expiry(row));
        policy(row, u16::MAX).map(|(policy, _)| policy)
    }

    fn keep(&mut self, gate: Controller, most: u32) -> i32 {
        let gate = Pausable { controller: gate, paused: false };
        let slot = self.gates.insert(Kept {
            gate,
            line: Line::new(most),
            #[cfg(feature = "full")]
            lent: Arena::new(),
        });
        slot.and_then(|slot| i32::try_from(slot).ok()).unwrap_or(-1)
    }

    /// Frees a controller's slot.
    pub fn close(&mut self, gate: u32) {
        self.gates.remove(gate);
    }

    /// Sets another policy. Returns whether the policy is valid and the controller exists.
    pub fn follow(&mut self, gate: u32, row: &[f64; WORDS], now: f64) -> bool {
        let now = self.clock.read(now);
        let Some(policy) = self.policy(row) else { return false };
        let Some(kept) = self.gates.get(gate) else { return false };
        kept.gate.controller.set_policy(policy, now);
        kept.line.changed();
        true
    }

    /// Ends all cooldowns, and forgets what was learned.
    pub fn reset(&mut self, gate: u32, now: f64) {
        let now = self.clock.read(now);
        if let Some(kept) = self.gates.get(gate) {
            kept.gate.controller.reset(now);
            kept.line.changed();
        }
    }

    /// Pauses or resumes a controller.
    pub fn pause(&mut self, gate: u32, paused: bool) {
        if let Some(kept) = self.gates.get(gate) {
            kept.gate.paused = paused;
            kept.line.changed();
        }
    }

    /// In how many milliseconds a call that joined now could be sent at the earliest, ignoring
    /// calls in flight.
    pub fn peek(&mut self, gate: u32, now: f64) -> f64 {
        let now = self.clock.read(now);
        let Some(kept) = self.gates.get(gate) else { return f64::NAN };
        millis(kept.line.peek(now, &kept.gate, &call([1.0, f64::NAN])).saturating_since(now))
    }

    /// Returns a permit for a call that does not wait; less than 0 or NaN if it would have to.
    pub fn poll(&mut self, gate: u32, now: f64, costs: [f64; LIMITS]) -> f64 {
        let now = self.clock.read(now);
        let Some(kept) = self.gates.get(gate) else { return f64::NAN };
        kept.renew(now, &mut self.permits);
        if !kept.line.is_empty() {
            return f64::NEG_INFINITY;
        }
        match kept.gate.poll(now, &call(costs)) {
            Decision::Admit(permit) => self.permits.hand_out(permit),
            _ => f64::NEG_INFINITY,
        }
    }

    /// See `Line::join`; also NaN if the controller does not exist.
    pub fn join(&mut self, gate: u32, requested: Requested, place: Place, now: f64) -> f64 {
        let now = self.clock.read(now);
        let call = self.call_of(requested);
        #[cfg(feature = "full")]
        let again = self.again.take();
        let Self { gates, permits, told, .. } = self;
        told.decided(Turn::<LIMITS>::Unknown, |_| f64::NAN);
        let Some(kept) = gates.get(gate) else { return f64::NAN };
        kept.renew(now, permits);
        #[cfg(feature = "full")]
        if let Some(before) = again {
            return kept.rejoin(now, permits, before, (&call, place), told);
        }
        let mut number = |permit| permits.hand_out(permit);
        // Usually the queue is empty and the call need not wait.
        if kept.line.is_empty() {
            match kept.gate.poll(now, &call) {
                Decision::Admit(permit) => return number(permit),
                Decision::Reject(reason) => return told.decided(Turn::Rejected(reason), number),
                Decision::Wait(_) | Decision::Full => {}
            }
        }
        kept.line.join::<false>(now, &mut kept.gate, (&call, place), told, number)
    }

    /// See `Line::next`; also less than 0 if the controller does not exist.
    pub fn next(&mut self, gate: u32, now: f64) -> f64 {
        let now = self.clock.read(now);
        let Self { gates, permits, told, .. } = self;
        let Some(kept) = gates.get(gate) else { return f64::NEG_INFINITY };
        kept.renew(now, permits);
        kept.line.next(now, &mut kept.gate, told, |permit| permits.hand_out(permit))
    }

    /// The slot of the first waiting call; -1 if there is none.
    pub fn first(&mut self, gate: u32, now: f64) -> i32 {
        let now = self.clock.read(now);
        self.gates.get(gate).map_or(-1, |kept| kept.line.first(now, &kept.gate))
    }

    /// Ends a waiting call.
    pub fn cancel(&mut self, gate: u32, slot: u32, turn: f64) {
        if let Some(kept) = self.gates.get(gate) {
            kept.line.cancel(slot, turn);
        }
    }

    /// The number of the gate that delays the call: none, pacing, cooldown, concurrency limit (or a
    /// pause), retry budget.
    pub fn why(&mut self, gate: u32, requested: Requested, now: f64) -> u32 {
        let now = self.clock.read(now);
        let call = self.call_of(requested);
        let Some(kept) = self.gates.get(gate) else { return 0 };
        match kept.gate.controller.why(now, &call) {
            _ if kept.gate.paused => 3,
            Some(Gate::Pacing) => 1,
            Some(Gate::Cooldown) => 2,
            Some(Gate::Concurrency) => 3,
            Some(Gate::RetryBudget) => 4,
            _ => 0,
        }
    }

    /// Learns from the current reply, and the call keeps its place. An unknown permit is harmless.
    pub fn learn(&mut self, gate: u32, permit: f64, now: f64) {
        let now = self.clock.read(now);
        if let (Some(kept), Some((permit, _))) = (self.gates.get(gate), self.permits.get(permit)) {
            kept.gate.controller.learn(now, permit, self.draft.reply);
            kept.line.changed();
        }
    }

    /// Reads the next bytes of a call's stream. None are its end: then the call costs the tokens that were reported.
    pub fn stream(&mut self, gate: u32, permit: f64, bytes: &[u8], now: f64) {
        let now = self.clock.read(now);
        let Some((permit, usage)) = self.permits.get(permit) else { return };
        usage.feed(bytes);
        if let (true, Some(kept), Some(_)) =
            (bytes.is_empty(), self.gates.get(gate), usage.tokens())
        {
            kept.gate.controller.correct(now, permit, [None, usage.tokens()]);
            kept.line.changed();
        }
    }

    /// Frees the place of a call. An unknown permit is harmless.
    pub fn release(&mut self, gate: u32, permit: f64) {
        let permit = self.permits.take(permit);
        if let (Some(kept), Some(permit)) = (self.gates.get(gate), permit) {
            kept.gate.controller.release(permit);
            kept.line.changed();
        }
    }

    /// The next attempt after the current reply; see `Calls::next`.
    pub fn retry(&mut self, gate: u32, requested: Requested, now: f64) -> i32 {
        let now = self.clock.read(now);
        let call = self.call_of(requested);
        let Some(kept) = self.gates.get(gate) else { return -1 };
        let next = kept.gate.controller.retry(now, &call, self.draft.reply);
        self.calls.next(requested.call, next)
    }

    /// The interval of a limit's law; 0 if there is none.
    pub fn interval(&mut self, gate: u32, limit: u32, now: f64) -> f64 {
        let now = self.clock.read(now);
        let kept = self.gates.get(gate);
        let interval =
            kept.and_then(|kept| kept.gate.controller.intervals(now).nth(limit as usize)).flatten();
        interval.map_or(0.0, millis)
    }

    /// The counters, in TypeScript's order.
    pub fn stats(&mut self, gate: u32) -> Option<[f64; COUNTERS]> {
        let gate = &self.gates.get(gate)?.gate.controller;
        let s = gate.stats();
        let counts = [
            s.admitted,
            s.waits,
            s.full,
            s.rejected,
            s.ok,
            s.throttled,
            s.busy,
            s.failed,
            s.abandoned,
            s.retries,
            s.slower,
            s.faster,
        ];
        let mut told = [0.0; COUNTERS];
        for (told, count) in told.iter_mut().zip(counts) {
            *told = f64::from(count);
        }
        if let Some(last) = told.last_mut() {
            *last = f64::from(gate.in_flight());
        }
        Some(told)
    }

    #[cfg(feature = "full")]
    /// Writes a controller's record and returns its length; 0 if the controller does not exist.
    pub fn snapshot(&mut self, gate: u32, now: f64, record: &mut [u8]) -> usize {
        let now = self.clock.read(now);
        self.gates
            .get(gate)
            .and_then(|kept| kept.gate.controller.snapshot(now, record).ok())
            .unwrap_or(0)
    }

    fn call_of(&mut self, requested: Requested) -> Call<LIMITS> {
        self.calls
            .get(requested.call, || call(requested.costs).deadline(deadline(requested.deadline)))
    }
}

/// Number of counters: core's, and the number of calls in flight.
pub const COUNTERS: usize = 13;

/// A call with these costs. If its tokens are NaN, they are not stated.
fn call(costs: [f64; LIMITS]) -> Call<LIMITS> {
    let call = Call::of(counts(costs));
    if costs[1].is_nan() { call.estimated() } else { call }
}

/// Without `map`, which compiles to a loop when optimised for size.
pub fn counts([requests, tokens]: [f64; LIMITS]) -> [u32; LIMITS] {
    [count(requests), count(tokens)]
}

#[cfg(test)]
mod tests {
    use super::*;

    pub const USUAL: [f64; WORDS] = {
        let mut row = [f64::NAN; WORDS];
        row[0] = 0.0;
        row[4] = 0.0;
        row
    };

    pub const PLAIN: Requested =
        Requested { call: u32::MAX, deadline: f64::NAN, costs: [1.0, f64::NAN] };

    /// The permit of a call; or, less than 0, when to try again (the call then no longer waits); or
    /// NaN.
    fn asked(desk: &mut Desk, gate: u32, requested: Requested, now: f64) -> f64 {
        let answer = desk.join(gate, requested, Place::new(0, 1), now);
        if answer < 0.0 {
            let next = desk.next(gate, now);
            desk.cancel(gate, (-1.0 - answer) as u32, 1.0);
            return next;
        }
        answer
    }

    fn settle(desk: &mut Desk, gate: u32, permit: f64, now: f64) {
        desk.learn(gate, permit, now);
        desk.release(gate, permit);
    }

    #[test]
    fn a_gate_learns_from_headers_and_a_call_frees_its_place_at_its_end() {
        let mut row = USUAL;
        row[8] = 1.0;
        let mut desk = Desk::new();
        let gate = desk.open(&row, [0, 7], 0.0, 100).cast_unsigned();
        let permit = asked(&mut desk, gate, PLAIN, 0.0);
        desk.draft.answer(0, f64::NAN);
        desk.learn(gate, permit, 10.0);
        desk.learn(gate, permit, 11.0);
        assert_eq!(desk.stats(gate).map(|told| [told[4], told[12]]), Some([1.0, 1.0]));
        assert!(desk.poll(gate, 20.0, [1.0, 0.0]) < 0.0);
        desk.release(gate, permit);
        desk.release(gate, permit);
        assert_eq!(
            desk.stats(gate).map(|told| [told[4], told[8], told[12]]),
            Some([1.0, 0.0, 0.0])
        );
        assert!(desk.poll(gate, 20.0, [1.0, 0.0]) >= 0.0);
    }

    #[test]
    fn a_paused_gate_admits_nothing_and_then_waiting_calls_by_priority() {
        let mut desk = Desk::new();
        let gate = desk.open(&USUAL, [0, 7], 0.0, 100).cast_unsigned();
        desk.pause(gate, true);
        assert_eq!(desk.poll(gate, 0.0, [1.0, 0.0]), f64::NEG_INFINITY);
        assert_eq!(desk.join(gate, PLAIN, Place::new(0, 1), 0.0), -1.0);
        assert_eq!(desk.join(gate, PLAIN, Place::new(7, 2), 0.0), -2.0);
        assert_eq!((desk.next(gate, 0.0), desk.why(gate, PLAIN, 0.0)), (f64::NEG_INFINITY, 3));
        desk.pause(gate, false);
        assert_eq!([desk.next(gate, 0.0), desk.next(gate, 0.0)], [1.0, 0.0]);
    }

    #[test]
    fn a_peek_charges_nothing_and_includes_waiting_calls() {
        let mut desk = Desk::new();
        let gate = desk.open(&ten(), [0, 7], 0.0, 100).cast_unsigned();
        assert_eq!(desk.peek(gate, 0.0), 0.0);
        assert!(desk.poll(gate, 0.0, [1.0, 0.0]) >= 0.0);
        assert_eq!(desk.peek(gate, 40.0), 60.0);
        assert!(desk.join(gate, PLAIN, Place::new(0, 1), 40.0) < 0.0);
        assert_eq!([desk.peek(gate, 40.0), desk.peek(gate, 50.0)], [160.0, 150.0]);
        assert_eq!(desk.next(gate, 40.0), -60.0);
        assert_eq!([desk.next(gate, 100.0), desk.next(gate, 100.0)], [0.0, f64::NEG_INFINITY]);
    }

    /// Ten calls per second, one at a time.
    fn ten() -> [f64; WORDS] {
        let mut row = USUAL;
        row[..4].copy_from_slice(&[1.0, 10.0, 1_000.0, f64::NAN]);
        row
    }

    #[test]
    fn a_poll_answers_with_a_permit_a_wait_full_or_a_reason() {
        let mut row = ten();
        row[8] = 1.0;
        let mut desk = Desk::new();
        let gate = desk.open(&row, [0, 7], 0.0, 100).cast_unsigned();
        let permit = asked(&mut desk, gate, PLAIN, 0.0);
        assert!(permit >= 0.0);
        assert!(asked(&mut desk, gate, PLAIN, 200.0) < 0.0);
        assert_eq!(desk.why(gate, PLAIN, 200.0), 3);
        desk.draft.answer(0, f64::NAN);
        settle(&mut desk, gate, permit, 200.0);
        assert!(asked(&mut desk, gate, PLAIN, 200.0) >= 0.0);
        let hasty = Requested { deadline: 250.0, ..PLAIN };
        assert!(asked(&mut desk, gate, hasty, 210.0).is_nan());
        // The previous call did not wait for the rate, so none of its delay is made up.
        assert_eq!((desk.told.reason(), desk.told.late()), (1, 300.0));
        assert!(asked(&mut desk, gate, Requested { costs: [2.0, 0.0], ..PLAIN }, 210.0).is_nan());
        assert_eq!(desk.told.reason(), 4);
    }

    #[test]
    fn a_wait_is_in_milliseconds_from_now() {
        let mut desk = Desk::new();
        let gate = desk.open(&ten(), [0, 7], 5.0, 100).cast_unsigned();
        assert!(asked(&mut desk, gate, PLAIN, 5.0) >= 0.0);
        assert_eq!(asked(&mut desk, gate, PLAIN, 35.0), -70.0);
        assert_eq!(desk.why(gate, PLAIN, 35.0), 1);
    }

    #[test]
    fn invalid_numbers_are_harmless() {
        let mut desk = Desk::new();
        assert!(asked(&mut desk, 3, PLAIN, 0.0).is_nan());
        assert_eq!(desk.told.reason(), 0);
        let gate = desk.open(&USUAL, [0, 7], 0.0, 100).cast_unsigned();
        let permit = asked(&mut desk, gate, PLAIN, 0.0);
        for wrong in [f64::NAN, -1.0, 1e300, permit + 1.0, f64::INFINITY] {
            settle(&mut desk, gate, wrong, 1.0);
        }
        assert_eq!(desk.stats(gate).map(|told| told[12]), Some(1.0), "the call is still in flight");
        settle(&mut desk, gate, permit, 1.0);
        settle(&mut desk, gate, permit, 1.0);
        assert_eq!(desk.stats(gate).map(|told| told[12]), Some(0.0));
        desk.close(gate);
        desk.close(gate);
        assert_eq!(desk.stats(gate), None);
        assert_eq!(desk.retry(gate, PLAIN, 1.0), -1);
    }

    #[test]
    fn a_later_attempt_keeps_its_slot_until_it_is_forgotten() {
        let mut row = ten();
        row[11] = 50.0;
        row[13] = 3.0;
        let mut desk = Desk::new();
        let gate = desk.open(&row, [0, 7], 0.0, 100).cast_unsigned();
        desk.draft.answer(1, 2_000.0);
        let call = desk.retry(gate, PLAIN, 0.0).cast_unsigned();
        let again = Requested { call, ..PLAIN };
        assert!((0.0..100.0).contains(&desk.calls.not_before(call)));
        assert_eq!(desk.retry(gate, again, 500.0).cast_unsigned(), call);
        assert_eq!(desk.retry(gate, again, 900.0), -1, "there are at most three attempts");
        desk.calls.forget(call);
        assert_eq!(desk.calls.not_before(call), 0.0);
    }

    #[test]
    fn a_response_is_read_for_both_limits() {
        let mut desk = Desk::new();
        desk.draft.status(429);
        desk.draft.header(b"x-ratelimit-remaining-tokens", b"0");
        desk.draft.header(b"retry-after", b"3");
        assert_eq!(desk.draft.read(f64::NAN), 1);
        assert_eq!(desk.draft.cooldown(), 3_000.0);
        assert_eq!(desk.draft.reply.hints[1].remaining, Some(0));
    }

    /// A call whose response has this body.
    fn served(desk: &mut Desk, gate: u32, body: &str, now: f64) {
        let permit = asked(desk, gate, PLAIN, now);
        desk.draft.status(200);
        desk.draft.body(body.as_bytes());
        assert_eq!(desk.draft.read(f64::NAN), 0);
        settle(desk, gate, permit, now + 1.0);
    }

    #[test]
    fn calls_without_a_stated_cost_stay_within_what_the_server_has_left() {
        let left = r#"{"extensions":{"cost":{"actualQueryCost":50,"throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":100,"restoreRate":50}}}}"#;
        let admitted = |body: &str| {
            let mut desk = Desk::new();
            let gate = desk.open(&USUAL, [0, 7], 0.0, 100).cast_unsigned();
            // The first response reports the cost of a call, and later calls are charged for it.
            served(&mut desk, gate, &body.replace("100,", "900,"), 0.0);
            served(&mut desk, gate, &body.replace("100,", "850,"), 2.0);
            served(&mut desk, gate, body, 4.0);
            (0..10).take_while(|_| desk.poll(gate, 6.0, PLAIN.costs) >= 0.0).count()
        };
        assert_eq!(admitted(left), 3, "two, and one as 50 is less than twice 32");
        assert_eq!(admitted(&left.replace("100,", "900,")), 10);
        assert_eq!(admitted(&left.replace("throttleStatus", "other")), 10, "no account is kept");
    }

    #[test]
    fn the_actual_cost_from_the_server_corrects_the_charge() {
        let mut row = USUAL;
        row[..8].copy_from_slice(&[1.0, f64::NAN, f64::NAN, f64::NAN, 1.0, 100.0, 1_000.0, 100.0]);
        let mut desk = Desk::new();
        let gate = desk.open(&row, [0, 7], 0.0, 100).cast_unsigned();
        served(&mut desk, gate, r#"{"usage":{"total_tokens":80}}"#, 0.0);
        assert_eq!(asked(&mut desk, gate, PLAIN, 1.0), -599.0, "20 of 100 tokens are left for 80");
        for stated in [0.0, 20.0] {
            let costs = [1.0, stated];
            assert!(asked(&mut desk, gate, Requested { costs, ..PLAIN }, 1.0) >= 0.0);
        }
    }

    #[cfg(feature = "full")]
    #[test]
    fn a_record_is_restored_only_under_its_own_policy() {
        let mut desk = Desk::new();
        let gate = desk.open(&ten(), [0, 7], 0.0, 100).cast_unsigned();
        assert!(asked(&mut desk, gate, PLAIN, 0.0) >= 0.0);
        let mut record = [0; 4_096];
        let length = desk.snapshot(gate, 0.0, &mut record);
        let record = &record[..length];
        let again = desk.restore(&ten(), [0, 8], 9_000.0, record, 0.0, 100).cast_unsigned();
        assert_eq!(asked(&mut desk, again, PLAIN, 9_000.0), -100.0);
        assert_eq!(desk.restore(&USUAL, [0, 8], 0.0, record, 0.0, 100), -3);
        assert_eq!(desk.restore(&ten(), [0, 8], 0.0, &record[1..], 0.0, 100), -3);
    }

    #[test]
    fn waiting_calls_are_decided_in_order_and_cancelled_ones_leave_no_trace() {
        let mut desk = Desk::new();
        let gate = desk.open(&ten(), [0, 7], 0.0, 3).cast_unsigned();
        assert!(desk.poll(gate, 0.0, [1.0, 0.0]) >= 0.0);
        let join = |desk: &mut Desk, priority, turn| {
            let answer = desk.join(gate, PLAIN, Place::new(priority, turn), 0.0);
            (-1.0 - answer, desk.told.given())
        };
        assert_eq!(
            [(0, 1), (0, 2), (7, 3)].map(|(priority, turn)| join(&mut desk, priority, turn)),
            [(0.0, 100.0), (1.0, 200.0), (2.0, 100.0)]
        );
        assert!(join(&mut desk, 0, 4).0.is_nan());
        assert_eq!((desk.told.reason(), desk.first(gate, 0.0)), (6, 2));
        assert_eq!(desk.poll(gate, 500.0, [1.0, 0.0]), f64::NEG_INFINITY, "others wait");
        desk.cancel(gate, 0, 2.0);
        assert_eq!(desk.next(gate, 0.0), -100.0);
        desk.cancel(gate, 0, 1.0);
        assert_eq!([desk.next(gate, 100.0), desk.next(gate, 100.0)], [2.0, -100.0]);
        assert!(desk.told.given() >= 0.0);
        assert_eq!([desk.next(gate, 200.0), desk.next(gate, 200.0)], [1.0, f64::NEG_INFINITY]);
        assert_eq!(desk.first(gate, 200.0), -1);
    }

    #[test]
    fn full_can_end_with_time_if_the_law_widens() {
        let mut row = USUAL;
        row[9] = 30_000.0;
        let mut desk = Desk::new();
        let gate = desk.open(&row, [0, 7], 0.0, 100).cast_unsigned();
        let mut admitted = |now: f64| {
            let mut count = 0;
            loop {
                let answer = asked(&mut desk, gate, PLAIN, now);
                if answer < 0.0 {
                    return (count, (now - answer).ceil());
                }
                count += 1;
            }
        };
        assert_eq!(admitted(0.0), (10, 269.0));
        assert_eq!(admitted(268.0).0, 0);
        assert_eq!(admitted(269.0), (10, 537.0), "it doubles each 268.4 ms from the first call");
        assert_eq!(admitted(536.0).0, 0);
        assert_eq!(admitted(1_100.0), (140, 1_343.0), "without another limit");
    }

    #[test]
    fn an_invalid_policy_is_rejected() {
        let mut desk = Desk::new();
        for (word, wrong) in
            [(0, 99.0), (1, 0.0), (2, -5.0), (3, 0.0), (8, 0.0), (9, 0.0), (10, 0.0)]
        {
            let mut row = ten();
            row[word] = wrong;
            assert_eq!(desk.open(&row, [0, 7], 0.0, 100), -2, "word {word}");
        }
    }
}
