//! The permits of calls in flight, by number for JavaScript.

use tidegate::gate::Permit;
use tidegate::signal::body::Usage;
use tidegate::{Instant, Span};

use crate::arena::Arena;

/// See the module's documentation. A call may vanish without a trace: after its expiry it is lost.
pub struct Permits<const LIMITS: usize> {
    /// Each with the number of permits that were handed out before it, and what its stream reports.
    kept: Arena<(u32, Permit<LIMITS>, Usage)>,
    admitted: u32,
    expiry: Span,
    /// No call is lost before this instant.
    first_lost: Instant,
}

impl<const LIMITS: usize> Permits<LIMITS> {
    /// Creates an empty list.
    pub const fn new(expiry: Span) -> Self {
        Self { kept: Arena::new(), admitted: 0, expiry, first_lost: Instant::MAX }
    }

    /// Sets the expiry, also of calls in flight.
    pub fn set_expiry(&mut self, expiry: Span) {
        if expiry != self.expiry {
            (self.expiry, self.first_lost) = (expiry, Instant::ZERO);
        }
    }

    /// No call is lost before this instant.
    pub fn first_lost(&self) -> Instant {
        self.first_lost
    }

    /// Removes the permits of lost calls, and returns their number. If no call is `urgent`, it searches at most four
    /// times in an expiry.
    pub fn lose(&mut self, now: Instant, urgent: bool) -> u16 {
        let often = if urgent { Span::ZERO } else { Span::from_nanos(self.expiry.as_nanos() / 4) };
        if now < self.first_lost.saturating_add(often) || self.first_lost == Instant::MAX {
            return 0;
        }
        self.first_lost = Instant::MAX;
        let mut lost = 0_u16;
        for slot in 0..self.kept.slots() {
            let Some((_, permit, _)) = self.kept.get(slot) else { continue };
            let end = permit.sent().saturating_add(self.expiry);
            if end > now {
                self.first_lost = self.first_lost.min(end);
            } else {
                self.kept.remove(slot);
                lost = lost.saturating_add(1);
            }
        }
        lost
    }

    /// The permit's number, which a double can represent: its slot and the number of permits before
    /// it, so that numbers do not repeat. NaN if there is no memory.
    pub fn hand_out(&mut self, permit: Permit<LIMITS>) -> f64 {
        self.admitted = self.admitted.wrapping_add(1);
        self.first_lost = self.first_lost.min(permit.sent().saturating_add(self.expiry));
        let slot = self.kept.insert((self.admitted, permit, Usage::new()));
        slot.map_or(f64::NAN, |slot| (u64::from(slot) << 32 | u64::from(self.admitted)) as f64)
    }

    /// The permit of a number, and what its stream reports; none if it is no permit's, or was taken before.
    pub fn get(&mut self, number: f64) -> Option<(&mut Permit<LIMITS>, &mut Usage)> {
        let (slot, admitted) = parts(number);
        let (kept, permit, usage) = self.kept.get(slot)?;
        (*kept == admitted).then_some((permit, usage))
    }

    /// Like `get`, and removes it.
    pub fn take(&mut self, number: f64) -> Option<Permit<LIMITS>> {
        self.get(number)?;
        let (_, permit, _) = self.kept.take(parts(number).0)?;
        Some(permit)
    }

    /// Renews a permit, which keeps its number, or removes it.
    #[cfg(feature = "full")]
    pub fn renew(
        &mut self,
        number: f64,
        renew: impl FnOnce(Permit<LIMITS>) -> Option<Permit<LIMITS>>,
    ) -> Option<()> {
        self.get(number)?;
        let (admitted, permit, usage) = self.kept.take(parts(number).0)?;
        // The slot that was freed last is used first.
        self.kept.insert((admitted, renew(permit)?, usage)).map(drop)
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
    fn lost_calls_are_found_within_a_quarter_of_an_expiry_or_at_once_if_that_is_urgent() {
        let at = |seconds| Instant::ZERO.saturating_add(Span::from_secs(seconds));
        for urgent in [false, true] {
            let mut permits = Permits::new(Span::from_secs(100));
            let mut gate: Controller<_> =
                Controller::new(Policy::new(Fixed::UNLIMITED), 7, Instant::ZERO);
            let mut lost = 0;
            // One call a second, every second of which ends.
            for second in 0..1_000 {
                lost += permits.lose(at(second), urgent);
                let Decision::Admit(permit) = gate.poll(at(second), &Call::new()) else { panic!() };
                let number = permits.hand_out(permit);
                if second % 2 == 0 {
                    assert!(permits.take(number).is_some() && permits.take(number).is_none());
                }
                let due = (1..=second).filter(|sent| sent % 2 == 1 && sent + 100 <= second).count();
                let late = due - usize::from(lost);
                assert!(late <= if urgent { 0 } else { 13 }, "{late} at {second} s");
            }
            assert!(permits.kept.slots() < 80);
        }
    }
}
