//! The queue, compared with a list that is searched for every decision; and the turns that it expects.

use core::num::NonZeroU16;
use std::collections::BTreeMap;

use proptest::prelude::*;
use tidegate::Permit;
use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::law::{Adaptive, AnyLaw, Fixed};
use tidegate::queue::{Ahead, Gate as _, Joined, Node, Place, Step, Ticket, Turn};
use tidegate::{
    Call, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Reason, Reply, Span,
};

type Gate = Controller<AnyLaw>;
type Queue<const LIMITS: usize = 1> = tidegate::queue::Queue<Vec<Node<LIMITS>>, LIMITS>;

/// The number of calls that fit into the queue.
const ROOM: u32 = 12;
const TICK: Span = Span::from_nanos(1);

fn queue<const LIMITS: usize>() -> Queue<LIMITS> {
    Queue::new(Vec::new(), ROOM)
}

/// A gate that admits no call.
struct Closed;

impl<const LIMITS: usize> tidegate::queue::Gate<LIMITS> for Closed {
    type Permit = Permit<LIMITS>;

    fn poll(&mut self, _: Instant, _: &Call<LIMITS>) -> Decision<Permit<LIMITS>> {
        Decision::Full
    }

    fn refund(&mut self, _: Instant, _: Permit<LIMITS>) {}

    fn ready_at(&self, _: Instant, _: &Call<LIMITS>) -> Option<Instant> {
        None
    }

    fn due_behind(&self, now: Instant, _: &Call<LIMITS>, _: &[Ahead; LIMITS]) -> Instant {
        now + TICK
    }

    fn count_rejection(&mut self) {}

    fn is_failing(&self) -> bool {
        false
    }
}

/// Calls wait in a queue, whatever its gate.
fn fill<const LIMITS: usize>(queue: &mut Queue<LIMITS>, calls: usize, call: &Call<LIMITS>) {
    for _ in 0..calls {
        let place = queue.place(0);
        _ = queue.admit_or_join(Instant::ZERO, &mut Closed, call, place).unwrap();
    }
    queue.changed();
}

/// A call joins, and has to wait.
fn waits(joined: Result<Joined, Reason>) -> Ticket {
    let Ok(Joined::Waits(ticket)) = joined else { panic!("{joined:?}") };
    ticket
}

#[derive(Debug, PartialEq)]
enum Stage {
    Waits,
    Decided(Result<Permit, Reason>),
}

#[derive(Debug)]
struct Entry {
    number: usize,
    priority: u8,
    cost: u32,
    call: Call,
    stage: Stage,
}

/// The expected result of the queue.
enum Expected {
    Decide(usize, Result<Permit, Reason>),
    /// Any of these calls is rejected, in any order.
    Late(Vec<usize>, Reason),
    Sleep(Option<Instant>),
}

/// The specification: an unordered list. It is not polled before the queue's `Sleep` has ended.
#[derive(Default)]
struct List {
    entries: Vec<Entry>,
    /// The queue's latest result. `None` after an event.
    asleep: Option<Option<Instant>>,
    /// Whether the gate fails, as of the latest poll.
    is_failing: bool,
}

impl List {
    fn find(&mut self, number: usize) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.number == number)
    }

    fn remove(&mut self, number: usize) -> Option<Entry> {
        let index = self.entries.iter().position(|entry| entry.number == number)?;
        Some(self.entries.remove(index))
    }

    /// Whether there is room for a first attempt of this priority.
    fn has_room(&self, priority: u8) -> bool {
        let more = if priority > 0 { ROOM.div_ceil(8) } else { 0 };
        self.entries.len() < (ROOM + more) as usize
    }

    fn waiting(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.stage == Stage::Waits)
    }

    /// The first call by priority and arrival. But of the retries, only the one with the fewest attempts may
    /// be first; and while the gate fails, only if no other call waits.
    fn first(&self) -> Option<&Entry> {
        let [new, retry] = [false, true].map(|retry| {
            let order = |entry: &&Entry| (!entry.priority, entry.call.attempt(), entry.number);
            self.waiting().filter(|entry| (entry.call.attempt() > 0) == retry).min_by_key(order)
        });
        let yields = |entry: &Entry| self.is_failing && entry.call.attempt() > 0;
        let order = |entry: &&Entry| (yields(entry), !entry.priority, entry.number);
        new.into_iter().chain(retry).min_by_key(order)
    }

    fn ahead(&self, priority: u8) -> Ahead {
        let mut ahead = Ahead::default();
        for entry in self.waiting().filter(|entry| entry.priority >= priority) {
            ahead.calls += u32::from(entry.cost > 0);
            ahead.cost += u64::from(entry.cost);
        }
        ahead
    }

    /// The gate's decision on the first call; or when it is due, and when to look again.
    fn ask(
        now: Instant,
        gate: &mut Gate,
        call: &Call,
    ) -> Result<Result<Permit, Reason>, (Instant, Instant)> {
        match gate.poll(now, call) {
            Decision::Admit(permit) => Ok(Ok(permit)),
            Decision::Reject(reason) => Ok(Err(reason)),
            Decision::Wait(until) => Err((until, until)),
            Decision::Full => Err((
                gate.due_behind(now, call, &[Ahead::default()]),
                gate.ready_at(now, call).unwrap_or(Instant::MAX),
            )),
        }
    }

    fn next(&mut self, now: Instant, gate: &mut Gate) -> Expected {
        let (mut due, mut wake) = (now, Instant::MAX);
        self.is_failing = tidegate::queue::Gate::is_failing(gate);
        if let Some(first) = self.first() {
            match Self::ask(now, gate, &first.call) {
                Ok(decision) => return Expected::Decide(first.number, decision),
                Err(waits) => (due, wake) = waits,
            }
        }
        let late = self.waiting().filter(|entry| entry.call.not_after() < due);
        let late: Vec<_> = late.map(|entry| entry.number).collect();
        if !late.is_empty() {
            return Expected::Late(late, Reason::Late(due));
        }
        for entry in self.waiting() {
            wake = wake.min(entry.call.not_after() + TICK);
        }
        let wake = wake.max(now + TICK);
        Expected::Sleep((wake < Instant::MAX).then_some(wake))
    }
}

#[derive(Clone, Debug)]
enum Event {
    Join { priority: u8, cost: u32, deadline: Option<u64> },
    Cancel(usize),
    Pass(u64),
    Take(usize),
    Settle { call: usize, reply: u8, again: bool },
}

/// A call, counted from the latest.
fn call() -> impl Strategy<Value = usize> {
    0..40usize
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..9u8, 0..4u32, prop::option::of(0..3_000u64))
            .prop_map(|(priority, cost, deadline)| Event::Join { priority, cost, deadline }),
        1 => call().prop_map(Event::Cancel),
        3 => (0..800u64).prop_map(Event::Pass),
        3 => (call(), 0..5u8, any::<bool>())
            .prop_map(|(call, reply, again)| Event::Settle { call, reply, again }),
        5 => call().prop_map(Event::Take),
    ]
}

fn policy(law: u8, concurrency: u16) -> Policy {
    let five = Quota::per_second(5).unwrap().with_burst(4).unwrap();
    let short = Span::from_millis(300);
    let backoff = Backoff::new(Growth::Constant, Jitter::Full, short, short).unwrap();
    match law {
        0 => Policy::new(Fixed::new(five).into()),
        1 => Policy::named("adaptive").unwrap().attempts(NonZeroU16::new(4)),
        _ => Policy::named("aimd").unwrap().backoff(Some(backoff)),
    }
    .concurrency(NonZeroU16::new(concurrency).unwrap())
}

fn reply(kind: u8) -> Reply {
    match kind {
        0 | 1 => Outcome::Ok.into(),
        2 => Outcome::Throttled.into(),
        3 => Outcome::Abandoned.into(),
        _ => Outcome::Busy.with(Hint::retry_after(Span::from_millis(700))),
    }
}

/// A call that was admitted and taken, from the queue and from the list.
struct Sent {
    call: Call,
    permits: (Permit, Permit),
}

/// A queue and the list. Each has its own gate.
struct Play {
    now: Instant,
    gates: (Gate, Gate),
    queue: Queue,
    list: List,
    /// Of each call: its ticket, its place, its priority and its cost.
    calls: Vec<(Ticket, Place, u8, u32)>,
    sent: BTreeMap<usize, Sent>,
    /// Retries in backoff.
    later: Vec<(usize, Call)>,
    /// The calls that were rejected without polling the gate.
    rejected: u32,
}

/// A ticket of no call.
fn no_ticket() -> Ticket {
    Ticket::from_raw(u64::MAX)
}

impl Play {
    /// What is expected of an attempt: its permit, or `None` if it waits.
    fn expected(&mut self, number: usize, call: Call) -> Result<Option<Permit>, Reason> {
        let (.., priority, cost) = self.calls[number];
        let Self { now, gates, list, .. } = self;
        let (now, gate) = (*now, &mut gates.1);
        let mut asleep = None;
        if list.waiting().next().is_none() {
            let (due, look_again) = match List::ask(now, gate, &call) {
                Ok(decision) => return decision.map(Some),
                Err(waits) => waits,
            };
            if due > call.not_after() {
                self.rejected += 1;
                return Err(Reason::Late(due));
            }
            let wake = look_again.min(call.not_after() + TICK);
            asleep = Some((wake < Instant::MAX).then_some(wake));
        } else if call.attempt() == 0 && call.not_after() < Instant::MAX {
            let ahead = list.ahead(priority);
            let turn = gate.due_behind(now, &call, &[ahead]);
            if turn > call.not_after() && ahead.calls > 0 {
                self.rejected += 1;
                return Err(Reason::Late(turn));
            }
        }
        if call.attempt() == 0 && !list.has_room(priority) {
            self.rejected += 1;
            return Err(Reason::QueueFull);
        }
        list.entries.push(Entry { number, priority, cost, call, stage: Stage::Waits });
        // Joining behind other first attempts without a deadline is not an event.
        let new = list.waiting().filter(|entry| entry.call.attempt() == 0);
        let first = new.min_by_key(|entry| (!entry.priority, entry.number));
        let is_behind =
            first.is_some_and(|first| (!first.priority, first.number) < (!priority, number));
        if asleep.is_some() || !is_behind || call.not_after() < Instant::MAX {
            list.asleep = asleep;
        }
        Ok(None)
    }

    fn join(&mut self, number: usize, call: Call) -> Result<(), TestCaseError> {
        let (ticket, place, ..) = self.calls[number];
        let joined = self.queue.admit_or_join(self.now, &mut self.gates.0, &call, place);
        match (joined, self.expected(number, call)) {
            (Ok(Joined::Admitted(one)), Ok(Some(two))) => {
                self.calls[number].0 = no_ticket();
                self.sent.insert(number, Sent { call, permits: (one, two) });
            }
            (Ok(Joined::Waits(new)), Ok(None)) => {
                let raw = (number as u64 + 1) << 32 | u64::try_from(new.slot()).unwrap();
                prop_assert_eq!(Ticket::from_raw(raw), new);
                self.calls[number].0 = new;
            }
            (Err(one), Err(two)) => prop_assert_eq!(one, two),
            other => panic!("{other:?} {ticket:?}"),
        }
        self.rest()
    }

    fn pass(&mut self, millis: u64) -> Result<(), TestCaseError> {
        self.now += Span::from_millis(millis);
        let now = self.now;
        for (number, call) in
            self.later.extract_if(.., |(_, call)| call.not_before() <= now).collect::<Vec<_>>()
        {
            self.join(number, call)?;
        }
        Ok(())
    }

    fn cancel(&mut self, number: usize) {
        self.queue.cancel(self.now, &mut self.gates.0, self.calls[number].0);
        if let Some(entry) = self.list.remove(number) {
            if let Stage::Decided(Ok(permit)) = entry.stage {
                self.gates.1.refund(self.now, permit);
            }
            self.list.asleep = None;
        }
    }

    fn take(&mut self, number: usize) -> Result<(), TestCaseError> {
        let turn = self.queue.take(self.calls[number].0);
        match self.list.find(number) {
            None => prop_assert_eq!(turn, Turn::Unknown),
            Some(Entry { stage: Stage::Waits, .. }) => prop_assert_eq!(turn, Turn::Waiting),
            Some(_) => {
                let entry = self.list.remove(number).unwrap();
                match (turn, entry.stage) {
                    (Turn::Admitted(one), Stage::Decided(Ok(two))) => {
                        let permits = (one, two);
                        self.sent.insert(number, Sent { call: entry.call, permits });
                    }
                    (Turn::Rejected(one), Stage::Decided(Err(two))) => prop_assert_eq!(one, two),
                    other => panic!("{other:?}"),
                }
            }
        }
        Ok(())
    }

    fn settle(&mut self, number: usize, kind: u8, again: bool) -> Result<(), TestCaseError> {
        let Some(Sent { call, permits }) = self.sent.remove(&number) else { return Ok(()) };
        let (now, reply, (one, two)) = (self.now, reply(kind), &mut self.gates);
        one.settle(now, permits.0, reply);
        two.settle(now, permits.1, reply);
        self.queue.changed();
        self.list.asleep = None;
        if again {
            let next = one.retry(now, &call, reply);
            prop_assert_eq!(next, two.retry(now, &call, reply));
            self.later.extend(next.map(|next| (number, next)));
        }
        Ok(())
    }

    /// Polls until the queue sleeps.
    fn rest(&mut self) -> Result<(), TestCaseError> {
        let Self { now, gates: (one, two), queue, list, calls, .. } = self;
        let now = *now;
        for _ in 0..200 {
            let early = list.asleep.is_some_and(|until| until.is_none_or(|until| now < until));
            let step = queue.poll(now, one);
            // A poll before its time changes nothing.
            if early {
                prop_assert_eq!(step, Step::Sleep(list.asleep.unwrap()));
                break;
            }
            let woken = match step {
                Step::Wake(ticket) => calls.iter().rposition(|known| known.0 == ticket),
                Step::Sleep(_) => None,
            };
            match (woken, list.next(now, two)) {
                (None, Expected::Sleep(until)) => {
                    prop_assert_eq!(step, Step::Sleep(until));
                    list.asleep = Some(until);
                    break;
                }
                (Some(number), Expected::Decide(expected, decision)) => {
                    prop_assert_eq!(number, expected);
                    list.find(number).unwrap().stage = Stage::Decided(decision);
                }
                (Some(number), Expected::Late(late, reason)) => {
                    self.rejected += 1;
                    prop_assert!(late.contains(&number), "{number} {late:?}");
                    list.find(number).unwrap().stage = Stage::Decided(Err(reason));
                }
                _ => panic!("{step:?}"),
            }
        }
        prop_assert!(list.asleep.is_some(), "the queue does not come to rest");
        let mut stats = *two.stats();
        stats.rejected += self.rejected;
        prop_assert_eq!(*one.stats(), stats);
        prop_assert_eq!(queue.waiting(), list.waiting().count());
        for priority in 0..9 {
            let call = Call::new().cost(u32::from(priority) % 3);
            let turn = two.due_behind(now, &call, &[list.ahead(priority.min(7))]);
            prop_assert_eq!(queue.turn(now, one, &call, priority), turn);
        }
        let first = list.first().map(|entry| calls[entry.number].0.slot());
        prop_assert_eq!(queue.first(list.is_failing), first);
        Ok(())
    }
}

/// Applies the same events to a queue and to the list.
fn play((law, concurrency, events): (u8, u16, Vec<Event>)) -> Result<(), TestCaseError> {
    let now = Instant::from_nanos(1_000_000_000);
    let policy = policy(law, concurrency);
    let gates = (Gate::new(policy, 7, now), Gate::new(policy, 7, now));
    let (queue, list) = (queue(), List::default());
    let (calls, sent, later) = (vec![], BTreeMap::new(), vec![]);
    let mut play = Play { now, gates, queue, list, calls, sent, later, rejected: 0 };
    for event in events {
        let nth = |back: usize| play.calls.len().checked_sub(back + 1);
        match event {
            Event::Join { priority, cost, deadline } => {
                let mut call = Call::new().cost(cost);
                if let Some(millis) = deadline {
                    call = call.deadline(play.now + Span::from_millis(millis));
                }
                let place = play.queue.place(priority);
                play.calls.push((no_ticket(), place, priority.min(7), cost));
                play.join(play.calls.len() - 1, call)?;
            }
            Event::Pass(millis) => play.pass(millis)?,
            Event::Cancel(back) => _ = nth(back).map(|number| play.cancel(number)),
            Event::Take(back) => nth(back).map_or(Ok(()), |number| play.take(number))?,
            Event::Settle { call, reply, again } => {
                nth(call).map_or(Ok(()), |number| play.settle(number, reply, again))?;
            }
        }
        play.rest()?;
    }
    Ok(())
}

fn case() -> impl Strategy<Value = (u8, u16, Vec<Event>)> {
    let events = prop::collection::vec(event(), 1..200);
    (0..3u8, 1..9u16, events)
}

/// No call that would have been in time is rejected because of its place.
fn expects_no_turn_later_than_it_comes(
    (adaptive, burst, concurrency): (bool, u32, u16),
    before: &[(u8, u32)],
    idle: u64,
    (priority, cost): (u8, u32),
) -> Result<(), TestCaseError> {
    let (mut now, mut queue) = (Instant::from_nanos(1_000_000_000), queue());
    let quota = Quota::per_second(5).unwrap().with_burst(burst.max(4)).unwrap();
    let law = if adaptive { Adaptive::with_quota(quota).into() } else { Fixed::new(quota).into() };
    let policy = Policy::new(law).concurrency(NonZeroU16::new(concurrency).unwrap());
    let (mut gate, mut in_flight) = (Gate::new(policy, 7, now), vec![]);
    for (priority, cost) in before {
        let place = queue.place(*priority);
        let joined = queue.admit_or_join(now, &mut gate, &Call::new().cost(*cost), place);
        if let Joined::Admitted(permit) = joined.unwrap() {
            in_flight.push(permit);
        }
        while let Step::Wake(ticket) = queue.poll(now, &mut gate) {
            let Turn::Admitted(permit) = queue.take(ticket) else { panic!() };
            in_flight.push(permit);
        }
    }
    now += Span::from_millis(idle);
    let (call, place) = (Call::new().cost(cost), queue.place(priority));
    let joined = queue.admit_or_join(now, &mut gate, &call.deadline(now), place);
    let Err(Reason::Late(turn)) = joined else { return Ok(()) };
    let call = waits(queue.admit_or_join(now, &mut gate, &call, place));
    let admitted = loop {
        match queue.poll(now, &mut gate) {
            Step::Wake(ticket) if ticket == call => break now,
            // Admitted calls complete at once, so only the rate delays calls.
            Step::Wake(ticket) => {
                let Turn::Admitted(permit) = queue.take(ticket) else { panic!() };
                gate.settle(now, permit, Outcome::Ok);
                queue.changed();
            }
            Step::Sleep(Some(until)) => now = until,
            Step::Sleep(None) => {
                gate.release(in_flight.pop().unwrap());
                queue.changed();
            }
        }
    };
    prop_assert!(turn <= admitted, "{turn:?} {admitted:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// A hundred thousand events.
    #[test]
    fn calls_are_decided_as_by_a_list(case in case()) {
        play(case)?;
    }

    #[test]
    fn an_expected_turn_is_never_later_than_the_actual_one(
        gate in (any::<bool>(), 1..6u32, 1..9u16),
        before in prop::collection::vec((0..9u8, 1..5u32), 0..ROOM as usize - 1),
        idle in 0..2_000u64, call in (0..8u8, 1..5u32),
    ) {
        expects_no_turn_later_than_it_comes(gate, &before, idle, call)?;
    }
}

#[test]
fn a_call_that_was_here_before_finds_room_in_a_full_queue_and_keeps_its_turn() {
    let (now, call) = (Instant::ZERO, Call::new());
    let policy = Policy::named("none").unwrap();
    let mut gate: Controller = Controller::new(policy, 7, now);
    let mut queue: Queue = Queue::new(Vec::new(), 1);
    let (first, second) = (queue.place(0), queue.place(0));
    let newer = waits(queue.admit_or_join(now, &mut Closed, &call, second));
    assert_eq!(queue.admit_or_join(now, &mut Closed, &call, first), Err(Reason::QueueFull));
    let older = waits(queue.rejoin(now, &mut Closed, &call, first));
    for ticket in [older, newer] {
        assert_eq!(queue.poll(now, &mut gate), Step::Wake(ticket));
    }
    assert!(matches!(queue.rejoin(now, &mut gate, &call, first), Ok(Joined::Admitted(_))));
}

#[test]
fn turns_are_exact_even_just_after_a_call_was_sent() {
    let now = Instant::from_nanos(1 << 60);
    let law = Fixed::new(Quota::per_second(10).unwrap());
    let mut gate = Gate::new(Policy::new(law.into()), 7, now);
    let Decision::Admit(_) = gate.poll(now, &Call::new()) else { panic!() };
    let mut queue = queue();
    for millis in [100, 200, 300] {
        let turn = now + Span::from_millis(millis);
        assert_eq!(queue.turn(now, &gate, &Call::new(), 0), turn);
        let place = queue.place(0);
        _ = waits(queue.admit_or_join(now, &mut gate, &Call::new(), place));
    }
}

#[test]
fn a_call_that_costs_nothing_or_has_no_rate_before_it_does_not_wait_for_the_calls_ahead() {
    let now = Instant::from_nanos(1 << 60);
    let turn = |gate: &Gate, now, cost| {
        let mut queue = queue();
        fill(&mut queue, 3, &Call::new());
        queue.turn(now, gate, &Call::new().cost(cost), 0) - now
    };
    let law = Fixed::new(Quota::per_second(10).unwrap());
    let gate = Gate::new(Policy::new(law.into()), 7, now);
    assert_eq!(turn(&gate, now, 0), Span::ZERO);
    assert_eq!(turn(&gate, now, 1), Span::from_millis(300));
    // A rate without a quota: the interval counts only if the first call waits for it.
    let [adaptive, autosleeper] =
        ["adaptive", "autosleeper"].map(|law| Policy::named(law).unwrap());
    let quota = |count| Adaptive::with_quota(Quota::per_second(count).unwrap()).into();
    // The last call then waits for a quota.
    let quoted = adaptive.limits([quota(100)]);
    for (policy, millis) in [(adaptive, 0), (quoted, 30), (autosleeper, 0)] {
        let mut gate = Gate::new(policy, 7, now);
        let Decision::Admit(permit) = gate.poll(now, &Call::new()) else { panic!() };
        let rejected = now + Span::from_millis(100);
        gate.settle(rejected, permit, Outcome::Throttled.with::<1>(Hint::NONE.and_limit(u64::MAX)));
        let interval = gate.intervals(rejected).next().flatten().unwrap();
        let due = gate.next_at(rejected).unwrap();
        let expected = due - rejected + interval * 3;
        assert_eq!(turn(&gate, rejected, 1), expected, "{policy:?}");
        assert_eq!(turn(&gate, due, 1), Span::from_millis(millis), "{policy:?}");
    }
}

#[test]
fn the_calls_ahead_count_at_their_cost_if_the_law_does_so() {
    // Calls that cost eight times as much as usual wait before one that is usual. Only `adaptive` counts costs.
    for name in ["adaptive", "autosleeper"] {
        let mut now = Instant::from_nanos(1 << 60);
        let mut gate = Gate::new(Policy::named(name).unwrap(), 7, now);
        let Decision::Admit(permit) = gate.poll(now, &Call::new()) else { panic!() };
        now += Span::from_millis(100);
        gate.settle(now, permit, Outcome::Throttled.with::<1>(Hint::NONE.and_limit(u64::MAX)));
        let mut queue = queue();
        fill(&mut queue, 3, &Call::new().cost(8));
        let told = (queue.turn(now, &gate, &Call::new(), 0) - now).as_nanos();
        let (place, began) = (queue.place(0), now);
        let last = waits(queue.admit_or_join(now, &mut gate, &Call::new(), place));
        while queue.waiting() > 0 {
            match queue.poll(now, &mut gate) {
                Step::Wake(ticket) if ticket != last => {
                    let Turn::Admitted(permit) = queue.take(ticket) else { panic!() };
                    // This law delays the next call when one settles.
                    if name == "autosleeper" {
                        gate.settle(now, permit, Outcome::Ok);
                    }
                }
                Step::Wake(_) => {}
                Step::Sleep(until) => now = until.unwrap(),
            }
        }
        let waited = (now - began).as_nanos();
        assert!(waited > 0, "{name}");
        assert!((waited / 4 * 3..=waited / 4 * 5).contains(&told), "{name}: {told} of {waited}");
    }
}

#[test]
fn the_calls_ahead_count_at_the_usual_cost_if_theirs_is_not_known() {
    let now = Instant::from_nanos(1 << 60);
    let quota = |burst| Quota::per_second(100).unwrap().with_burst(burst).unwrap();
    let laws = [quota(100), quota(200)].map(Fixed::new);
    let mut gate: Controller<Fixed, 2> = Controller::new(Policy::of(laws), 7, now);
    let Decision::Admit(permit) = gate.poll(now, &Call::new()) else { panic!() };
    gate.settle(now, permit, Outcome::Ok.using([1, 100]));
    let mut queue = queue();
    fill(&mut queue, 3, &Call::new());
    // Five calls of 100, and 200 at once.
    let turn = queue.turn(now, &gate, &Call::new(), 0) - now;
    assert!(turn > Span::from_millis(2_900), "{turn:?}");
}

#[test]
fn only_a_first_attempt_is_rejected_for_the_calls_ahead_of_it() {
    let now = Instant::from_nanos(1 << 60);
    let law = Fixed::new(Quota::per_second(10).unwrap());
    let mut gate = Gate::new(Policy::new(law.into()).backoff(None), 7, now);
    let mut queue = queue();
    fill(&mut queue, 5, &Call::new());
    let first = Call::new().deadline(now + Span::from_millis(250));
    let place = queue.place(0);
    assert!(matches!(queue.admit_or_join(now, &mut gate, &first, place), Err(Reason::Late(_))));
    let retry = gate.retry(now, &first, Outcome::Failed).unwrap();
    assert!(queue.admit_or_join(now, &mut gate, &retry, place).is_ok());
}

#[test]
fn a_gate_that_defines_only_the_required_methods_knows_when_a_first_call_is_due() {
    let now = Instant::from_nanos(1 << 60);
    let due = tidegate::queue::Gate::<1>::due_first(&Closed, now, &Call::new());
    assert_eq!(due, now + TICK);
}
