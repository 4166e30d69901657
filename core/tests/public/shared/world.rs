//! Properties that hold when messages are lost, late, duplicated or reordered, when members crash,
//! and when clocks are wrong.

use std::collections::VecDeque;

use proptest::prelude::*;
use tidegate::law::Fixed;
use tidegate::shared::{GRANT_BYTES, Leases, Member, REQUEST_BYTES};
use tidegate::{Call, Controller, Decision, Hint, Outcome, Policy, Quota, Rng, Span};

use super::{Desk, leases, number, policy};
use crate::{MILLIS, at};

const STEP: u64 = 5 * MILLIS;
/// What a member without a known share may send.
const ALONE_PER_SECOND: u64 = 2;

/// The faults of the network, as probabilities out of 256.
#[derive(Clone, Copy, Debug)]
struct Way {
    lost: u32,
    doubled: u32,
    /// The longest time of a message.
    slowest: Span,
}

const CALM: Way = Way { lost: 0, doubled: 0, slowest: Span::from_millis(60) };

struct Message {
    arrives: u64,
    /// To the member with this number, or to the coordinator.
    to: Option<u64>,
    bytes: Vec<u8>,
}

struct Process {
    number: u64,
    member: Member<32>,
    /// How far its clock is ahead of the true time.
    skew: u64,
    waiting: VecDeque<Call>,
    /// The completion time of each call in flight.
    away: Vec<(u64, u64)>,
    /// The latest request that was answered.
    heard: u64,
}

/// A fleet, a coordinator, and the network between them, in true time.
struct World {
    now: u64,
    desk: Option<Desk>,
    desk_skew: u64,
    record: Option<(u64, Vec<u8>)>,
    policy: Policy<Fixed>,
    processes: Vec<Process>,
    messages: Vec<Message>,
    way: Way,
    chance: Rng,
    /// The due time of each lease in true time, in order of granting.
    granted: Vec<(u64, u64)>,
    /// Leases that have reached their members, each counted once.
    heard: u64,
    /// Calls that were sent with a lease.
    leased: u64,
    /// Calls that started.
    begun: u64,
}

impl World {
    fn new(members: usize, rate: u64, burst: u32, way: Way, seed: u64) -> Self {
        let mut chance = Rng::new(seed);
        let mut skew = || chance.between(Span::ZERO, Span::from_secs(7_200)).as_nanos();
        let desk_skew = skew();
        let skews: Vec<u64> = (0..members).map(|_| skew()).collect();
        let policy = policy(Quota::per_second(rate).unwrap().with_burst(burst).unwrap());
        let processes = skews.iter().zip(1..).map(|(skew, number)| Self::process(number, *skew));
        Self {
            now: 0,
            desk: Some(Desk::new(
                Leases::new(Controller::new(policy, seed, at(desk_skew))),
                at(desk_skew),
            )),
            desk_skew,
            record: None,
            policy,
            processes: processes.collect(),
            messages: Vec::new(),
            way,
            chance,
            granted: Vec::new(),
            heard: 0,
            leased: 0,
            begun: 0,
        }
    }

    fn process(number: u64, skew: u64) -> Process {
        let alone = Quota::per_second(ALONE_PER_SECOND).unwrap();
        Process {
            number,
            member: Member::new(number, alone, at(skew)),
            skew,
            waiting: VecDeque::new(),
            away: Vec::new(),
            heard: 0,
        }
    }

    fn luck(&mut self, of_256: u32) -> bool {
        self.chance.next_u32() >> 24 < of_256
    }

    fn send(&mut self, to: Option<u64>, bytes: &[u8]) {
        let copies = if self.luck(self.way.doubled) { 2 } else { 1 };
        for _ in 0..copies {
            if !self.luck(self.way.lost) {
                let takes = self.chance.between(Span::ZERO, self.way.slowest).as_nanos();
                self.messages.push(Message {
                    arrives: self.now + takes,
                    to,
                    bytes: bytes.to_vec(),
                });
            }
        }
    }

    fn calls(&mut self, process: usize, count: u64) {
        let waiting = &mut self.processes[process].waiting;
        waiting.extend((0..count).map(|_| Call::new()));
        self.begun += count;
    }

    /// Runs everything that happens within the next step.
    fn step(&mut self) {
        self.now += STEP;
        let now = self.now;
        let due: Vec<Message> = self.messages.extract_if(.., |m| m.arrives <= now).collect();
        for message in due {
            match message.to {
                None => self.answer(&message.bytes),
                Some(member) => {
                    // The member has crashed.
                    let mut processes = self.processes.iter_mut();
                    let Some(process) = processes.find(|process| process.number == member) else {
                        continue;
                    };
                    let sequence = number(&message.bytes[2..6]);
                    if sequence > process.heard {
                        process.heard = sequence;
                        self.heard += leases(&message.bytes).len() as u64;
                    }
                    process.member.hear(at(now + process.skew), &message.bytes).unwrap();
                }
            }
        }
        for index in 0..self.processes.len() {
            self.run(index);
        }
    }

    fn answer(&mut self, request: &[u8]) {
        let own = at(self.now + self.desk_skew);
        let Some(desk) = &mut self.desk else { return };
        let mut grant = [0; GRANT_BYTES];
        let length = desk.answer(own, request, &mut grant).unwrap();
        if length == 0 {
            return; // already answered
        }
        let member = number(&request[3..11]);
        for (permit, ahead) in leases(&grant[..length]) {
            assert!(ahead >= 0, "a lease in the past");
            self.granted.push((self.now.wrapping_add_signed(ahead), permit));
        }
        self.send(Some(member), &grant[..length]);
    }

    fn run(&mut self, index: usize) {
        let now = self.now;
        let process = &mut self.processes[index];
        let own = at(now + process.skew);
        for (_, permit) in process.away.extract_if(.., |(back, _)| *back <= now) {
            process.member.settle(own, permit, Outcome::Ok);
        }
        while let Some(call) = process.waiting.front() {
            let alone = process.member.is_alone();
            let in_hand = process.member.in_hand();
            match process.member.poll(own, call) {
                Decision::Admit(permit) => {
                    process.waiting.pop_front();
                    process.away.push((now + 40 * MILLIS, permit));
                    if !alone {
                        assert!(in_hand > process.member.in_hand());
                        self.leased += 1;
                    }
                }
                Decision::Wait(until) => {
                    assert!(until > own, "a zero wait");
                    break;
                }
                Decision::Full => break,
                Decision::Reject(reason) => panic!("{reason}"),
            }
        }
        let waiting = u16::try_from(process.waiting.len()).unwrap();
        let mut request = [0; REQUEST_BYTES];
        if let Some(length) = process.member.request(own, waiting, &mut request) {
            self.send(None, &request[..length]);
        }
    }

    /// A process ends with its leases and calls, and another replaces it.
    fn crash(&mut self, index: usize) {
        let number = self.processes[index].number + 1_000;
        self.processes[index] = Self::process(number, self.now);
    }

    fn write_down(&mut self) {
        if let Some(desk) = &mut self.desk {
            let mut record = vec![0; Desk::SNAPSHOT_BYTES];
            desk.snapshot(at(self.now + self.desk_skew), &mut record).unwrap();
            self.record = Some((self.now, record));
        }
    }

    /// The coordinator is restored from its record, with another clock. If the previous one has
    /// `ended`, there was no grant after that record. Otherwise the record may be of any age.
    fn restore(&mut self, ended: bool) {
        let Some((then, record)) = &self.record else { return };
        self.desk_skew = self.chance.between(Span::ZERO, Span::from_secs(7_200)).as_nanos();
        let away = Span::from_nanos(self.now - then);
        let own = at(self.now + self.desk_skew);
        let made = Desk::restore(self.policy, self.now, record, own, away, ended);
        self.desk = Some(made.unwrap());
    }

    fn waiting(&self) -> u64 {
        let waits = |process: &Process| process.waiting.len() as u64 + process.away.len() as u64;
        self.processes.iter().map(waits).sum()
    }

    /// Leases keep to the quota as those of one client would: no period has more than the burst and
    /// what the rate allows.
    fn check_leases(&mut self, rate: u64, burst: u32) {
        let mut due: Vec<u64> = self.granted.iter().map(|(due, _)| *due).collect();
        due.sort_unstable();
        // GCRA with exact numbers: the debt after each lease is at most the burst.
        let (mut level, mut before) = (0u128, 0u64);
        for at in due {
            let drained = u128::from(at - before) * u128::from(rate);
            level = level.saturating_sub(drained) + 1_000_000_000;
            before = at;
            // The calls of the rate in the 2 ms by which timers may be late, and each clock's
            // rounding.
            let most = u128::from(burst) * 1_000_000_000 + u128::from(rate) * 2_000_002;
            assert!(level <= most, "over the quota at {at}: {level} of {most}");
        }
    }
}

/// An event in a fleet.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A member gets this many calls to make.
    Calls(usize, u64),
    /// A member crashes, and another replaces it.
    Crash(usize),
    /// The coordinator takes a snapshot.
    Record,
    /// The coordinator stops, and is restored from its record after this many steps.
    Evict(u64),
    /// The same, with a snapshot just before it stops.
    Move(u64),
    /// The coordinator is unreachable for this many steps.
    Outage(u64),
}

fn event() -> impl Strategy<Value = (u64, Event)> {
    let happening = prop_oneof![
        12 => (0..4usize, 1..60u64).prop_map(|(who, count)| Event::Calls(who, count)),
        1 => (0..4usize).prop_map(Event::Crash),
        1 => Just(Event::Record),
        1 => (0..800u64).prop_map(Event::Evict),
        1 => (0..800u64).prop_map(Event::Move),
        1 => (0..3_000u64).prop_map(Event::Outage),
    ];
    (0..300u64, happening)
}

fn way() -> impl Strategy<Value = Way> {
    (0..160u32, 0..160u32, 0..3_000u64).prop_map(|(lost, doubled, slowest)| Way {
        lost,
        doubled,
        slowest: Span::from_millis(slowest),
    })
}

fn steps(world: &mut World, count: u64) {
    for _ in 0..count {
        world.step();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn after_any_events_no_call_is_lost_and_leases_keep_to_the_quota(
        members in 1..5usize, rate in 1..200u64, burst in 1..20u32, way in way(), seed: u64,
        events in prop::collection::vec(event(), 1..40),
    ) {
        let mut world = World::new(members, rate, burst, way, seed);
        world.write_down();
        for (after, event) in events {
            steps(&mut world, after);
            match event {
                Event::Calls(who, count) => world.calls(who % members, count),
                Event::Crash(who) => world.crash(who % members),
                Event::Record => world.write_down(),
                Event::Evict(after) => {
                    world.desk = None;
                    steps(&mut world, after);
                    world.restore(false);
                }
                Event::Move(after) => {
                    world.write_down();
                    world.desk = None;
                    steps(&mut world, after);
                    world.restore(true);
                }
                Event::Outage(lasts) => {
                    let desk = world.desk.take();
                    steps(&mut world, lasts);
                    world.desk = desk;
                }
            }
        }
        // Then all faults end. Every call is sent in time, regardless of what was lost before.
        world.way = CALM;
        let work = world.waiting();
        steps(&mut world, 12_000 + (work * 2 + 40) * 200 / rate);
        prop_assert_eq!(world.waiting(), 0);
        // A lease is used once, however often the message arrives.
        prop_assert!(world.leased <= world.heard);
        world.check_leases(rate, burst);
    }

    #[test]
    fn without_faults_every_lease_settles_once(
        members in 1..5usize, rate in 2..200u64, seed: u64,
        calls in prop::collection::vec((0..4usize, 1..40u64, 0..400u64), 1..20),
    ) {
        let mut world = World::new(members, rate, 1, CALM, seed);
        for (who, count, after) in calls {
            world.calls(who % members, count);
            steps(&mut world, after);
        }
        let work = world.waiting();
        steps(&mut world, 4_000 + work * 400 / rate);
        prop_assert_eq!(world.waiting(), 0);
        let gate = world.desk.as_ref().unwrap().source().controller();
        let stats = gate.stats();
        prop_assert_eq!((gate.in_flight(), stats.late), (0, 0));
        // No member had to work without its coordinator, so each call had a lease.
        prop_assert_eq!(u64::from(stats.ok), world.begun);
        prop_assert_eq!(u64::from(stats.admitted), u64::from(stats.ok) + u64::from(stats.abandoned));
        prop_assert_eq!(world.leased, world.begun);
    }
}

#[test]
fn the_messages_have_the_documented_layout() {
    let (now, later) = (at(5_000_000_000), at(5_250_000_000));
    let mut member: Member = Member::new(0x0102_0304_0506_0708, Quota::per_second(1).unwrap(), now);
    let mut desk = Desk::new(
        Leases::new(Controller::new(policy(Quota::per_second(50).unwrap()), 7, at(0))),
        at(0),
    );
    assert_eq!(member.poll(now, &Call::new()), Decision::Full);
    let (mut request, mut grant) = ([0; REQUEST_BYTES], [0; GRANT_BYTES]);
    let length = member.request(now, 2, &mut request).unwrap();
    assert_eq!(length, 24);
    // Version, kind, not leaving; the number; the first request, two calls, not alone, no report.
    assert_eq!(request[..11], [1, 1, 0, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(request[11..20], [1, 0, 0, 0, 2, 0, 0, 0, 0]);
    let length = desk.answer(at(0), &request[..length], &mut grant).unwrap();
    assert_eq!(length, 45 + 2 * 16);
    assert_eq!(grant[..6], [1, 2, 1, 0, 0, 0]);
    let spans = [6, 14, 22, 32].map(|from| number(&grant[from..from + 8]));
    assert_eq!(spans, [500 * MILLIS, 500 * MILLIS, 20 * MILLIS, 0]);
    assert_eq!((number(&grant[30..32]), grant[40]), (1, 2));
    let due: Vec<i64> = leases(&grant[..length]).iter().map(|(_, due)| *due).collect();
    assert_eq!(due, [0, 20 * MILLIS as i64]);
    // Then the result of the first: throttled after 200 ms, with a hint, and reported 50 ms later.
    member.hear(now, &grant[..length]).unwrap();
    let Decision::Admit(permit) = member.poll(now, &Call::new()) else { panic!() };
    let hint = Hint::remaining(3).and_reset(Span::from_secs(1));
    member.settle(at(5_200_000_000), permit, Outcome::Throttled.with(hint));
    let length = member.request(later, 0, &mut request).unwrap();
    assert_eq!((length, request[19]), (24 + 18 + 16, 1));
    assert_eq!(number(&request[28..36]).cast_signed(), -50 * MILLIS as i64);
    assert_eq!(request[36..38], [128 + 1, 2 + 4]);
    assert_eq!([38, 46].map(|from| number(&request[from..from + 8])), [3, 1_000 * MILLIS]);
}
