//! The controller: a policy and its state.

mod each;
#[cfg(feature = "shared")]
mod leased;
mod limit;
mod record;
mod retry;

use core::borrow::Borrow;

use each::{each, pairs, pairs_mut};
use limit::{Limit, lately};

use crate::gate::{Budget, Gate, Hold, InFlight, Part, Permit, WindowPolicy};
use crate::hint::Hint;
use crate::law::{AnyLaw, Law, Move, Sample};
use crate::outcome::{AsReply, Outcome, Reply};
use crate::policy::{Policy, Rules};
use crate::queue::Ahead;
use crate::rng::Rng;
use crate::stats::Counters;
#[cfg(feature = "stats")]
use crate::stats::Stats;
use crate::time::{Instant, Span};
use crate::verdict::{Ask, Decision, Reason, Verdict};

/// Decides when the next call may leave, and learns from what comes back.
///
/// One controller serves all who share a limit: put it behind a mutex, or keep it to one task. It
/// never sleeps and never reads a clock; the caller does both. The loop is always this one:
///
/// ```
/// use tidegate::{Ask, Controller, Decision, Instant, Outcome, Policy, Span};
///
/// // The world of this example: a clock that only moves when we wait, and a server that
/// // throttles the first three calls.
/// let mut now = Instant::ZERO;
/// let mut refusals = 3;
/// let mut call = || if refusals > 0 { refusals -= 1; Outcome::Throttled } else { Outcome::Ok };
///
/// let mut gate: Controller = Controller::new(Policy::named("aimd").unwrap(), 7, now);
/// let mut ask = Ask::new();
/// let attempts = loop {
///     match gate.poll(now, &ask) {
///         Decision::Go(permit) => {
///             let outcome = call();
///             gate.settle(now, permit, outcome);
///             match gate.retry(now, &ask, outcome) {
///                 Ok(next) => ask = next,
///                 Err(_) => break ask.attempt() + 1, // served, or no other attempt is due
///             }
///         }
///         Decision::Wait(until) => now = until, // sleep until then
///         Decision::Full => break 0,            // wait until a call settles, or `next_at`
///         Decision::Refuse(reason) => panic!("{reason}"),
///     }
/// };
/// assert_eq!(attempts, 4);
/// assert_eq!(gate.stats().throttled, 3);
/// ```
///
/// # Contracts
///
/// - Time is an argument. A `now` before the latest one earns nothing; one far ahead earns a burst.
/// - [`Verdict::Wait`] lies after `now`, and at that instant the same gate does not answer the same
///   ask with `Wait` again, unless something left or settled in between. (The faithful
///   [`Tchannel`](crate::law::Tchannel) counts where a second ends, and may then say `Wait` after all.)
/// - All gates are asked before any is charged; only `Go` charges.
/// - Timers fire late. A rate makes up for up to 2 ms of that, so the burst is larger by what the rate
///   allows in 2 ms. (Published laws stay as their sources have them.)
/// - A call that left before the latest cut cannot cut again, and a law grows only where it was
///   what calls waited for. Laws that are kept as their source has them may break these two:
///   [`AwsCubic`](crate::law::AwsCubic), [`Heroku`](crate::law::Heroku), and what
///   [`Tchannel`](crate::law::Tchannel) and [`Autosleeper`](crate::law::Autosleeper) call faithful.
/// - An abandoned call frees its place and teaches nothing. Its cost stays charged, because it may
///   have reached the server.
/// - The same seed, policy and calls give the same answers, on every machine.
///
/// # Parameters
///
/// `L` is the law; `LIMITS` is how many limits an ask has costs for. `P` is a policy or a reference to one:
/// firmware keeps it in flash, and a table of controllers has one for all of them.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Controller<L: Law = AnyLaw, const LIMITS: usize = 1, P = Policy<L, LIMITS>> {
    policy: P,
    limits: [Limit<L::State>; LIMITS],
    hold: Hold,
    window: WindowPolicy,
    calls: InFlight,
    budget: Budget,
    rng: Rng,
    stats: Counters,
    /// How many calls were admitted so far, in its low 8 bits.
    admitted: u8,
}

impl<L: Law, const LIMITS: usize, P: Borrow<Policy<L, LIMITS>>> Controller<L, LIMITS, P> {
    /// A controller that has seen nothing yet.
    ///
    /// `seed` spreads this client's waits against those of its fleet; see [`rng`](crate::rng) for
    /// what to feed it.
    #[must_use]
    pub fn new(policy: P, seed: u64, now: Instant) -> Self {
        let Policy { laws, rules } = policy.borrow();
        Self {
            limits: laws.each_ref().map(|law| Limit::new(law, now)),
            hold: Hold::default(),
            window: rules.window,
            calls: InFlight::new(now, period(seed)),
            admitted: 0,
            budget: Budget::of(rules.budget),
            rng: Rng::new(seed),
            stats: Counters::default(),
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

    /// What a poll would answer. It changes nothing and may be asked at any time.
    #[must_use]
    pub fn check(&self, now: Instant, ask: &Ask<LIMITS>) -> Verdict {
        let mut due = self.hold.until().max(ask.not_before);
        let mut refusal = None::<Reason>;
        pairs(self.laws(), &self.limits, |index, law, limit| {
            match limit.due(law, now, ask.cost_of(index), self.in_flight()) {
                Ok(at) => due = due.max(at),
                Err(reason) => refusal = Some(refusal.map_or(reason, |other| other.max(reason))),
            }
        });
        // A full window must not hide that the wait behind it is too long.
        let leaves = due.max(now);
        if leaves > ask.deadline {
            refusal = refusal.or(Some(Reason::Late(leaves)));
        }
        if ask.attempt > 0
            && let Some(policy) = self.rules().budget
            && self.budget.check(policy) != Verdict::Go
            && !matches!(refusal, Some(reason) if reason > Reason::Budget)
        {
            refusal = Some(Reason::Budget);
        }
        match refusal {
            Some(reason) => Verdict::Refuse(reason),
            None if self.calls.is_full(now, self.window_policy(now, ask)) => Verdict::Full,
            None if due > now => Verdict::Wait(due),
            None => Verdict::Go,
        }
    }

    /// Which gate stands in the way of `ask`; `None` where it may go. A deadline is nobody's gate:
    /// the answer is the gate whose wait would miss it, and `None` where it has passed already.
    #[must_use]
    pub fn why(&self, now: Instant, ask: &Ask<LIMITS>) -> Option<Gate> {
        match self.check(now, ask) {
            Verdict::Go => None,
            Verdict::Full => Some(Gate::Window),
            Verdict::Refuse(Reason::Budget) => Some(Gate::Budget),
            Verdict::Wait(until) | Verdict::Refuse(Reason::Late(until)) => {
                let mut paced = false;
                pairs(self.laws(), &self.limits, |index, law, limit| {
                    paced |= until > now
                        && limit.due(law, now, ask.cost_of(index), self.in_flight()) == Ok(until);
                });
                match paced {
                    true => Some(Gate::Pace),
                    false if until > now => Some(Gate::Hold),
                    false => None,
                }
            }
            Verdict::Refuse(_) => Some(Gate::Pace),
        }
    }

    /// Asks all gates, and on `Go` charges them and hands out the permit. The other answers charge
    /// nothing, but [`stats`](Self::stats) counts them, and a law learns that it was waited for.
    pub fn poll(&mut self, now: Instant, ask: &Ask<LIMITS>) -> Decision<Permit<LIMITS>> {
        match self.check(now, ask) {
            Verdict::Go => self.leave(now, ask),
            verdict => self.keep_back(now, ask, verdict),
        }
    }

    /// Learns from a call's response and frees its place: [`learn`](Self::learn) and
    /// [`release`](Self::release) in one. In any order, once for each permit.
    pub fn settle(
        &mut self,
        now: Instant,
        mut permit: Permit<LIMITS>,
        reply: impl AsReply<LIMITS>,
    ) {
        self.learn(now, &mut permit, reply);
        self.release(permit);
    }

    /// Learns from a call's response, while its body is still on its way and the call keeps its place.
    /// [`release`](Self::release) it at the end of the body. A body that streams for 20 seconds is not a
    /// round trip of 20 seconds. A second response to the same permit is ignored.
    ///
    /// A response that comes after the call's lease teaches no rate, but its Retry-After counts.
    ///
    /// ```
    /// use tidegate::{Ask, Controller, Decision, Instant, Outcome, Policy, Span};
    ///
    /// let now = Instant::ZERO;
    /// let mut gate: Controller = Controller::new(Policy::named("adaptive").unwrap(), 7, now);
    /// let Decision::Go(mut permit) = gate.poll(now, &Ask::new()) else { panic!() };
    /// let headers = now.saturating_add(Span::from_millis(25));
    /// gate.learn(headers, &mut permit, Outcome::Ok);
    /// assert_eq!(gate.in_flight(), 1);
    /// gate.release(permit); // at the end of the body
    /// assert_eq!(gate.in_flight(), 0);
    /// ```
    pub fn learn(
        &mut self,
        now: Instant,
        permit: &mut Permit<LIMITS>,
        reply: impl AsReply<LIMITS>,
    ) {
        reply.with_reply(|reply| self.learn_late(now, permit, reply, Span::ZERO));
    }

    /// The call of a permit is over: its place is free. It teaches nothing by itself, so a permit that is
    /// released without a response is that of an abandoned call.
    #[expect(clippy::needless_pass_by_value, reason = "a permit is used up")]
    pub fn release(&mut self, permit: Permit<LIMITS>) {
        if !permit.learnt {
            self.count(Outcome::Abandoned);
        }
        self.calls.remove(permit.period);
    }

    /// Takes a permit back whose call was not sent: its place, its cost and what a retry took of the
    /// budget are available again, and no law learns anything from it.
    ///
    /// ```
    /// use tidegate::{Ask, Controller, Decision, Instant, Policy, Quota, law::Fixed};
    ///
    /// let (law, now) = (Fixed::new(Quota::per_second(1).unwrap()), Instant::ZERO);
    /// let mut gate: Controller<Fixed> = Controller::new(Policy::new(law), 7, now);
    /// let Decision::Go(permit) = gate.poll(now, &Ask::new()) else { panic!() };
    /// gate.refund(now, permit);
    /// assert!(matches!(gate.poll(now, &Ask::new()), Decision::Go(_)));
    /// ```
    pub fn refund(&mut self, now: Instant, permit: Permit<LIMITS>) {
        if permit.learnt || !self.calls.counts(permit.period) {
            return self.release(permit);
        }
        let newest = permit.number.wrapping_add(1) == self.admitted;
        let Policy { laws, rules } = self.policy.borrow();
        pairs_mut(laws, &mut self.limits, |index, law, limit| {
            if let Some(part) = permit.parts.get(index)
                && part.cost > 0
                && limit.has_charged(part)
            {
                limit.refund(law, now, part, newest);
            }
        });
        if permit.attempt > 0
            && let Some(policy) = rules.budget
        {
            self.budget.refund(policy);
        }
        self.release(permit);
    }

    /// Opens or narrows the window from now on, as far as the laws leave it open. Calls in flight stay in
    /// flight: a narrowed window is full until enough of them have settled.
    ///
    /// ```
    /// use tidegate::{Ask, Controller, Decision, Instant, Policy, Span, gate::WindowPolicy};
    ///
    /// let lease = Span::from_secs(30);
    /// let policy = Policy::named("none").unwrap().window(WindowPolicy::new(1, lease).unwrap());
    /// let mut gate: Controller = Controller::new(policy, 7, Instant::ZERO);
    /// let Decision::Go(_first) = gate.poll(Instant::ZERO, &Ask::new()) else { panic!() };
    /// assert_eq!(gate.poll(Instant::ZERO, &Ask::new()), Decision::Full);
    /// gate.set_window(WindowPolicy::new(2, lease).unwrap(), Instant::ZERO);
    /// assert!(matches!(gate.poll(Instant::ZERO, &Ask::new()), Decision::Go(_)));
    /// ```
    pub fn set_window(&mut self, window: WindowPolicy, now: Instant) {
        if window.lease() != self.window.lease() {
            self.calls.renew(now, self.window);
        }
        self.window = window;
    }

    /// When to poll again for a plain call (cost 1, no retry) if nothing settles until then. It may
    /// lie in the past; `None` where nothing is in the way, or where no time would help.
    ///
    /// After `Full`, wait until a call settles or this instant comes, whichever is first.
    #[must_use]
    pub fn next_at(&self, now: Instant) -> Option<Instant> {
        // Asked before all that has happened, whatever is in the way says when it will have ended. A
        // law that refuses within one second does not, and must not hide the others.
        let mut due = self.hold.until();
        let mut helps = true;
        pairs(self.laws(), &self.limits, |_, law, limit| {
            match limit.due(law, Instant::ZERO, 1, self.in_flight()) {
                Ok(at) => due = due.max(at),
                Err(reason) => helps &= matches!(reason, Reason::OverLimit),
            }
        });
        let due = (helps && due > Instant::ZERO).then_some(due);
        due.max(self.has_room_at(now, &Ask::new()))
    }

    /// When `ask` may be admitted after `Full`, if nothing settles until then; `None` where no time would
    /// help. It is [`next_at`](Self::next_at) for a call of any cost.
    ///
    /// ```
    /// use tidegate::{Ask, Controller, Decision, Instant, Policy, Quota, Span};
    /// use tidegate::{gate::WindowPolicy, law::Fixed};
    ///
    /// let now = Instant::ZERO;
    /// let law = Fixed::new(Quota::per_second(1).unwrap().with_burst(10).unwrap());
    /// let one = WindowPolicy::new(1, Span::from_secs(4)).unwrap();
    /// let mut gate: Controller<Fixed> = Controller::new(Policy::new(law).window(one), 7, now);
    /// let Decision::Go(_) = gate.poll(now, &Ask::new()) else { panic!() };
    /// let heavy = Ask::new().cost(10);
    /// assert_eq!(gate.poll(now, &heavy), Decision::Full);
    /// // The pace has room for it after one second, and the place is free after two leases at most.
    /// assert_eq!(gate.ready_at(now, &heavy), Some(now.saturating_add(Span::from_secs(8))));
    /// ```
    #[must_use]
    pub fn ready_at(&self, now: Instant, ask: &Ask<LIMITS>) -> Option<Instant> {
        Some(self.has_room_at(now, ask)?.max(self.due_behind(
            now,
            ask,
            &[Ahead::default(); LIMITS],
        )))
    }

    /// The earliest instant at which `ask` may be sent behind others, whatever is in flight.
    pub(crate) fn due_behind(
        &self,
        now: Instant,
        ask: &Ask<LIMITS>,
        ahead: &[Ahead; LIMITS],
    ) -> Instant {
        let mut due = now.max(self.hold.until()).max(ask.not_before);
        pairs(self.laws(), &self.limits, |index, law, limit| {
            let ahead = ahead.get(index).copied().unwrap_or_default();
            due = due.max(limit.due_behind(law, now, ahead, ask.cost_of(index), self.in_flight()));
        });
        due
    }

    /// A call is rejected that was not polled for.
    pub(crate) fn count_rejection(&mut self) {
        self.stats.count(|stats| &mut stats.refused);
    }

    /// When there is room for `ask` in flight if nothing settles until then; `None` where there is room,
    /// or where no time would help.
    fn has_room_at(&self, now: Instant, ask: &Ask<LIMITS>) -> Option<Instant> {
        let mut at = self.calls.ready_at(self.window);
        pairs(self.laws(), &self.limits, |index, law, limit| {
            if ask.cost_of(index) > 0 {
                at = at.max(self.law_has_room_at(law, &limit.state, now));
            }
        });
        at
    }

    /// The same for the window of one law, which may widen before a lease ends.
    fn law_has_room_at(&self, law: &L, state: &L::State, now: Instant) -> Option<Instant> {
        let (mut from, mut widened) = (now, None);
        while let Some(most) = law.window(state, from)
            && let Some(ended) = self.calls.ready_at(self.window.narrowed(most))
        {
            match law.widens_at(state, from) {
                Some(wider) if wider < ended => (from, widened) = (wider, Some(wider)),
                _ => return Some(ended).max(widened),
            }
        }
        widened
    }

    /// Follows another policy from now on. Each limit whose law stays the same keeps what it has
    /// learnt, and the others begin anew; calls in flight stay in flight, and a hold stays in force.
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
        for (limit, (law, before)) in self.limits.iter_mut().zip(new.laws.iter().zip(&old.laws)) {
            if law != before {
                // What is in flight left under another law: it is no fresh call of this one's.
                let began = limit.epoch.wrapping_add(1);
                *limit = Limit { epoch: began, began, ..Limit::new(law, now) };
            }
        }
        if new.rules.budget != old.rules.budget {
            self.budget = Budget::of(new.rules.budget);
        }
        self.set_window(new.rules.window, now);
        self.policy = policy;
    }

    /// The counters so far.
    #[cfg(feature = "stats")]
    #[must_use]
    pub const fn stats(&self) -> &Stats {
        self.stats.stats()
    }

    /// Calls in flight, with those whose lease has ended but whose place nobody has needed yet.
    #[must_use]
    pub const fn in_flight(&self) -> u16 {
        self.calls.count()
    }

    /// The time between two calls at present, by the law of each limit; `None` where a law keeps
    /// nothing apart.
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
        limits.map(move |(limit, law)| law.interval(&limit.state, now))
    }

    /// What the law of each limit remembers.
    pub fn states(&self) -> impl Iterator<Item = &L::State> {
        self.limits.iter().map(|limit| &limit.state)
    }

    /// Whether calls are in flight, or a pause that the server asked for is not over.
    #[cfg(feature = "keyed")]
    pub(crate) fn is_needed(&self, now: Instant) -> bool {
        self.calls.alive(now, self.window) > 0 || self.hold.until() > now
    }

    /// A poll that some gate stands in the way of.
    #[cold]
    fn keep_back(
        &mut self,
        now: Instant,
        ask: &Ask<LIMITS>,
        verdict: Verdict,
    ) -> Decision<Permit<LIMITS>> {
        match verdict {
            Verdict::Wait(until) => {
                self.press(now, ask, until);
                self.stats.note(|stats| {
                    stats.waits = stats.waits.saturating_add(1);
                    stats.waited = stats.waited.saturating_add(until.saturating_since(now));
                });
                Decision::Wait(until)
            }
            Verdict::Go | Verdict::Full => {
                self.press_windows(now, ask);
                self.full()
            }
            Verdict::Refuse(reason) => {
                // Whoever will not wait is kept back just as much.
                if let Reason::Late(until) = reason {
                    self.press(now, ask, until);
                }
                self.stats.count(|stats| &mut stats.refused);
                Decision::Refuse(reason)
            }
        }
    }

    fn leave(&mut self, now: Instant, ask: &Ask<LIMITS>) -> Decision<Permit<LIMITS>> {
        let mut parts = [Part { cost: 0, epoch: 0, paced: false }; LIMITS];
        let Policy { laws, rules } = self.policy.borrow();
        pairs_mut(laws, &mut self.limits, |index, law, limit| {
            let cost = ask.cost_of(index);
            if let Some(part) = parts.get_mut(index) {
                *part = Part { cost, epoch: limit.epoch, paced: limit.pressed };
            }
            limit.charge(law, now, cost, &mut self.rng);
        });
        if ask.attempt > 0
            && let Some(policy) = rules.budget
        {
            self.budget.withdraw(policy);
        }
        let (number, period) = (self.admitted, self.calls.add(now, self.window));
        self.admitted = number.wrapping_add(1);
        self.stats.count(|stats| &mut stats.gone);
        let attempt = ask.attempt;
        Decision::Go(Permit { sent: now, parts, attempt, period, number, learnt: false })
    }

    fn full(&mut self) -> Decision<Permit<LIMITS>> {
        self.stats.count(|stats| &mut stats.full);
        Decision::Full
    }

    /// Notes which limits make `ask` wait until then: their laws are the limit now. A limit whose own
    /// wait is shorter than another's, or than a hold, is not.
    fn press(&mut self, now: Instant, ask: &Ask<LIMITS>, until: Instant) {
        let in_flight = self.in_flight();
        pairs_mut(&self.policy.borrow().laws, &mut self.limits, |index, law, limit| {
            let due = limit.due(law, now, ask.cost_of(index), in_flight);
            limit.pressed |= matches!(due, Ok(at) if at == until);
        });
    }

    /// Notes which laws' windows are full for `ask`: those that are as narrow as the window is.
    fn press_windows(&mut self, now: Instant, ask: &Ask<LIMITS>) {
        let open = self.window_policy(now, ask).limit();
        pairs_mut(&self.policy.borrow().laws, &mut self.limits, |index, law, limit| {
            let window = law.window(&limit.state, now).filter(|_| ask.cost_of(index) > 0);
            limit.pressed |= window.is_some_and(|window| window.get() <= open);
        });
    }

    /// The policy's window for `ask`, as far as the laws leave it open. A limit that it costs nothing of
    /// does not narrow it.
    fn window_policy(&self, now: Instant, ask: &Ask<LIMITS>) -> WindowPolicy {
        let mut policy = self.window;
        pairs(self.laws(), &self.limits, |index, law, limit| {
            if ask.cost_of(index) > 0
                && let Some(most) = law.window(&limit.state, now)
            {
                policy = policy.narrowed(most);
            }
        });
        policy
    }

    /// Learns from a response that came `ago`.
    fn learn_late(
        &mut self,
        now: Instant,
        permit: &mut Permit<LIMITS>,
        reply: &Reply<LIMITS>,
        ago: Span,
    ) {
        if permit.learnt {
            return;
        }
        permit.learnt = true;
        self.count(reply.outcome);
        if reply.outcome == Outcome::Abandoned {
            return;
        }
        if self.calls.counts(permit.period) {
            self.teach(now, permit, reply, ago);
        } else {
            self.stats.count(|stats| &mut stats.late);
        }
        if reply.outcome != Outcome::Ok
            && let Some(asked) = pause(&reply.hints, &permit.parts)
        {
            let told = now.saturating_sub(ago);
            self.hold.raise(told, asked, self.policy.borrow().rules.hold, &mut self.rng);
        }
    }

    #[cfg_attr(not(feature = "shared"), expect(unused_variables, reason = "it is always now"))]
    fn teach(&mut self, now: Instant, permit: &Permit<LIMITS>, reply: &Reply<LIMITS>, ago: Span) {
        let Policy { laws, rules } = self.policy.borrow();
        if reply.outcome == Outcome::Ok
            && let Some(policy) = rules.budget
        {
            self.budget.deposit(policy);
        }
        // Where the server says which limits refused the call, the others have nothing to learn.
        // (One limit alone would be blamed or not asked.)
        let blame = LIMITS > 1
            && reply.outcome == Outcome::Throttled
            && permit.parts.iter().zip(&reply.hints).any(|(part, hint)| hint.is_used_up(part.cost));
        // The others: this one is about to end.
        let in_flight = self.calls.count().saturating_sub(1);
        pairs_mut(laws, &mut self.limits, |index, law, limit| {
            let (Some(part), Some(hint)) = (permit.parts.get(index), reply.hints.get(index)) else {
                return;
            };
            let quota = law.quota(&limit.state);
            limit.pace.drain(lately(law, now), quota);
            let mut cost = part.cost;
            if let Some(used) = reply.used.and_then(|used| used.get(index).copied()) {
                if limit.has_charged(part) {
                    limit.pace.pour(cost, used, quota);
                    law.corrected(&mut limit.state, now, cost, used);
                }
                cost = used.max(1);
            }
            if part.cost == 0 || (blame && !hint.is_used_up(part.cost)) {
                return;
            }
            let sample = Sample {
                now,
                sent: permit.sent,
                cost,
                outcome: reply.outcome,
                hint,
                fresh: part.epoch == limit.epoch,
                paced: part.paced,
                attempt: permit.attempt,
                in_flight,
                ceiling: rules.hold.ceiling(),
                #[cfg(feature = "shared")]
                told_ago: ago,
            };
            match law.observe(&mut limit.state, &mut limit.pace, &sample, &mut self.rng) {
                Move::Held => {}
                Move::Slower => {
                    limit.epoch = limit.epoch.wrapping_add(1);
                    self.stats.count(|stats| &mut stats.slower);
                }
                Move::Faster => self.stats.count(|stats| &mut stats.faster),
            }
        });
    }

    fn count(&mut self, outcome: Outcome) {
        self.stats.count(|stats| match outcome {
            Outcome::Ok => &mut stats.ok,
            Outcome::Throttled => &mut stats.throttled,
            Outcome::Busy => &mut stats.busy,
            Outcome::Failed => &mut stats.failed,
            Outcome::Abandoned => &mut stats.abandoned,
        });
    }
}

/// The longest pause that is wished for any of the limits that a call counted against.
fn pause<const LIMITS: usize>(hints: &[Hint; LIMITS], parts: &[Part; LIMITS]) -> Option<Span> {
    let mut longest = None;
    each(hints, |index, hint| {
        if parts.get(index).is_some_and(|part| part.cost > 0) {
            longest = longest.max(hint.pause());
        }
    });
    longest
}

/// A controller's first period. It follows from the seed, so that permits of other controllers are known
/// as such.
const fn period(seed: u64) -> u32 {
    (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}
