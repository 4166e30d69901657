//! The controller: a policy and its state.

mod each;
mod learn;
#[cfg(feature = "shared")]
mod leased;
mod limit;
mod queued;
mod record;
mod retry;
mod usual;

use core::borrow::Borrow;
use core::marker::PhantomData;
use core::num::NonZeroU16;

use each::{pairs, pairs_mut};
use limit::Limit;
use usual::{Usual, is_unstated};

use crate::costs::Costs;
use crate::gate::{Cooldown, Entry, Gate};
use crate::law::{AnyLaw, Law, Pace, Sent};
use crate::linked::Linked;
use crate::outcome::Outcome;
use crate::permit::{Part, Permit};
use crate::policy::{Policy, Rules};
use crate::rng::Rng;
use crate::stats::Counters;
#[cfg(feature = "stats")]
use crate::stats::Stats;
use crate::time::{Instant, Span};
use crate::verdict::{Call, Decision, Reason, Verdict};

/// Decides when the next call may be sent, and learns from the responses.
///
/// All calls that share a limit share one controller: put it behind a mutex, or use it from one
/// task. The caller sleeps and reads the clock. The loop is always the same:
///
/// ```
/// use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Span};
///
/// // A simulated clock, and a server that throttles the first three calls.
/// let mut now = Instant::ZERO;
/// let mut rejections = 3;
/// let mut serve = || if rejections > 0 { rejections -= 1; Outcome::Throttled } else { Outcome::Ok };
///
/// let mut gate: Controller = Controller::new(Policy::named("aimd").unwrap(), 7, now);
/// let mut call = Call::new();
/// let attempts = loop {
///     match gate.poll(now, &call) {
///         Decision::Admit(permit) => {
///             let outcome = serve();
///             gate.settle(now, permit, outcome);
///             match gate.retry(now, &call, outcome) {
///                 Ok(next) => call = next,
///                 Err(_) => break call.attempt() + 1, // served, or no other attempt is due
///             }
///         }
///         Decision::Wait(until) => now = until, // sleep until then
///         Decision::Full => break 0,            // wait until a call settles, or until `next_at`
///         Decision::Reject(reason) => panic!("{reason}"),
///     }
/// };
/// assert_eq!(attempts, 4);
/// assert_eq!(gate.stats().throttled, 3);
/// ```
///
/// # Contracts
///
/// - Time is an argument. If `now` goes back, nothing is earned. If it jumps ahead, at most a
///   burst is earned.
/// - [`Verdict::Wait`] is after `now`. At that instant, the same gate does not make the same call
///   wait again, unless something was admitted or settled in between. (Exception:
///   [`Tchannel`](crate::law::published::Tchannel) counts per second, and may return `Wait` again at the end of
///   a second.)
/// - All gates are checked before any is charged. Only `Admit` charges.
/// - The pacing makes up for up to 2 ms of timer delay, so the burst can be larger by what the rate allows in 2 ms.
///   (Published laws keep the behaviour of their sources.)
/// - A call that was sent before the latest cut cannot cut again, and the rate grows only if calls
///   waited for the law. Published laws may break these two rules:
///   [`Heroku`](crate::law::published::Heroku), [`Tchannel`](crate::law::published::Tchannel) and [`Autosleeper`](crate::law::published::Autosleeper).
/// - An abandoned call frees its slot and teaches nothing. Its cost stays charged, because it may have reached the
///   server.
/// - The same seed, policy and calls result in the same decisions on every machine.
///
/// # Parameters
///
/// `L` is the law; `LIMITS` is how many limits a call has costs for. `P` is a policy or a reference to one: firmware
/// keeps it in flash, and a table of controllers shares one. `C` is the cost of a call: see [`Costs`].
#[derive(Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Controller<
    L: Law = AnyLaw,
    const LIMITS: usize = 1,
    P = Policy<L, LIMITS>,
    C: Costs<LIMITS> = [u32; LIMITS],
> {
    policy: P,
    limits: [Limit<L::State>; LIMITS],
    cooldown: Cooldown,
    concurrency: NonZeroU16,
    /// Calls in flight.
    calls: u16,
    /// What the retry budget saved.
    saved: C::Saved,
    rng: Rng,
    stats: Counters,
    usual: Usual<LIMITS>,
    costs: PhantomData<C>,
    /// Number of admitted calls, modulo 256.
    admitted: u8,
    /// By which it recognises its permits.
    mark: u8,
    /// How many more successes end a failure: see [`Outcome::count_down`].
    failing: u8,
    /// Whether the program asked for another attempt of the call that was not served last.
    tries_again: bool,
}

/// Does not require `Clone` of the law.
impl<L: Law, const LIMITS: usize, P: Clone, C: Costs<LIMITS>> Clone
    for Controller<L, LIMITS, P, C>
{
    fn clone(&self) -> Self {
        Self {
            policy: self.policy.clone(),
            limits: self.limits.clone(),
            cooldown: self.cooldown.clone(),
            concurrency: self.concurrency,
            calls: self.calls,
            saved: self.saved.clone(),
            rng: self.rng.clone(),
            stats: self.stats.clone(),
            usual: self.usual.clone(),
            costs: PhantomData,
            admitted: self.admitted,
            mark: self.mark,
            failing: self.failing,
            tries_again: self.tries_again,
        }
    }
}

/// A controller with one limit whose calls cost one each. It links no code for costs and retry budgets, which makes
/// firmware smaller. It ignores the actual cost in a reply, and the policy's retry budget.
///
/// See [`Controller::with_rng`] for an example.
pub type Single<L = AnyLaw, P = Policy<L>> = Controller<L, 1, P, ()>;

impl<L: Law, const LIMITS: usize, P: Borrow<Policy<L, LIMITS>>> Controller<L, LIMITS, P> {
    /// Creates a controller.
    ///
    /// `seed` must differ between the clients of a fleet. See [`rng`](crate::rng) for sources.
    #[must_use]
    pub fn new(policy: P, seed: u64, now: Instant) -> Self {
        Self::with_rng(policy, Rng::new(seed), now)
    }
}

impl<L, const LIMITS: usize, P, C> Controller<L, LIMITS, P, C>
where
    L: Law,
    P: Borrow<Policy<L, LIMITS>>,
    C: Costs<LIMITS>,
{
    /// Creates a controller with a generator that differs between the clients of a fleet.
    ///
    /// ```
    /// use tidegate::law::Aimd;
    /// use tidegate::{Call, Decision, Instant, Outcome, Policy, Rng, Single};
    ///
    /// static POLICY: Policy<Aimd> = Policy::new(Aimd::DEFAULT);
    /// let (noise, now) = (0x9A3C_41D7_02EE_B865, Instant::ZERO); // from a hardware generator
    /// let mut gate = Single::with_rng(&POLICY, Rng::from_entropy(noise), now);
    /// let Decision::Admit(permit) = gate.poll(now, &Call::new()) else { panic!() };
    /// gate.settle(now, permit, Outcome::Ok);
    /// # let _: Single<Aimd, &Policy<Aimd>> = gate;
    /// ```
    #[must_use]
    pub fn with_rng(policy: P, rng: Rng, now: Instant) -> Self {
        let Policy { laws, rules } = policy.borrow();
        Self {
            limits: laws.each_ref().map(|law| Limit::new(law, now)),
            cooldown: Cooldown::default(),
            concurrency: rules.concurrency,
            calls: 0,
            admitted: 0,
            mark: rng.mark(),
            failing: 0,
            tries_again: false,
            saved: opened::<LIMITS, C>(rules),
            rng,
            stats: Counters::default(),
            usual: Usual::UNKNOWN,
            costs: PhantomData,
            policy,
        }
    }

    /// The law of each limit.
    fn laws(&self) -> &[L; LIMITS] {
        &self.policy.borrow().laws
    }

    fn rules(&self) -> &Rules {
        &self.policy.borrow().rules
    }

    /// Returns what [`poll`](Self::poll) would return. Changes nothing.
    #[must_use]
    pub fn check(&self, now: Instant, call: &Call<LIMITS, C>) -> Verdict {
        self.look(now, call, true).0
    }

    /// The verdict, and the earliest instant for each limit.
    #[inline(always)]
    fn look(
        &self,
        now: Instant,
        call: &Call<LIMITS, C>,
        is_first: bool,
    ) -> (Verdict, [Instant; LIMITS]) {
        let mut dues = [Instant::ZERO; LIMITS];
        let (due, rejection) = self.due(now, call, &mut dues);
        let at = due.max(now);
        let is_paid = || accounted(self.saved.clone().as_mut(), self.rules(), Entry::Check);
        let verdict = match rejection {
            _ if !is_first && at <= call.deadline => Verdict::Wait(at),
            _ if !is_first => Verdict::Reject(Reason::Late(at)),
            Some(reason) if reason > Reason::RetryBudget => Verdict::Reject(reason),
            _ if call.attempt > 0 && !is_paid() => Verdict::Reject(Reason::RetryBudget),
            Some(reason) => Verdict::Reject(reason),
            // A full concurrency limit must not hide that the wait after it is too long.
            None if at > call.deadline => Verdict::Reject(Reason::Late(at)),
            None if self.calls >= self.concurrency_limit(now, call).get() => Verdict::Full,
            None if due > now => Verdict::Wait(due),
            None => Verdict::Admit,
        };
        (verdict, dues)
    }

    /// The earliest instant at which cooldowns and limits admit the call, or why they never do.
    /// Stores the instant of each limit in `dues`, zero for never.
    fn due(
        &self,
        now: Instant,
        call: &Call<LIMITS, C>,
        dues: &mut [Instant; LIMITS],
    ) -> (Instant, Option<Reason>) {
        let mut due = self.cooldown.until().max(call.not_before);
        let mut rejection = None::<Reason>;
        pairs(self.laws(), &self.limits, |index, law, limit| {
            match limit.due(
                law,
                now,
                self.usual.cost_of(index, (law, limit), call),
                self.in_flight(),
                call.attempt > 0,
            ) {
                Ok(at) => {
                    due = due.max(at);
                    if let Some(own) = dues.get_mut(index) {
                        *own = at;
                    }
                }
                Err(reason) => rejection = rejection.max(Some(reason)),
            }
        });
        (due, rejection)
    }

    /// The gate that delays `call`, or `None` if it may be sent. If the call would miss its
    /// deadline, this is the gate whose wait is too long, or `None` if the deadline has passed.
    /// Pacing that follows a cooldown counts as the cooldown if that is longer.
    #[must_use]
    pub fn why(&self, now: Instant, call: &Call<LIMITS, C>) -> Option<Gate> {
        let (verdict, dues) = self.look(now, call, true);
        match verdict {
            Verdict::Admit => None,
            Verdict::Full => Some(Gate::Concurrency),
            Verdict::Reject(Reason::RetryBudget) => Some(Gate::RetryBudget),
            Verdict::Wait(until) | Verdict::Reject(Reason::Late(until)) => {
                // The last interval of a wait is always the pacing's, also after a long cooldown.
                let (wait, cooldown) = (until - now, self.cooldown.until() - now);
                match dues.contains(&until) && cooldown <= wait.halved(1) {
                    _ if until <= now => None,
                    true => Some(Gate::Pacing),
                    false => Some(Gate::Cooldown),
                }
            }
            Verdict::Reject(_) => Some(Gate::Pacing),
        }
    }

    /// Checks all gates, and if they admit the call, charges them and returns the permit. Other
    /// decisions charge nothing, but [`stats`](Self::stats) counts them, and the law learns that a
    /// call waited for it.
    pub fn poll(&mut self, now: Instant, call: &Call<LIMITS, C>) -> Decision<Permit<LIMITS, C>> {
        match self.decide(now, call, true) {
            Verdict::Admit => Decision::Admit(self.charge(now, call)),
            Verdict::Wait(until) => Decision::Wait(until),
            Verdict::Full => Decision::Full,
            Verdict::Reject(reason) => Decision::Reject(reason),
        }
    }

    /// [`poll`](Self::poll) for a call in a queue, which writes the permit in place. A call that is not the first waits,
    /// unless it would miss its deadline even as the first. It never returns `Full`, but `Wait` until
    /// [`ready_at`](Self::ready_at), or [`Instant::MAX`] if time alone does not help. The `Wait` of a call that is not
    /// the first may be at `now`.
    pub fn poll_queued(
        &mut self,
        now: Instant,
        call: &Call<LIMITS, C>,
        is_first: bool,
        permit: &mut Option<Permit<LIMITS, C>>,
    ) -> Verdict {
        let verdict = self.decide(now, call, is_first);
        match verdict {
            Verdict::Admit => *permit = Some(self.charge(now, call)),
            Verdict::Full => {
                let room = self.has_room_at(now, call);
                let grows = room > Instant::ZERO && room < Instant::MAX;
                let at = if grows { room.max(self.due_first(now, call)) } else { Instant::MAX };
                return Verdict::Wait(at);
            }
            Verdict::Wait(_) | Verdict::Reject(_) => {}
        }
        verdict
    }

    /// Notes what delays or rejects the call.
    #[inline(always)]
    fn decide(&mut self, now: Instant, call: &Call<LIMITS, C>, is_first: bool) -> Verdict {
        let (verdict, dues) = self.look(now, call, is_first);
        match verdict {
            Verdict::Admit => {}
            Verdict::Wait(until) if is_first => {
                self.note_rate_limited(&dues, until);
                self.stats.note(|stats| {
                    stats.waits = stats.waits.saturating_add(1);
                    stats.waited += until - now;
                });
            }
            Verdict::Wait(_) => {}
            Verdict::Full => {
                self.note_concurrency_limited(now, call);
                self.stats.count(|stats| &mut stats.full);
            }
            Verdict::Reject(reason) => {
                // A call that cannot wait is also limited by the law.
                if let Reason::Late(until) = reason {
                    self.note_rate_limited(&dues, until);
                }
                self.stats.count(|stats| &mut stats.rejected);
            }
        }
        verdict
    }

    /// Frees the slot of a call that has ended. If there was no response, the call counts as abandoned and nothing is
    /// learned.
    #[expect(clippy::needless_pass_by_value, reason = "a permit is used up")]
    pub fn release(&mut self, permit: Permit<LIMITS, C>) {
        if permit.mark != self.mark {
            return;
        }
        if !permit.learnt {
            self.count(Outcome::Abandoned);
        }
        self.forget(1);
    }

    /// Frees the slots of calls whose permits are lost and will never be settled. Their costs stay charged, and nothing
    /// is learned. A program whose calls can vanish without a trace, such as an edge worker, keeps the time of each and
    /// calls this after an expiry.
    ///
    /// ```
    /// use core::num::NonZeroU16;
    /// use tidegate::{Call, Controller, Decision, Instant, Policy};
    ///
    /// let (policy, now) = (Policy::named("none").unwrap().concurrency(NonZeroU16::MIN), Instant::ZERO);
    /// let mut gate: Controller = Controller::new(policy, 7, now);
    /// let Decision::Admit(permit) = gate.poll(now, &Call::new()) else { panic!() };
    /// core::mem::forget(permit);
    /// assert_eq!(gate.poll(now, &Call::new()), Decision::Full);
    /// gate.forget(1);
    /// assert!(matches!(gate.poll(now, &Call::new()), Decision::Admit(_)));
    /// ```
    pub const fn forget(&mut self, calls: u16) {
        self.calls = self.calls.saturating_sub(calls);
    }

    /// Frees the slots of all calls in flight. Their permits have no further effect: unlike after
    /// [`forget`](Self::forget), a call that is not lost frees nothing twice.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy};
    ///
    /// let now = Instant::ZERO;
    /// let mut gate: Controller = Controller::new(Policy::named("none").unwrap(), 7, now);
    /// let Decision::Admit(old) = gate.poll(now, &Call::new()) else { panic!() };
    /// gate.forget_all();
    /// let Decision::Admit(new) = gate.poll(now, &Call::new()) else { panic!() };
    /// gate.settle(now, old, Outcome::Ok);
    /// assert_eq!(gate.in_flight(), 1);
    /// gate.settle(now, new, Outcome::Ok);
    /// assert_eq!(gate.in_flight(), 0);
    /// ```
    pub const fn forget_all(&mut self) {
        (self.calls, self.mark) = (0, self.mark.wrapping_add(1));
    }

    /// Counts calls as in flight that were [forgotten](Self::forget), but are not lost.
    pub const fn occupy(&mut self, calls: u16) {
        self.calls = self.calls.saturating_add(calls);
    }

    /// Takes over the calls in flight of `other`, which this controller replaces: their permits are settled here.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy};
    ///
    /// let (policy, now) = (Policy::named("none").unwrap(), Instant::ZERO);
    /// let mut old: Controller = Controller::new(policy, 7, now);
    /// let Decision::Admit(permit) = old.poll(now, &Call::new()) else { panic!() };
    /// let mut new: Controller = Controller::new(policy, 8, now);
    /// new.take_over(&old);
    /// assert_eq!(new.in_flight(), 1);
    /// new.settle(now, permit, Outcome::Ok);
    /// assert_eq!(new.in_flight(), 0);
    /// ```
    pub const fn take_over(&mut self, other: &Self) {
        (self.calls, self.mark) = (other.calls, other.mark);
    }

    /// Refunds the permit of a call that was not sent. Its slot, its cost and its part of the retry budget become
    /// available again, and the law learns nothing.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Decision, Instant, Policy, Quota, law::Fixed};
    ///
    /// let (law, now) = (Fixed::new(Quota::per_second(1).unwrap()), Instant::ZERO);
    /// let mut gate: Controller<Fixed> = Controller::new(Policy::new(law), 7, now);
    /// let Decision::Admit(permit) = gate.poll(now, &Call::new()) else { panic!() };
    /// gate.refund(now, permit);
    /// assert!(matches!(gate.poll(now, &Call::new()), Decision::Admit(_)));
    /// ```
    pub fn refund(&mut self, now: Instant, permit: Permit<LIMITS, C>) {
        if permit.learnt || permit.mark != self.mark {
            return self.release(permit);
        }
        let newest = permit.number.wrapping_add(1) == self.admitted;
        let Policy { laws, rules } = self.policy.borrow();
        pairs_mut(laws, &mut self.limits, |index, law, limit| {
            let cost = permit.costs.of(index);
            if let Some(part) = permit.parts.get(index)
                && cost > 0
                && limit.has_charged(part)
            {
                limit.refund(law, now, (part, cost), permit.sent, newest);
            }
        });
        if permit.attempt > 0 {
            accounted(self.saved.as_mut(), rules, Entry::Refund);
        }
        self.release(permit);
    }

    /// [`refund`](Self::refund) and [`poll`](Self::poll) for an admitted call that waits for something else, such as
    /// another limit. The new permit is as of now. `None` if the call has to wait again. A renewed permit is not
    /// counted again.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Decision, Instant, Policy, Quota, Span, Verdict, law::Fixed};
    ///
    /// let (law, now) = (Fixed::new(Quota::per_second(1).unwrap()), Instant::ZERO);
    /// let mut gate: Controller<Fixed> = Controller::new(Policy::new(law), 7, now);
    /// let Decision::Admit(permit) = gate.poll(now, &Call::new()) else { panic!() };
    /// let later = now + Span::from_secs(1);
    /// let permit = gate.renew(later, permit, &Call::new()).unwrap();
    /// assert_eq!((permit.sent(), gate.stats().admitted), (later, 1));
    /// assert!(matches!(gate.check(later, &Call::new()), Verdict::Wait(_)));
    /// ```
    pub fn renew(
        &mut self,
        now: Instant,
        permit: Permit<LIMITS, C>,
        call: &Call<LIMITS, C>,
    ) -> Option<Permit<LIMITS, C>> {
        let before = self.stats.clone();
        self.refund(now, permit);
        let Decision::Admit(permit) = self.poll(now, call) else { return None };
        self.stats = before;
        Some(permit)
    }

    /// Sets the concurrency limit. A law may apply a lower one. Calls in flight continue: after a reduction, nothing is
    /// admitted until enough of them have settled.
    ///
    /// ```
    /// use core::num::NonZeroU16;
    /// use tidegate::{Call, Controller, Decision, Instant, Policy};
    ///
    /// let policy = Policy::named("none").unwrap().concurrency(NonZeroU16::MIN);
    /// let mut gate: Controller = Controller::new(policy, 7, Instant::ZERO);
    /// let Decision::Admit(_first) = gate.poll(Instant::ZERO, &Call::new()) else { panic!() };
    /// assert_eq!(gate.poll(Instant::ZERO, &Call::new()), Decision::Full);
    /// gate.set_concurrency(NonZeroU16::new(2).unwrap());
    /// assert!(matches!(gate.poll(Instant::ZERO, &Call::new()), Decision::Admit(_)));
    /// ```
    pub const fn set_concurrency(&mut self, limit: NonZeroU16) {
        self.concurrency = limit;
    }

    /// When to poll again for a plain call (cost 1, no retry) if nothing settles until then. May be
    /// in the past. `None` if nothing delays the call, or if time alone does not help.
    ///
    /// After `Full`, wait for this instant or for a call to settle, whichever is first.
    #[must_use]
    pub fn next_at(&self, now: Instant) -> Option<Instant> {
        // Assuming the earliest possible time, each gate returns when its wait ends. A law that
        // rejects within one second has no such time, and must not hide the others.
        let mut due = self.cooldown.until();
        let mut helps = true;
        let plain = Call::new();
        pairs(self.laws(), &self.limits, |index, law, limit| {
            let cost = self.usual.cost_of(index, (law, limit), &plain);
            match limit.due(law, Instant::ZERO, cost, self.in_flight(), false) {
                Ok(at) => due = due.max(at),
                Err(reason) => helps &= matches!(reason, Reason::OverLimit),
            }
        });
        let due = if helps { due } else { Instant::ZERO };
        let room = self.has_room_at(now, &plain);
        let at = due.max(room);
        (at > Instant::ZERO && room < Instant::MAX).then_some(at)
    }

    /// [`next_at`](Self::next_at) for a call of any cost: when `call` may be admitted after `Full`
    /// if nothing settles until then. `None` if time alone does not help.
    ///
    /// ```
    /// use core::num::NonZeroU16;
    /// use tidegate::{Call, Controller, Decision, Instant, Policy};
    ///
    /// let now = Instant::ZERO;
    /// // During slow start, `adaptive` admits ten calls at once, and more with each round trip.
    /// let mut gate: Controller = Controller::new(Policy::named("adaptive").unwrap(), 7, now);
    /// while let Decision::Admit(_) = gate.poll(now, &Call::new()) {}
    /// assert!(gate.ready_at(now, &Call::new()) > Some(now));
    /// // Only a call that settles helps where the concurrency limit is the policy's.
    /// gate.set_concurrency(NonZeroU16::MIN);
    /// assert_eq!(gate.ready_at(now, &Call::new()), None);
    /// ```
    #[must_use]
    pub fn ready_at(&self, now: Instant, call: &Call<LIMITS, C>) -> Option<Instant> {
        let room = self.has_room_at(now, call);
        (room < Instant::MAX).then(|| room.max(self.due_first(now, call)))
    }

    /// The earliest instant at which `call` may be sent, ignoring calls in flight. Not before `now`.
    #[must_use]
    pub fn due_first(&self, now: Instant, call: &Call<LIMITS, C>) -> Instant {
        self.due(now, call, &mut [Instant::ZERO; LIMITS]).0.max(now)
    }

    /// See [`Gate::is_failing`](crate::queue::Gate::is_failing).
    #[must_use]
    pub fn is_failing(&self) -> bool {
        let mut failing = self.failing > 0;
        pairs(self.laws(), &self.limits, |_, law, limit| {
            let new = law.pace(&limit.state, Instant::ZERO, u16::MAX, false);
            let retry = law.pace(&limit.state, Instant::ZERO, u16::MAX, true);
            failing |= new.not_before != retry.not_before;
        });
        failing
    }

    /// When there will be room for `call` in flight if nothing settles until then: [`Instant::ZERO`] if there is room,
    /// [`Instant::MAX`] if time does not help.
    fn has_room_at(&self, now: Instant, call: &Call<LIMITS, C>) -> Instant {
        let is_full = self.calls >= self.concurrency.get();
        let mut latest = if is_full { Instant::MAX } else { Instant::ZERO };
        pairs(self.laws(), &self.limits, |index, law, limit| {
            let at = self.law_has_room_at(law, &limit.state, now);
            // Not `max`, so that a law without such a limit links nothing.
            if at > latest && self.usual.cost_of(index, (law, limit), call) > 0 {
                latest = at;
            }
        });
        latest
    }

    /// The same for the concurrency limit of one law, which can grow.
    fn law_has_room_at(&self, law: &L, state: &L::State, now: Instant) -> Instant {
        let (mut from, mut at) = (now, Instant::ZERO);
        while let Pace { concurrency: Some(most), widens_at, .. } = law.pace(state, from, 0, false)
            && self.calls >= most.get()
        {
            match widens_at {
                Some(wider) if wider > from => (from, at) = (wider, wider),
                _ => return Instant::MAX,
            }
        }
        at
    }

    /// Sets another policy. A limit whose law stays the same keeps what it has learned; others are
    /// reset. Calls in flight remain. A cooldown remains, up to the ceiling of the new policy. If
    /// both laws have a rate, the rest of the burst is kept, and a larger burst fills up at the new
    /// rate.
    ///
    /// ```
    /// use tidegate::{Controller, Instant, Policy, Span};
    ///
    /// let now = Instant::ZERO;
    /// let mut gate: Controller = Controller::new(Policy::named("aimd").unwrap(), 7, now);
    /// gate.set_policy(Policy::named("fixed").unwrap(), now);
    /// assert_eq!(gate.intervals(now).next(), Some(Some(Span::from_millis(100))));
    /// ```
    pub fn set_policy(&mut self, policy: P, now: Instant)
    where
        L: PartialEq,
    {
        let (new, old) = (policy.borrow(), self.policy.borrow());
        let ceiling = new.rules.cooldown.ceiling();
        let latest = (ceiling < old.rules.cooldown.ceiling()).then(|| now + ceiling);
        for (limit, (law, before)) in self.limits.iter_mut().zip(new.laws.iter().zip(&old.laws)) {
            if law != before {
                limit.restart(before, law, now);
            }
            if let Some(latest) = latest {
                limit.pacing.shorten_cooldown(latest);
                law.shorten(&mut limit.state, latest);
            }
        }
        if let Some(latest) = latest {
            self.cooldown.shorten(latest);
        }
        if new.rules.retry_budget != old.rules.retry_budget {
            self.saved = opened::<LIMITS, C>(&new.rules);
        }
        self.concurrency = new.rules.concurrency;
        self.policy = policy;
    }

    /// Ends every cooldown and forgets what the laws have learned. Use it when the cause of a cooldown is gone, for
    /// example after you buy more quota or a server is repaired. The policy's quotas still apply: their pacing
    /// continues, as do calls in flight, the retry budget and the counters.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Decision, Hint, Instant, Outcome, Policy, Span, Verdict};
    ///
    /// let now = Instant::ZERO;
    /// let mut gate: Controller = Controller::new(Policy::named("adaptive").unwrap(), 7, now);
    /// let Decision::Admit(permit) = gate.poll(now, &Call::new()) else { panic!() };
    /// gate.settle(now, permit, Outcome::Throttled.with(Hint::retry_after(Span::from_secs(1_800))));
    /// assert!(matches!(gate.check(now, &Call::new()), Verdict::Wait(_)));
    /// gate.reset(now);
    /// assert_eq!(gate.check(now, &Call::new()), Verdict::Admit);
    /// ```
    pub fn reset(&mut self, now: Instant) {
        self.cooldown = Cooldown::default();
        pairs_mut(&self.policy.borrow().laws, &mut self.limits, |_, law, limit| {
            limit.restart(law, law, now);
            limit.pacing.end_cooldown();
        });
    }

    /// Sends nothing before a random instant within `over` from now. Use it for clients that start
    /// together, such as devices after a power cut or processes after a deployment. A longer
    /// cooldown remains.
    ///
    /// Choose `over` so that all clients fit into the limit: 200 clients at 120 calls per minute
    /// need 100 seconds.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Instant, Policy, Span, Verdict};
    ///
    /// let (now, over) = (Instant::ZERO, Span::from_secs(100));
    /// let mut gate: Controller = Controller::new(Policy::named("adaptive").unwrap(), 7, now);
    /// gate.spread_start(now, over);
    /// let Verdict::Wait(until) = gate.check(now, &Call::new()) else { panic!() };
    /// assert!(until <= now + over);
    /// ```
    pub fn spread_start(&mut self, now: Instant, over: Span) {
        self.cooldown.wait_until(now + self.rng.between(Span::ZERO, over));
    }

    /// The counters.
    #[cfg(feature = "stats")]
    #[must_use]
    pub const fn stats(&self) -> &Stats {
        self.stats.stats()
    }

    /// Calls in flight.
    #[must_use]
    pub const fn in_flight(&self) -> u16 {
        self.calls
    }

    /// The current interval of each limit's law. `None` if the law sets none.
    ///
    /// ```
    /// use tidegate::{Controller, Instant, Policy, Span};
    ///
    /// let now = Instant::ZERO;
    /// let gate: Controller = Controller::new(Policy::named("aimd").unwrap(), 7, now);
    /// assert_eq!(gate.intervals(now).next(), Some(Some(Span::from_millis(100))));
    /// ```
    pub fn intervals(&self, now: Instant) -> impl Iterator<Item = Option<Span>> {
        let limits = self.limits.iter().zip(self.laws());
        limits.map(move |(limit, law)| limit.interval(law, now))
    }

    /// The state of each limit's law.
    pub fn states(&self) -> impl Iterator<Item = &L::State> {
        self.limits.iter().map(|limit| &limit.state)
    }

    /// End of the latest cooldown from a server. May be in the past.
    #[cfg(any(feature = "keyed", feature = "shared"))]
    pub(crate) const fn cooldown_until(&self) -> Instant {
        self.cooldown.until()
    }

    /// Charges all gates for an admitted call.
    #[inline(always)]
    pub(crate) fn charge(&mut self, now: Instant, call: &Call<LIMITS, C>) -> Permit<LIMITS, C> {
        let (mut parts, mut costs) = ([Part::NONE; LIMITS], call.costs);
        let Policy { laws, rules } = self.policy.borrow();
        pairs_mut(laws, &mut self.limits, |index, law, limit| {
            let cost = self.usual.cost_of(index, (law, limit), call);
            costs.set(index, cost);
            if let Some(part) = parts.get_mut(index) {
                let unstated = is_unstated(index, call);
                let (epoch, rate_limited) = (limit.epoch, limit.rate_limited);
                *part = Part { epoch, rate_limited, unstated };
            }
            let sent =
                Sent { now, cooldown_end: self.cooldown.until(), cost, attempt: call.attempt };
            limit.charge(law, &sent, &mut self.rng);
        });
        if call.attempt > 0 {
            accounted(self.saved.as_mut(), rules, Entry::Withdrawal);
        }
        let (number, mark) = (self.admitted, self.mark);
        self.admitted = number.wrapping_add(1);
        self.calls = self.calls.saturating_add(1);
        self.stats.count(|stats| &mut stats.admitted);
        let attempt = call.attempt;
        Permit { sent: now, costs, parts, attempt, number, mark, learnt: false }
    }

    /// Marks the limits that make a call wait until then: their laws are the bottleneck. A limit
    /// with a shorter wait than another limit or a cooldown is not.
    fn note_rate_limited(&mut self, dues: &[Instant; LIMITS], until: Instant) {
        pairs_mut(dues, &mut self.limits, |_, due, limit| limit.rate_limited |= *due == until);
    }

    /// Marks the laws whose concurrency limits are full for `call`: those that are as low as the
    /// whole concurrency limit.
    fn note_concurrency_limited(&mut self, now: Instant, call: &Call<LIMITS, C>) {
        let open = self.concurrency_limit(now, call);
        pairs_mut(&self.policy.borrow().laws, &mut self.limits, |index, law, limit| {
            let concurrency = limit
                .concurrency(law, now)
                .filter(|_| self.usual.cost_of(index, (law, limit), call) > 0);
            limit.rate_limited |= concurrency.is_some_and(|concurrency| concurrency <= open);
        });
    }

    /// The policy's concurrency limit for `call`, reduced by the laws. A limit of which the call
    /// costs nothing does not reduce it.
    fn concurrency_limit(&self, now: Instant, call: &Call<LIMITS, C>) -> NonZeroU16 {
        let mut least = self.concurrency;
        pairs(self.laws(), &self.limits, |index, law, limit| {
            if self.usual.cost_of(index, (law, limit), call) > 0
                && let Some(most) = limit.concurrency(law, now)
            {
                least = least.min(most);
            }
        });
        least
    }
}

/// What a new retry budget saved, if the policy has one.
fn opened<const LIMITS: usize, C: Costs<LIMITS>>(rules: &Rules) -> C::Saved {
    debug_assert!(
        C::ARE_STATED || rules.retry_budget.is_none(),
        "a retry budget needs calls with costs: `[u32; 1]` instead of `()`"
    );
    let mut saved = C::NOTHING;
    accounted(saved.as_mut(), rules, Entry::Open);
    saved
}

/// Makes an entry in the retry budget, if the policy has one. Returns whether it allows a retry.
#[inline(always)]
fn accounted(saved: &mut [u64], rules: &Rules, entry: Entry) -> bool {
    let ([saved], Some(Linked { setting, follow })) = (saved, &rules.retry_budget) else {
        return true;
    };
    follow(saved, setting, entry)
}
