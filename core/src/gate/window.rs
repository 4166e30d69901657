//! The window: how many calls may be in flight.

use core::num::NonZeroU16;

use crate::time::{Instant, Span};
use crate::verdict::Verdict;

/// The right to one call. Settle it exactly once.
///
/// It is neither `Clone` nor `Copy`, so within Rust it cannot be settled twice. Across a foreign
/// interface it is a plain number below 2^48, which a double holds exactly; a number that is
/// unknown, repeated or out of date is harmless there.
///
/// ```compile_fail
/// # use tidegate::gate::Permit;
/// fn twice(permit: Permit) -> (Permit, Permit) {
///     (permit, permit) // a permit cannot be copied
/// }
/// ```
#[derive(Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "a permit that is not settled holds its place in the window until the lease ends"]
pub struct Permit {
    slot: u16,
    number: u32,
}

impl Permit {
    /// The permit as a plain number, to hand across a foreign interface.
    #[must_use]
    pub const fn into_raw(self) -> u64 {
        ((self.slot as u64) << 32) | self.number as u64
    }

    /// The permit of a plain number. Any number will do: one that names no call in flight is
    /// counted and otherwise ignored when it is settled.
    #[expect(clippy::cast_possible_truncation, reason = "the halves; what is above names no slot")]
    pub const fn from_raw(raw: u64) -> Self {
        let slot = if raw >> 48 == 0 { (raw >> 32) as u16 } else { u16::MAX };
        Self { slot, number: raw as u32 }
    }

    /// Whether the permit after this one has that number.
    pub(crate) const fn is_followed_by(&self, number: u32) -> bool {
        self.number.wrapping_add(1) == number
    }
}

/// How many calls may be in flight, and for how long each may stay silent.
///
/// ```
/// use tidegate::{Span, gate::{WindowError, WindowPolicy}};
///
/// let narrow = WindowPolicy::new(4, Span::from_secs(30)).unwrap();
/// assert_eq!(narrow.limit(), 4);
/// assert_eq!(WindowPolicy::new(0, Span::from_secs(30)), Err(WindowError::ZeroLimit));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct WindowPolicy {
    limit: u16,
    lease: Span,
}

impl WindowPolicy {
    /// As many calls as there are slots, with leases of five minutes.
    pub const DEFAULT: Self = Self { limit: u16::MAX, lease: Span::from_secs(300) };

    /// At most `limit` calls in flight (and never more than the controller has slots); a call that
    /// has not been settled after `lease` no longer counts.
    ///
    /// Choose the lease longer than the longest call: an outcome that comes after it is ignored
    /// where the place was needed for another call.
    ///
    /// # Errors
    /// [`WindowError::ZeroLimit`]; [`WindowError::ZeroLease`].
    pub const fn new(limit: u16, lease: Span) -> Result<Self, WindowError> {
        if limit == 0 {
            return Err(WindowError::ZeroLimit);
        }
        if lease.as_nanos() == 0 {
            return Err(WindowError::ZeroLease);
        }
        Ok(Self { limit, lease })
    }

    /// The same policy with at most `limit` calls in flight.
    pub(crate) fn narrowed(self, limit: NonZeroU16) -> Self {
        Self { limit: self.limit.min(limit.get()), ..self }
    }

    /// The most calls in flight.
    #[must_use]
    pub const fn limit(self) -> u16 {
        self.limit
    }

    /// How long a silent call keeps its place.
    #[must_use]
    pub const fn lease(self) -> Span {
        self.lease
    }
}

impl Default for WindowPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What is wrong with a window's policy.
///
/// ```
/// use tidegate::{Span, gate::{WindowError, WindowPolicy}};
///
/// // "Without a limit" is the largest number: there are no more places than slots.
/// assert_eq!(WindowPolicy::new(0, Span::from_secs(30)), Err(WindowError::ZeroLimit));
/// assert!(WindowPolicy::new(u16::MAX, Span::from_secs(30)).is_ok());
/// // "Without a lease" is the longest one, under which a lost call keeps its place for good.
/// assert_eq!(WindowPolicy::new(4, Span::ZERO), Err(WindowError::ZeroLease));
/// assert!(WindowPolicy::new(4, Span::MAX).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum WindowError {
    /// With no call in flight, none could ever leave.
    ZeroLimit,
    /// With no lease, a call would no longer count as soon as it left.
    ZeroLease,
}

impl core::fmt::Display for WindowError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::ZeroLimit => "a window must let at least 1 call be in flight",
            Self::ZeroLease => "a window's lease must be at least 1 ns",
        })
    }
}

impl core::error::Error for WindowError {}

/// Keeps the calls in flight: up to `SLOTS` of them, each with what the caller wants to know of it
/// (`T`) when it comes back.
///
/// Taking and releasing a slot takes the same time whatever `SLOTS` is; only a full window looks
/// through its slots, for leases that have ended.
///
/// ```
/// use tidegate::{Instant, Span, Verdict, gate::{Permit, Window, WindowPolicy}};
///
/// let policy = WindowPolicy::new(1, Span::from_secs(30)).unwrap();
/// let mut window: Window<&str, 8> = Window::new();
/// let now = Instant::ZERO;
/// let permit = window.take(now, policy, "GET /").unwrap();
/// assert_eq!(window.check(now, policy), Verdict::Full);
///
/// let raw = permit.into_raw();
/// assert_eq!(window.release(Permit::from_raw(raw)), Some((now, "GET /")));
/// assert_eq!(window.release(Permit::from_raw(raw)), None); // repeated, and harmless
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Window<T, const SLOTS: usize> {
    slots: [Slot<T>; SLOTS],
    /// The first slot of the list of those that were freed; `SLOTS` ends the list.
    freed: u16,
    /// Slots from here on have never been taken.
    untouched: u16,
    in_flight: u16,
    next_number: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Slot<T> {
    Free { next: u16 },
    Taken { number: u32, since: Instant, call: T },
}

impl<T: Copy, const SLOTS: usize> Window<T, SLOTS> {
    #[expect(clippy::cast_possible_truncation, reason = "asserted to fit, at compile time")]
    const END: u16 = {
        assert!(SLOTS > 0 && SLOTS < u16::MAX as usize, "a window has 1 to 65 534 slots");
        SLOTS as u16
    };

    /// A window with no call in flight.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            slots: [Slot::Free { next: 0 }; SLOTS],
            freed: Self::END,
            untouched: 0,
            in_flight: 0,
            next_number: 0,
        }
    }

    /// A window with no call in flight whose permits are none that this one has handed out.
    pub(crate) const fn successor(number: u32) -> Self {
        Self { next_number: number, ..Self::new() }
    }

    /// The number of the next permit.
    pub(crate) const fn next_number(&self) -> u32 {
        self.next_number
    }

    /// Calls in flight, with those whose lease has ended but whose place nobody has needed yet.
    #[must_use]
    pub const fn in_flight(&self) -> u16 {
        self.in_flight
    }

    /// Whether a call may leave: `Go` or `Full`.
    #[must_use]
    pub fn check(&self, now: Instant, policy: WindowPolicy) -> Verdict {
        if self.is_full(now, policy) { Verdict::Full } else { Verdict::Go }
    }

    /// Whether there is no room, also where the leases that have ended do not count. (A window that
    /// was narrowed may need more than one place, and then still is full.)
    pub(crate) fn is_full(&self, now: Instant, policy: WindowPolicy) -> bool {
        let most = Self::limit(policy);
        self.in_flight >= most && self.alive(now, policy) >= most
    }

    /// When the window next has room through leases that end alone, or had it; `None` where it has
    /// room without that.
    ///
    /// A window that was narrowed may need several leases to end before it has room again.
    #[must_use]
    pub fn ready_at(&self, policy: WindowPolicy) -> Option<Instant> {
        // Leases end in the order in which they began; each round passes those that began together.
        let mut ready = None;
        let mut from = Instant::ZERO;
        let mut alive = self.in_flight;
        while alive >= Self::limit(policy) {
            let (mut first, mut together) = (Instant::MAX, 0);
            for since in self.starts().filter(|since| *since >= from) {
                if since < first {
                    (first, together) = (since, 0);
                }
                together = if since == first { 1u16.saturating_add(together) } else { together };
            }
            if together == 0 {
                return None;
            }
            ready = Some(first.saturating_add(policy.lease));
            from = first.saturating_add(Span::from_nanos(1));
            alive = alive.saturating_sub(together);
        }
        ready
    }

    /// When each call in flight left.
    fn starts(&self) -> impl Iterator<Item = Instant> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Taken { since, .. } => Some(*since),
            Slot::Free { .. } => None,
        })
    }

    /// Takes a place for `call`; `None` where [`check`](Self::check) is not `Go`.
    pub fn take(&mut self, now: Instant, policy: WindowPolicy, call: T) -> Option<Permit> {
        if self.in_flight >= Self::limit(policy) {
            self.expire(now, policy);
            if self.in_flight >= Self::limit(policy) {
                return None;
            }
        }
        let index = if self.freed < Self::END { self.freed } else { self.untouched };
        let number = self.next_number;
        let slot = self.slots.get_mut(usize::from(index))?;
        if index == self.freed {
            if let Slot::Free { next } = slot {
                self.freed = *next;
            }
        } else {
            self.untouched = self.untouched.saturating_add(1);
        }
        *slot = Slot::Taken { number, since: now, call };
        self.in_flight = self.in_flight.saturating_add(1);
        self.next_number = self.next_number.wrapping_add(1);
        Some(Permit { slot: index, number })
    }

    /// Gives the place back and returns when the call left and what was kept of it; `None` for a
    /// permit that is unknown, was released before, or whose lease ended and place was needed.
    #[expect(clippy::needless_pass_by_value, reason = "a permit is used up")]
    pub fn release(&mut self, permit: Permit) -> Option<(Instant, T)> {
        let slot = self.slots.get_mut(usize::from(permit.slot))?;
        let Slot::Taken { number, since, call } = *slot else { return None };
        if number != permit.number {
            return None;
        }
        *slot = Slot::Free { next: self.freed };
        self.freed = permit.slot;
        self.in_flight = self.in_flight.saturating_sub(1);
        Some((since, call))
    }

    /// The most calls in flight, as far as there are slots.
    pub(crate) fn limit(policy: WindowPolicy) -> u16 {
        policy.limit.min(Self::END)
    }

    /// Calls in flight whose lease has not ended.
    pub(crate) fn alive(&self, now: Instant, policy: WindowPolicy) -> u16 {
        let ended = self.slots.iter().filter(|slot| slot.has_ended(now, policy));
        ended.fold(self.in_flight, |alive, _| alive.saturating_sub(1))
    }

    fn expire(&mut self, now: Instant, policy: WindowPolicy) {
        for (index, slot) in (0..Self::END).zip(&mut self.slots) {
            if slot.has_ended(now, policy) {
                *slot = Slot::Free { next: self.freed };
                self.freed = index;
                self.in_flight = self.in_flight.saturating_sub(1);
            }
        }
    }
}

impl<T: Copy, const SLOTS: usize> Default for Window<T, SLOTS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slot<T> {
    fn has_ended(&self, now: Instant, policy: WindowPolicy) -> bool {
        match self {
            Self::Taken { since, .. } => since.saturating_add(policy.lease) <= now,
            Self::Free { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn policy(limit: u16) -> WindowPolicy {
        WindowPolicy::new(limit, Span::from_nanos(100)).unwrap()
    }

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn a_lost_call_gives_its_place_back_when_its_lease_ends() {
        let mut window: Window<u8, 2> = Window::new();
        let lost = window.take(at(0), policy(1), 7).unwrap();
        assert_eq!(window.check(at(99), policy(1)), Verdict::Full);
        assert_eq!(window.ready_at(policy(1)), Some(at(100)));
        assert_eq!(window.ready_at(policy(2)), None, "it has room");
        assert_eq!(window.check(at(100), policy(1)), Verdict::Go);
        let second = window.take(at(100), policy(1), 8).unwrap();
        assert_eq!(window.release(lost), None, "its place is another's now");
        assert_eq!(window.release(second), Some((at(100), 8)));
    }

    #[test]
    fn a_number_too_large_for_a_permit_names_no_call() {
        let mut window: Window<u8, 2> = Window::new();
        let raw = window.take(at(0), policy(2), 7).unwrap().into_raw();
        for bit in 32..64 {
            assert_eq!(window.release(Permit::from_raw(raw | 1 << bit)), None, "bit {bit}");
        }
        assert_eq!(window.release(Permit::from_raw(raw)), Some((at(0), 7)));
    }

    #[test]
    fn an_answer_after_the_lease_still_counts_where_nobody_needed_the_place() {
        let mut window: Window<u8, 2> = Window::new();
        let late = window.take(at(0), policy(1), 7).unwrap();
        assert_eq!(window.check(at(500), policy(1)), Verdict::Go);
        assert_eq!(window.release(late), Some((at(0), 7)));
    }

    #[test]
    fn a_window_may_be_narrowed_while_calls_are_in_flight() {
        let mut window: Window<u8, 4> = Window::new();
        let first = window.take(at(0), policy(3), 1).unwrap();
        let second = window.take(at(50), policy(3), 2).unwrap();
        assert_eq!(window.check(at(60), policy(1)), Verdict::Full);
        assert_eq!(window.check(at(120), policy(1)), Verdict::Full, "one lease has ended, one not");
        assert_eq!(window.ready_at(policy(2)), Some(at(100)));
        assert_eq!(window.ready_at(policy(1)), Some(at(150)), "both must have ended");
        assert_eq!(window.check(at(149), policy(1)), Verdict::Full);
        assert_eq!(window.check(at(150), policy(1)), Verdict::Go);
        assert_eq!(window.release(first), Some((at(0), 1)));
        assert_eq!(window.check(at(60), policy(1)), Verdict::Full);
        assert_eq!(window.release(second), Some((at(50), 2)));
        assert_eq!(window.check(at(60), policy(1)), Verdict::Go);
    }

    #[test]
    fn a_narrowed_window_has_room_when_enough_leases_have_ended() {
        let mut window: Window<u8, 8> = Window::new();
        for began in [30, 10, 50, 10, 20] {
            let _ = window.take(at(began), policy(8), 0).unwrap();
        }
        for (limit, ready) in [
            (6, None),
            (5, Some(110)),
            (4, Some(110)),
            (3, Some(120)),
            (2, Some(130)),
            (1, Some(150)),
        ] {
            assert_eq!(window.ready_at(policy(limit)), ready.map(at), "{limit}");
        }
    }

    proptest! {
        /// The model is a plain list of permits out.
        #[test]
        fn places_out_equal_permits_out(
            limit in 1..9u16,
            events in prop::collection::vec((any::<u8>(), any::<u64>(), 0..30u64), 0..300),
        ) {
            let mut window: Window<u64, 8> = Window::new();
            let mut out: Vec<(u64, Instant, u64)> = Vec::new();
            let (mut now, mut call) = (0, 0);
            for (kind, raw, step) in events {
                now += step;
                match kind % 3 {
                    0 => {
                        let alive = |entry: &&(u64, Instant, u64)| entry.1.saturating_add(Span::from_nanos(100)) > at(now);
                        let full = out.len() >= usize::from(limit.min(8));
                        let open = !full || out.iter().filter(alive).count() < usize::from(limit.min(8));
                        prop_assert_eq!(window.check(at(now), policy(limit)) == Verdict::Go, open);
                        let permit = window.take(at(now), policy(limit), call);
                        prop_assert_eq!(permit.is_some(), open);
                        if let Some(permit) = permit {
                            if full {
                                out.retain(|entry| alive(&entry));
                            }
                            out.push((permit.into_raw(), at(now), call));
                            call += 1;
                        }
                    }
                    1 if !out.is_empty() => {
                        let (raw, since, call) = out.swap_remove(raw as usize % out.len());
                        prop_assert_eq!(window.release(Permit::from_raw(raw)), Some((since, call)));
                        prop_assert_eq!(window.release(Permit::from_raw(raw)), None);
                    }
                    _ => {
                        let known = out.iter().any(|entry| entry.0 == raw);
                        prop_assert!(known || window.release(Permit::from_raw(raw)).is_none());
                    }
                }
                prop_assert_eq!(usize::from(window.in_flight()), out.len());
            }
        }
    }
}
