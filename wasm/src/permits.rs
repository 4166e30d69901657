//! The permits of calls in flight, by number for JavaScript.

use tidegate::gate::Permit;
use tidegate::signal::body::Usage;
use tidegate::{Instant, Span};

use crate::arena::Arena;

/// See the module's documentation.
pub struct Permits<const LIMITS: usize> {
    /// Each with the number of permits that were handed out before it, and what its stream reports.
    kept: Arena<(u32, Permit<LIMITS>, Usage)>,
    admitted: u32,
    /// The slot that is checked next for an expired permit.
    next: u32,
    memory: Span,
}

/// A permit that is not settled by then is forgotten, unless its expiry is longer.
const MEMORY: Span = Span::from_secs(3_600);

impl<const LIMITS: usize> Permits<LIMITS> {
    /// Creates an empty list.
    pub const fn new() -> Self {
        Self { kept: Arena::new(), admitted: 0, next: 0, memory: MEMORY }
    }

    /// From now on a call may keep its place for `expiry`, and its permit is kept for up to two
    /// expiry times.
    pub fn keep_for(&mut self, expiry: Span) {
        self.memory = self.memory.max(expiry.saturating_mul(2));
    }

    /// The permit's number, which a double can represent: its slot and the number of permits before
    /// it, so that numbers do not repeat. NaN if there is no memory.
    pub fn hand_out(&mut self, permit: Permit<LIMITS>) -> f64 {
        self.admitted = self.admitted.wrapping_add(1);
        // Some permits are never settled. Each call checks two slots, so that these cannot
        // accumulate.
        for _ in 0..2 {
            self.forget_next(permit.sent());
        }
        let slot = self.kept.insert((self.admitted, permit, Usage::new()));
        slot.map_or(f64::NAN, |slot| (u64::from(slot) << 32 | u64::from(self.admitted)) as f64)
    }

    fn forget_next(&mut self, now: Instant) {
        let next = self.next;
        self.next = if next < self.kept.slots() { next + 1 } else { 0 };
        if let Some((_, lost, _)) = self.kept.get(next)
            && now.saturating_since(lost.sent()) > self.memory
        {
            self.kept.remove(next);
        }
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
    fn permits_that_are_lost_are_forgotten_after_an_hour_or_two_expiry_times() {
        for (expiry, hours) in [(Span::from_secs(300), 1), (Span::from_secs(7_200), 4)] {
            let mut permits = Permits::new();
            permits.keep_for(expiry);
            let mut gate: Controller<_> =
                Controller::new(Policy::new(Fixed::UNLIMITED), 7, Instant::ZERO);
            let mut first = f64::NAN;
            // One per second for a day.
            for second in 0..86_400 {
                let now = Instant::ZERO.saturating_add(Span::from_secs(second));
                let Decision::Admit(permit) = gate.poll(now, &Call::new()) else { panic!() };
                let number = permits.hand_out(permit);
                first = if second == 0 { number } else { first };
                if second == hours * 3_600 {
                    assert!(permits.get(first).is_some());
                }
            }
            assert!(permits.get(first).is_none());
            assert!(u64::from(permits.kept.slots()) <= 3 * hours * 3_600);
        }
    }
}
