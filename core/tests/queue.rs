//! The queue against a list that is searched for every answer, and the turns that it expects.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that overflows or panics fails, which is right"
)]

use core::num::NonZeroU16;
use std::collections::BTreeMap;

use proptest::prelude::*;
use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::gate::{Permit, WindowPolicy};
use tidegate::law::{AnyLaw, Fixed};
use tidegate::queue::{Ahead, Gate as _, Growing, Queue, Settled, Slot, Step, Ticket, Turn};
use tidegate::{
    Ask, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Reason, Reply, Span,
};

type Gate = Controller<AnyLaw>;
type Calls = Queue<Growing<Vec<Slot>>>;

/// So many calls fit into the queue.
const ROOM: usize = 30;
const LEASE: Span = Span::from_secs(4);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Waits,
    Admitted { taken: bool, until: Instant },
    Rejected { until: Instant },
    Lapsed,
}

#[derive(Clone, Debug)]
struct Entry {
    number: usize,
    priority: u8,
    cost: u32,
    ask: Ask,
    stage: Stage,
    /// Whether its backoff is over.
    ready: bool,
}

/// The specification: a list in no order. It is not asked before the queue's `Sleep` is over.
struct List {
    entries: Vec<Entry>,
    /// Of those that were admitted, by their numbers.
    permits: BTreeMap<usize, Permit>,
    patience: Span,
    /// What the queue said last; `None` after an event.
    asleep: Option<Option<Instant>>,
}

impl List {
    fn order(entry: &Entry) -> (u8, usize) {
        (!entry.priority, entry.number)
    }

    fn first(&self) -> Option<usize> {
        (0..self.entries.len())
            .filter(|i| self.entries[*i].stage == Stage::Waits && self.entries[*i].ready)
            .min_by_key(|i| Self::order(&self.entries[*i]))
    }

    fn find(&self, number: usize) -> Option<usize> {
        self.entries.iter().position(|entry| entry.number == number)
    }

    fn ahead(&self, priority: u8) -> Ahead {
        let mut ahead = Ahead::default();
        let waits = |entry: &&Entry| {
            entry.stage == Stage::Waits && entry.ready && entry.priority >= priority
        };
        for entry in self.entries.iter().filter(waits).filter(|entry| entry.cost > 0) {
            (ahead.calls, ahead.cost) = (ahead.calls + 1, ahead.cost + u64::from(entry.cost));
        }
        ahead
    }

    fn pass(&mut self, now: Instant, gate: &mut Gate) {
        let mut changes: Vec<_> = (0..self.entries.len())
            .filter_map(|i| {
                let entry = &self.entries[i];
                let at = match entry.stage {
                    Stage::Waits if !entry.ready => entry.ask.not_before(),
                    Stage::Admitted { until, .. } => until,
                    Stage::Rejected { until } if self.patience < Span::MAX => until,
                    _ => return None,
                };
                (at <= now).then_some((at, Self::order(entry), entry.number))
            })
            .collect();
        changes.sort_unstable();
        for (.., number) in changes {
            self.asleep = None;
            let i = self.find(number).unwrap();
            match self.entries[i].stage {
                Stage::Waits => self.entries[i].ready = true,
                Stage::Admitted { taken: true, .. } => {
                    self.entries[i].stage = Stage::Lapsed;
                }
                Stage::Admitted { .. } => {
                    gate.refund(now, self.permits.remove(&number).unwrap());
                    self.entries.remove(i);
                }
                _ => drop(self.entries.remove(i)),
            }
        }
    }

    fn poll(&mut self, now: Instant, gate: &mut Gate) -> Option<(usize, Result<(), Reason>)> {
        self.pass(now, gate);
        let rejected = Stage::Rejected { until: now.saturating_add(self.patience) };
        let mut reach = now;
        if let Some(i) = self.first() {
            let number = self.entries[i].number;
            match gate.poll(now, &self.entries[i].ask) {
                Decision::Go(permit) => {
                    let until = now.saturating_add(LEASE.min(self.patience));
                    self.permits.insert(number, permit);
                    self.entries[i].stage = Stage::Admitted { taken: false, until };
                    return Some((number, Ok(())));
                }
                Decision::Refuse(reason) => {
                    self.entries[i].stage = rejected;
                    return Some((number, Err(reason)));
                }
                Decision::Wait(until) => reach = until,
                Decision::Full => {
                    reach = gate.due_behind(now, &self.entries[i].ask, &[Ahead::default()]);
                }
            }
        }
        let late = self
            .entries
            .iter_mut()
            .filter(|entry| {
                entry.stage == Stage::Waits && entry.ready && entry.ask.not_after() < reach
            })
            .min_by_key(|entry| (entry.ask.not_after(), Self::order(entry)))?;
        late.stage = rejected;
        Some((late.number, Err(Reason::Late(reach))))
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

/// Which call: counted from the latest.
fn call() -> impl Strategy<Value = usize> {
    0..40usize
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..9u8, 0..4u32, prop::option::of(0..3_000u64))
            .prop_map(|(priority, cost, deadline)| Event::Join { priority, cost, deadline }),
        1 => call().prop_map(Event::Cancel),
        3 => (0..800u64).prop_map(Event::Pass),
        3 => (call(), 0..4u8, any::<bool>())
            .prop_map(|(call, reply, again)| Event::Settle { call, reply, again }),
        2 => call().prop_map(Event::Take),
    ]
}

fn policy(law: u8, window: u16) -> Policy {
    let five = Quota::per_second(5).unwrap().with_burst(4).unwrap();
    let short = Span::from_millis(300);
    let backoff = Backoff::new(Growth::Constant, Jitter::Full, short, short).unwrap();
    match law {
        0 => Policy::new(Fixed::new(five).into()),
        1 => Policy::named("adaptive").unwrap().attempts(NonZeroU16::new(4)),
        _ => Policy::named("aimd").unwrap().backoff(Some(backoff)),
    }
    .window(WindowPolicy::new(window, LEASE).unwrap())
}

fn reply(kind: u8) -> Reply {
    match kind {
        0 | 1 => Outcome::Ok.into(),
        2 => Outcome::Throttled.into(),
        _ => Outcome::Busy.with(Hint::retry_after(Span::from_millis(700))),
    }
}

/// Plays the same events on a queue and on the sorted list. Each has its own gate.
fn play(
    law: u8,
    window: u16,
    patience: Option<u64>,
    events: Vec<Event>,
) -> Result<(), TestCaseError> {
    let mut now = Instant::from_nanos(1_000_000_000);
    let policy = policy(law, window);
    let (mut one, mut two) = (Gate::new(policy, 7, now), Gate::new(policy, 7, now));
    let mut queue: Calls = Queue::new(Growing::new(Vec::new(), ROOM));
    let patience = patience.map_or(Span::MAX, Span::from_millis);
    queue = queue.take_within(patience);
    let mut list = List { entries: vec![], permits: BTreeMap::new(), patience, asleep: None };
    let mut tickets: Vec<Ticket> = vec![];
    let mut refused = 0;
    let nth = |tickets: &Vec<Ticket>, back: usize| tickets.len().checked_sub(back + 1);
    for event in events {
        match event {
            Event::Join { priority, cost, deadline } => {
                let mut ask = Ask::new().cost(cost);
                if let Some(millis) = deadline {
                    ask = ask.deadline(now.saturating_add(Span::from_millis(millis)));
                }
                let priority_used = priority.min(7);
                let ahead = list.ahead(priority_used);
                let turn = match ahead.calls > 0 && deadline.is_some() {
                    true => two.due_behind(now, &ask, &[ahead]),
                    false => now,
                };
                let joined = queue.join(now, &mut one, ask, priority);
                if turn > ask.not_after() {
                    refused += 1;
                    prop_assert_eq!(joined, Err(Reason::Late(turn)));
                    continue;
                }
                let held = |list: &List| {
                    list.entries.iter().filter(|e| !matches!(e.stage, Stage::Lapsed)).count()
                };
                if held(&list) == ROOM {
                    list.pass(now, &mut two);
                }
                if held(&list) == ROOM {
                    prop_assert_eq!(joined, Err(Reason::QueueFull));
                    continue;
                }
                let ticket = joined.unwrap();
                // Whose slot is needed is forgotten.
                list.entries.retain(|entry| {
                    !matches!(entry.stage, Stage::Lapsed)
                        || tickets[entry.number].slot() != ticket.slot()
                });
                let number = tickets.len();
                let (priority, stage) = (priority_used, Stage::Waits);
                let entry = Entry { number, priority, cost, ask, stage, ready: true };
                list.entries.push(entry);
                tickets.push(ticket);
                // Behind others and without a deadline it is no event.
                let first = list.first().map(|i| list.entries[i].number) == Some(number);
                if first || deadline.is_some() {
                    list.asleep = None;
                }
            }
            Event::Pass(millis) => now = now.saturating_add(Span::from_millis(millis)),
            Event::Cancel(back) => {
                let Some(number) = nth(&tickets, back) else { continue };
                queue.cancel(now, &mut one, tickets[number]);
                let Some(i) = list.find(number) else { continue };
                match list.entries[i].stage {
                    Stage::Waits if list.first() == Some(i) => list.asleep = None,
                    Stage::Waits | Stage::Rejected { .. } => {}
                    Stage::Admitted { taken: false, .. } => {
                        two.refund(now, list.permits.remove(&number).unwrap());
                        list.asleep = None;
                    }
                    Stage::Admitted { .. } | Stage::Lapsed => {
                        two.settle(now, list.permits.remove(&number).unwrap(), Outcome::Abandoned);
                        list.asleep = None;
                    }
                }
                list.entries.remove(i);
            }
            Event::Take(back) => {
                let Some(number) = nth(&tickets, back) else { continue };
                let turn = queue.take(now, &mut one, tickets[number]);
                let entry = list.find(number).map(|i| &mut list.entries[i]);
                let expected = match entry.as_ref().map(|entry| entry.stage) {
                    None | Some(Stage::Lapsed) => matches!(turn, Turn::Unknown),
                    Some(Stage::Waits) => turn == Turn::Waiting,
                    Some(Stage::Admitted { .. }) => turn == Turn::Admitted,
                    Some(Stage::Rejected { .. }) => matches!(turn, Turn::Rejected(_)),
                };
                prop_assert!(expected, "{turn:?} {entry:?}");
                if let Some(entry) = entry {
                    if let Stage::Admitted { taken: false, .. } = entry.stage {
                        let until = now.saturating_add(LEASE);
                        entry.stage = Stage::Admitted { taken: true, until };
                    }
                    if let Stage::Rejected { .. } = entry.stage {
                        list.entries.retain(|entry| entry.number != number);
                    }
                }
            }
            Event::Settle { call, reply: kind, again } => {
                let Some(number) = nth(&tickets, call) else { continue };
                let (ticket, reply) = (tickets[number], reply(kind));
                let settled = match again {
                    true => queue.settle(now, &mut one, ticket, reply),
                    false => queue.finish(now, &mut one, ticket, reply),
                };
                let entry = list.find(number).map(|i| (i, list.entries[i].stage));
                let expected = match entry {
                    Some((i, Stage::Admitted { .. })) => {
                        two.settle(now, list.permits.remove(&number).unwrap(), reply);
                        let ask = list.entries[i].ask;
                        match again.then(|| two.retry(now, &ask, reply)).flatten() {
                            Some(next) => {
                                let ready = next.not_before() == Instant::ZERO;
                                let stage = Stage::Waits;
                                list.entries[i] =
                                    Entry { ask: next, ready, stage, ..list.entries[i].clone() };
                                Settled::Retry
                            }
                            None => {
                                list.entries.remove(i);
                                Settled::Done
                            }
                        }
                    }
                    Some((i, Stage::Lapsed)) => {
                        two.settle(now, list.permits.remove(&number).unwrap(), reply);
                        list.entries.remove(i);
                        Settled::Done
                    }
                    _ => Settled::Unknown,
                };
                prop_assert_eq!(settled, expected);
                if settled != Settled::Unknown {
                    list.asleep = None;
                }
            }
        }
        // A look before its time changes nothing.
        for _ in 0..200 {
            let early = list.asleep.is_some_and(|until| until.is_none_or(|until| now < until));
            let step = queue.poll(now, &mut one);
            if early {
                prop_assert_eq!(step, Step::Sleep(list.asleep.unwrap()));
                break;
            }
            let number = |ticket| tickets.iter().rposition(|known| *known == ticket).unwrap();
            let expected = list.poll(now, &mut two);
            match step {
                Step::Sleep(until) => {
                    prop_assert!(until.is_none_or(|until| until > now));
                    prop_assert_eq!(expected, None);
                    list.asleep = Some(until);
                    break;
                }
                Step::Admit(ticket) => prop_assert_eq!(expected, Some((number(ticket), Ok(())))),
                Step::Reject(ticket, reason) => {
                    prop_assert_eq!(expected, Some((number(ticket), Err(reason))));
                    refused += u32::from(matches!(reason, Reason::Late(_)));
                }
            }
        }
        prop_assert!(list.asleep.is_some(), "it does not come to rest");
        prop_assert_eq!(one.in_flight(), two.in_flight());
        prop_assert!(one.stats().refused >= refused);
        let waiting = list.entries.iter().filter(|entry| entry.stage == Stage::Waits).count();
        prop_assert_eq!(queue.waiting(), waiting);
    }
    Ok(())
}

fn case() -> impl Strategy<Value = (u8, u16, Option<u64>, Vec<Event>)> {
    let events = prop::collection::vec(event(), 1..200);
    (0..3u8, 1..9u16, prop::option::of(0..500u64), events)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A hundred thousand events.
    #[test]
    fn the_queue_answers_as_a_list_does((law, window, patience, events) in case()) {
        play(law, window, patience, events)?;
    }

    /// No call is rejected for its place that would have been in time.
    #[test]
    fn no_turn_is_expected_later_than_it_comes(
        burst in 1..6u32, window in 1..9u16,
        before in prop::collection::vec((0..9u8, 1..5u32), 0..20),
        idle in 0..2_000u64, priority in 0..8u8, cost in 1..5u32,
    ) {
        let mut now = Instant::from_nanos(1_000_000_000);
        let law = Fixed::new(Quota::per_second(5).unwrap().with_burst(burst.max(4)).unwrap());
        let policy = Policy::new(law.into()).window(WindowPolicy::new(window, LEASE).unwrap());
        let mut gate = Gate::new(policy, 7, now);
        let mut queue: Calls = Queue::new(Growing::new(Vec::new(), ROOM));
        for (priority, cost) in before {
            queue.join(now, &mut gate, Ask::new().cost(cost), priority).unwrap();
            while let Step::Admit(ticket) = queue.poll(now, &mut gate) {
                let _ = queue.take(now, &mut gate, ticket);
            }
        }
        now = now.saturating_add(Span::from_millis(idle));
        let hasty = Ask::new().cost(cost).deadline(now);
        let joined = queue.join(now, &mut gate, hasty, priority);
        let Err(Reason::Late(turn)) = joined else { return Ok(()) };
        let call = queue.join(now, &mut gate, Ask::new().cost(cost), priority).unwrap();
        let admitted = loop {
            match queue.poll(now, &mut gate) {
                // What is admitted comes back at once, so that nothing but the rate is in the way.
                Step::Admit(ticket) if ticket == call => break now,
                Step::Admit(ticket) => {
                    queue.finish(now, &mut gate, ticket, Outcome::Ok);
                }
                Step::Sleep(Some(until)) => now = until,
                other => panic!("{other:?}"),
            }
        };
        prop_assert!(turn <= admitted, "{turn:?} {admitted:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The same for a million events: `cargo test --release -p tidegate --test queue -- --ignored`.
    #[test]
    #[ignore = "a run by name"]
    fn the_queue_answers_as_a_list_does_a_million_times((law, window, patience, events) in case()) {
        play(law, window, patience, events)?;
    }
}
