//! The line of waiting tasks: a waker, a number and a rank for each.

use core::cell::Cell;
use core::task::Waker;

/// The tasks that wait, for all keys. The calls themselves are in the futures of their tasks.
pub(crate) struct Line<K, const N: usize> {
    /// The number of the latest call that joined.
    last: u16,
    places: [Option<Waiter<K>>; N],
}

/// A waiting task.
pub(crate) struct Waiter<K> {
    waker: Waker,
    /// In a cell, so that an `Option` of this is all zeros if it is `None`.
    key: Cell<K>,
    number: u16,
    rank: Rank,
}

/// The order among calls of the same key, lowest first: by priority, then retries before new calls, then by attempts.
///
/// Four bits of attempts (15 for a call that has not been tried), three of the inverted priority, and [`ASKED`].
#[derive(Clone, Copy)]
pub(crate) struct Rank(u8);

/// The attempts of a call that has not been tried.
const UNTRIED: u8 = 15;
/// The task has asked the gates, and nothing has changed since.
const ASKED: u8 = 1 << 7;

impl Rank {
    pub(crate) fn new(priority: u8, attempt: u16) -> Self {
        let attempts = match attempt {
            0 => UNTRIED,
            1..14 => attempt.to_le_bytes()[0],
            _ => 14,
        };
        Self(7_u8.saturating_sub(priority) << 4 | attempts)
    }

    /// While the gates fail, retries are behind all calls that have not been tried.
    fn order(self, is_failing: bool) -> u8 {
        let order = self.0 & !ASKED;
        if is_failing && self.is_retry() { order | ASKED } else { order }
    }

    fn is_retry(self) -> bool {
        self.0 & UNTRIED != UNTRIED
    }

    /// Whether a call of this rank may take the place of one with the other rank.
    fn displaces(self, other: Self) -> bool {
        !other.is_retry() && other.order(false) >> 4 > self.order(false) >> 4
    }

    /// Whether the call is rejected if all places are taken. A retry has a result to lose and an urgent call must not
    /// be lost.
    pub(crate) fn needs_place(self) -> bool {
        self.0 & !ASKED == 7 << 4 | UNTRIED
    }
}

impl<K: Clone + Eq, const N: usize> Line<K, N> {
    pub(crate) const fn new() -> Self {
        const { assert!(N > 0, "a line has room for one task at least") };
        Self { last: 0, places: [const { None }; N] }
    }

    fn waiters(&mut self) -> impl Iterator<Item = &mut Waiter<K>> {
        self.places.iter_mut().flatten()
    }

    fn waiters_of(&mut self, key: &K) -> impl Iterator<Item = &mut Waiter<K>> {
        self.waiters().filter_map(move |waiter| (waiter.key.get_mut() == key).then_some(waiter))
    }

    /// The first waiter of a key.
    fn first(&mut self, key: &K, is_failing: bool) -> Option<(u32, &mut Waiter<K>)> {
        let (last, mut first) = (self.last, None);
        let mut least = u32::MAX;
        for waiter in self.waiters_of(key) {
            let order = waiter.order(last, is_failing);
            if order < least {
                (first, least) = (Some((order, waiter)), order);
            }
        }
        first
    }

    /// Whether no other call of the key precedes the call with this number (0 if it is not in line) and rank. If it is
    /// in line, also returns whether it has asked the gates already.
    pub(crate) fn is_first(
        &mut self,
        key: &K,
        number: u16,
        rank: Rank,
        is_failing: bool,
    ) -> (bool, bool) {
        match self.first(key, is_failing) {
            Some((_, first)) if first.number == number => (true, first.rank.0 & ASKED != 0),
            Some((order, _)) => (order >> 16 > u32::from(rank.order(is_failing)), false),
            None => (true, false),
        }
    }

    /// Whether calls of this key with this priority or a higher one wait.
    pub(crate) fn has(&mut self, key: &K, priority: u8) -> bool {
        let rank = Rank::new(priority, 0).order(false);
        self.waiters_of(key).any(|waiter| waiter.rank.order(false) <= rank)
    }

    /// Wakes the first task of a key, which asks the gates again.
    pub(crate) fn wake_first(&mut self, key: &K, is_failing: bool) {
        if let Some((_, first)) = self.first(key, is_failing) {
            first.wake();
        }
    }

    /// Wakes the tasks of a key.
    pub(crate) fn wake_key(&mut self, key: &K) {
        self.waiters_of(key).for_each(Waiter::wake);
    }

    pub(crate) fn wake_all(&mut self) {
        self.waiters().for_each(Waiter::wake);
    }

    /// Takes the call with this number out of the line, if it is in it.
    pub(crate) fn leave(&mut self, number: u16) {
        for place in &mut self.places {
            if place.as_ref().is_some_and(|waiter| waiter.number == number) {
                *place = None;
            }
        }
    }

    /// Enters the line, or stays in it. An urgent call takes the place of the latest call of a lower priority that has
    /// not been tried, if there is no other. Returns the call's number, or 0 if there is no place, and the key of the
    /// displaced call.
    pub(crate) fn stay(
        &mut self,
        key: &K,
        number: u16,
        rank: Rank,
        has_asked: bool,
        waker: &Waker,
    ) -> (u16, Option<K>) {
        /// The place that the call already has, and a free one. No order is as high.
        const HELD: u32 = u32::MAX;
        const FREE: u32 = HELD - 1;
        let number = if number == 0 { self.next_number() } else { number };
        let (mut chosen, mut most) = (None, 0);
        for place in &mut self.places {
            let order = match place {
                Some(waiter) if waiter.number == number => HELD,
                None => FREE,
                Some(waiter) if rank.displaces(waiter.rank) => waiter.order(self.last, false),
                Some(_) => 0,
            };
            if order > most {
                (chosen, most) = (Some(place), order);
            }
        }
        let Some(place) = chosen else { return (0, None) };
        let rank = Rank(rank.0 | if has_asked { ASKED } else { 0 });
        let waiter = Waiter { waker: waker.clone(), key: Cell::new(key.clone()), number, rank };
        let displaced = place.replace(waiter).filter(|before| before.number != number);
        let displaced = displaced.map(|Waiter { waker, key, .. }| {
            waker.wake();
            key.into_inner()
        });
        (number, displaced)
    }

    /// A number that no waiting call has.
    fn next_number(&mut self) -> u16 {
        loop {
            self.last = self.last.wrapping_add(1).max(1);
            let number = self.last;
            if self.waiters().all(|waiter| waiter.number != number) {
                return number;
            }
        }
    }

    pub(crate) fn waiting(&mut self) -> usize {
        // For the compiler, `count` may overflow and panic.
        self.waiters().fold(0, |count: usize, _| count.saturating_add(1))
    }
}

impl<K> Waiter<K> {
    /// The order of this call: its rank, then its arrival.
    fn order(&self, last: u16, is_failing: bool) -> u32 {
        // The number of the latest is the highest, also after numbers wrapped.
        let arrival = self.number.wrapping_sub(last).wrapping_sub(1);
        u32::from(self.rank.order(is_failing)) << 16 | u32::from(arrival)
    }

    fn wake(&mut self) {
        self.rank.0 &= !ASKED;
        self.waker.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Rank = Rank(7 << 4 | UNTRIED);

    /// The numbers of the waiting calls, in their order.
    fn order<const N: usize>(line: &mut Line<(), N>, is_failing: bool) -> std::vec::Vec<u16> {
        let first =
            |line: &mut Line<(), N>| line.first(&(), is_failing).map(|(_, waiter)| waiter.number);
        let mut order = std::vec::Vec::new();
        while let Some(number) = first(line) {
            order.push(number);
            line.leave(number);
        }
        order
    }

    #[test]
    fn arrivals_are_in_order_when_numbers_wrap() {
        let mut line = Line::<(), 4>::new();
        line.last = u16::MAX - 2;
        let numbers = [(); 4].map(|()| line.stay(&(), 0, NEW, false, Waker::noop()).0);
        assert_eq!(numbers, [u16::MAX - 1, u16::MAX, 1, 2]);
        assert_eq!(line.stay(&(), 0, NEW, false, Waker::noop()).0, 0, "no place");
        assert_eq!(order(&mut line, false), numbers);
    }

    #[test]
    fn a_number_is_not_given_again_while_its_call_waits() {
        let mut line = Line::<(), 2>::new();
        let (waits, _) = line.stay(&(), 0, NEW, false, Waker::noop());
        for _ in 0..70_000 {
            let (number, _) = line.stay(&(), 0, NEW, false, Waker::noop());
            assert_ne!(number, waits);
            line.leave(number);
        }
        assert_eq!(line.stay(&(), waits, NEW, true, Waker::noop()), (waits, None));
        assert_eq!(line.waiting(), 1);
    }

    #[test]
    fn retries_are_before_new_calls_unless_calls_fail_and_those_with_fewer_attempts_first() {
        let calls = [(0, 0), (0, 2), (0, 1), (3, 0), (3, 20), (3, 30), (9, 4)];
        for (is_failing, expected) in
            [(false, [7, 5, 6, 4, 3, 2, 1]), (true, [4, 1, 7, 5, 6, 3, 2])]
        {
            let mut line = Line::<(), 7>::new();
            for (priority, attempt) in calls {
                line.stay(&(), 0, Rank::new(priority, attempt), false, Waker::noop());
            }
            assert_eq!(order(&mut line, is_failing), expected, "{is_failing}");
        }
        let urgent = Rank::new(7, 0);
        assert!(urgent.displaces(NEW) && !urgent.displaces(Rank::new(0, 1)));
    }
}
