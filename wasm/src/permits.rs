//! The permits of calls in flight, by number for JavaScript.

use tidegate::Permit;
use tidegate::{Costs, Instant, Span};

use crate::arena::Arena;

/// What the stream of a call reports.
#[cfg(feature = "gate")]
pub type Usage = tidegate::signal::body::Usage;
#[cfg(not(feature = "gate"))]
pub type Usage = ();

/// See the module's documentation. A call may vanish without a trace: after its expiry it is lost and has no place, but
/// its permit is known for an hour, because it may only be slow. With a gap, the place of a call that has ended rests.
pub struct Permits<const LIMITS: usize, C> {
    kept: Arena<Kept<LIMITS, C>>,
    admitted: u32,
    expiry: Span,
    /// The pause from the end of a call to the start of the next one in its place.
    gap: Span,
    places: u16,
    /// How many places rest, and the earliest end of a rest.
    resting: u16,
    first_rested: Instant,
    /// Nothing expires before this instant.
    first_end: Instant,
}

struct Kept<const LIMITS: usize, C> {
    /// The number of permits that were handed out before it.
    admitted: u32,
    permit: Permit<LIMITS, C>,
    usage: Usage,
    state: State,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum State {
    InFlight,
    Lost,
    /// The call has ended, and its place is free then.
    Rests(Instant),
}

/// How long the permit of a lost call is known, if its expiry is not longer.
const MEMORY: Span = Span::from_secs(3_600);

impl<const LIMITS: usize, C: Costs<LIMITS>> Permits<LIMITS, C> {
    pub const fn new(expiry: Span, gap: Span, places: u16) -> Self {
        Self {
            kept: Arena::new(),
            admitted: 0,
            expiry,
            gap,
            places,
            resting: 0,
            first_rested: Instant::MAX,
            first_end: Instant::MAX,
        }
    }

    /// Sets the expiry, also of calls in flight, and the gap after calls that end from now on.
    pub fn configure(&mut self, expiry: Span, gap: Span, places: u16) {
        (self.gap, self.places) = (gap, places);
        if expiry != self.expiry {
            (self.expiry, self.first_end) = (expiry, Instant::ZERO);
        }
    }

    #[cfg(feature = "gate")]
    /// How many places rest.
    pub fn resting(&self) -> u16 {
        self.resting
    }

    /// The earliest instant at which a call behind `ahead` others may have a place, if this many places are taken: a call
    /// in flight, and one that is sent now, may end at once, and then its place rests.
    pub fn due(&self, now: Instant, taken: u16, ahead: u32) -> Instant {
        let free = self.places.saturating_sub(taken);
        let Some(behind) = ahead.checked_sub(free.into()) else { return now };
        let rounds = behind.checked_div(self.places.into()).unwrap_or_default();
        let may_end = free > 0 || taken > self.resting;
        let ends = if may_end { now + self.gap } else { Instant::MAX };
        self.first_rested.min(ends) + self.gap * u64::from(rounds)
    }

    /// Lets the place of a call that ends now rest. False without a gap, and if the call has no place.
    pub fn rest(&mut self, number: f64, now: Instant) -> bool {
        let (slot, admitted) = parts(number);
        let end = now + self.gap;
        match self.kept.get(slot) {
            Some(kept)
                if kept.admitted == admitted && kept.state == State::InFlight && end > now =>
            {
                kept.state = State::Rests(end);
            }
            _ => return false,
        }
        self.resting = self.resting.saturating_add(1);
        self.first_rested = self.first_rested.min(end);
        self.first_end = self.first_end.min(end);
        true
    }

    /// No call is lost, and no place has rested, before this instant.
    pub fn first_lost(&self) -> Instant {
        self.first_end
    }

    /// Finds lost calls and places that have rested, and returns their number. If no call is `urgent`, it searches at most four times in an expiry.
    pub fn lose(&mut self, now: Instant, urgent: bool) -> u16 {
        let often = if urgent { Span::ZERO } else { Span::from_nanos(self.expiry.as_nanos() / 4) };
        if now < self.first_end + often || self.first_end == Instant::MAX {
            return 0;
        }
        (self.first_end, self.first_rested, self.resting) = (Instant::MAX, Instant::MAX, 0);
        let mut lost = 0_u16;
        for slot in 0..self.kept.slots() {
            let Some(kept) = self.kept.get(slot) else { continue };
            let mut end = kept.permit.sent() + self.expiry;
            let mut forgotten = end + MEMORY;
            if let State::Rests(until) = kept.state {
                (end, forgotten) = (until, until);
                if end > now {
                    self.resting += 1;
                    self.first_rested = self.first_rested.min(end);
                }
            }
            if end <= now && kept.state != State::Lost {
                kept.state = State::Lost;
                lost = lost.saturating_add(1);
            }
            if forgotten <= now {
                self.kept.remove(slot);
            } else {
                self.first_end = self.first_end.min(if end > now { end } else { forgotten });
            }
        }
        lost
    }

    /// The permit's number, which a double can represent: its slot and the number of permits before
    /// it, so that numbers do not repeat. NaN if there is no memory.
    pub fn hand_out(&mut self, permit: Permit<LIMITS, C>) -> f64 {
        self.admitted = self.admitted.wrapping_add(1);
        self.first_end = self.first_end.min(permit.sent() + self.expiry);
        let (usage, state) = (Usage::default(), State::InFlight);
        let kept = Kept { admitted: self.admitted, permit, usage, state };
        let slot = self.kept.insert(kept);
        slot.map_or(f64::NAN, |slot| (u64::from(slot) << 32 | u64::from(self.admitted)) as f64)
    }

    /// The permit of a number, and what its stream reports; none if it is no permit's, or was taken before.
    pub fn get(&mut self, number: f64) -> Option<(&mut Permit<LIMITS, C>, &mut Usage)> {
        let (slot, admitted) = parts(number);
        let kept = self.kept.get(slot)?;
        let is_open = kept.admitted == admitted && !matches!(kept.state, State::Rests(_));
        is_open.then_some((&mut kept.permit, &mut kept.usage))
    }

    /// Removes the permit of a number. Also returns whether its call was lost.
    pub fn take(&mut self, number: f64) -> Option<(Permit<LIMITS, C>, bool)> {
        self.get(number)?;
        let Kept { permit, state, .. } = self.kept.take(parts(number).0)?;
        Some((permit, state == State::Lost))
    }

    /// Renews a permit, which keeps its number, or removes it.
    #[cfg(feature = "full")]
    pub fn renew(
        &mut self,
        number: f64,
        renew: impl FnOnce(Permit<LIMITS, C>, bool) -> Option<Permit<LIMITS, C>>,
    ) -> Option<()> {
        self.get(number)?;
        let Kept { admitted, permit, usage, state } = self.kept.take(parts(number).0)?;
        let permit = renew(permit, state == State::Lost)?;
        // The slot that was freed last is used first.
        self.kept.insert(Kept { admitted, permit, usage, state: State::InFlight }).map(drop)
    }
}

/// Splits into a slot and a count. A negative number or NaN, which would become 0, is not a permit.
fn parts(number: f64) -> (u32, u32) {
    let raw = if number >= 0.0 { number as u64 } else { u64::MAX };
    ((raw >> 32) as u32, raw as u32)
}

#[cfg(test)]
mod tests {
    use tidegate::{Call, Controller, Decision, Policy, law::Fixed};

    use super::*;

    #[test]
    fn lost_calls_are_found_within_a_quarter_of_an_expiry_and_forgotten_after_an_hour() {
        let at = |seconds| Instant::ZERO + Span::from_secs(seconds);
        for urgent in [false, true] {
            let mut permits = Permits::new(Span::from_secs(100), Span::ZERO, u16::MAX);
            let mut gate: Controller<_> =
                Controller::new(Policy::new(Fixed::UNLIMITED), 7, Instant::ZERO);
            let (mut lost, mut first) = (0, f64::NAN);
            // One call a second, every second of which ends.
            for second in 0..20_000 {
                lost += permits.lose(at(second), urgent);
                let Decision::Admit(permit) = gate.poll(at(second), &Call::new()) else { panic!() };
                let number = permits.hand_out(permit);
                first = if second == 1 { number } else { first };
                let is_known = permits.get(first).is_some();
                assert!(is_known || !(1..3_701).contains(&second), "{second}");
                assert!(!is_known || second < 3_730, "{second}");
                if second % 2 == 0 {
                    assert!(permits.take(number).is_some() && permits.take(number).is_none());
                }
                let due = (second + 1).saturating_sub(100) / 2;
                let late = due - u64::from(lost);
                assert!(late <= if urgent { 0 } else { 13 }, "{late} at {second} s");
            }
            // Half of the calls of an hour and an expiry, and those that a search has yet to find.
            assert!(permits.kept.slots() < 1_900, "{}", permits.kept.slots());
        }
    }
}
