//! Lists that grow as they are used: the same decisions as with lists of their full size.

use tidegate::law::Fixed;
use tidegate::shared::{
    Coordinator, CountedMember, GRANT_BYTES, Inline, Leases, Member, REQUEST_BYTES, Storage,
};
use tidegate::{Call, Controller, Decision, Outcome, Rng, Span};

use super::policy;
use super::rules::{BEGIN, per_second};
use crate::{MILLIS, at};

struct Heap;

impl Storage for Heap {
    type List<T, const MOST: usize> = Vec<T>;
}

/// There is memory for three values of each list.
struct Scarce;

impl Storage for Scarce {
    type List<T, const MOST: usize> = <Inline as Storage>::List<T, 3>;
}

struct World<S: Storage> {
    desk: Coordinator<Leases<Fixed, 1_024, S>, 8, S>,
    members: Vec<Member<32, S>>,
    /// The calls in flight of each member.
    calls: Vec<Vec<u64>>,
    /// All decisions and messages.
    seen: String,
}

impl<S: Storage> World<S> {
    /// Calls of twelve members in bursts, with messages that are lost.
    fn played(seed: u64) -> Self {
        let mut chance = Rng::new(seed);
        let mut any = |most| chance.between(Span::ZERO, Span::from_nanos(most)).as_nanos();
        let control = Controller::new(policy(per_second(500)), 7, at(BEGIN));
        let members = (0..12).map(|number| Member::new(number, per_second(20), at(BEGIN)));
        let mut world = Self {
            desk: Coordinator::new(Leases::new(control), at(BEGIN)),
            members: members.collect(),
            calls: vec![Vec::new(); 12],
            seen: String::new(),
        };
        let mut now = BEGIN;
        for _ in 0..3_000 {
            now += any(20 * MILLIS);
            let member = any(11) as usize;
            for _ in 0..any(9) {
                world.poll(member, now);
            }
            for _ in 0..any(9) {
                let calls = &mut world.calls[member];
                let Some(last) = calls.len().checked_sub(1) else { break };
                let permit = calls.swap_remove(any(last as u64) as usize);
                let outcome = if any(40) == 0 { Outcome::Throttled } else { Outcome::Ok };
                world.members[member].settle(at(now), permit, outcome);
            }
            world.ask(member, now, any(20) > 0, any(20) > 0);
        }
        world
    }

    fn poll(&mut self, member: usize, now: u64) {
        let decision = self.members[member].poll(at(now), &Call::new());
        self.seen += &format!("{decision:?} ");
        if let Decision::Admit(permit) = decision {
            self.calls[member].push(permit);
        }
    }

    fn ask(&mut self, member: usize, now: u64, arrives: bool, returns: bool) {
        let Self { desk, members, seen, .. } = self;
        let member = &mut members[member];
        if member.request_at().is_none_or(|due| due > at(now)) {
            return;
        }
        let (mut request, mut grant) = ([0; REQUEST_BYTES], [0; GRANT_BYTES]);
        let Some(length) = member.request(at(now), 3, &mut request) else { return };
        *seen += &format!("{:?} ", &request[..length]);
        if !arrives {
            return;
        }
        let length = desk.answer(at(now), &request[..length], &mut grant).unwrap();
        *seen += &format!("{:?} ", &grant[..length]);
        if returns && length > 0 {
            member.hear(at(now), &grant[..length]).unwrap();
        }
    }
}

#[test]
fn a_fleet_whose_lists_grow_decides_and_says_the_same() {
    for seed in 0..10 {
        let same = World::<Inline>::played(seed).seen == World::<Heap>::played(seed).seen;
        assert!(same, "run {seed}");
    }
}

#[test]
fn without_memory_a_fleet_has_fewer_places_and_loses_none() {
    for seed in 0..10 {
        let World { mut desk, mut members, calls, .. } = World::<Scarce>::played(seed);
        assert!(desk.source().controller().in_flight() <= 3 && desk.members() <= 3);
        let mut now = BEGIN + 1_000_000 * MILLIS;
        for (member, calls) in members.iter_mut().zip(calls) {
            assert!(calls.len() <= 3 && usize::from(member.in_flight()) == calls.len());
            calls.into_iter().for_each(|permit| member.settle(at(now), permit, Outcome::Ok));
            assert_eq!(member.in_flight(), 0);
        }
        // A lease whose report found no memory is lost after its expiry.
        let (mut request, mut grant) = ([0; REQUEST_BYTES], [0; GRANT_BYTES]);
        let mut admitted = 0;
        for _ in 0..9 {
            now += 1_000 * MILLIS;
            let member = &mut members[0];
            _ = member.poll(at(now), &Call::new());
            let Some(length) = member.request(at(now), 1, &mut request) else { continue };
            let length = desk.answer(at(now), &request[..length], &mut grant).unwrap();
            member.hear(at(now), &grant[..length]).unwrap();
            if let Decision::Admit(permit) = member.poll(at(now), &Call::new()) {
                member.settle(at(now), permit, Outcome::Ok);
                admitted += 1;
            }
        }
        assert!(admitted > 3, "run {seed}: {admitted}");
    }
}

#[test]
fn a_member_that_was_not_used_takes_a_kilobyte() {
    let size = size_of::<CountedMember<4_096, Heap>>();
    assert!(size <= 1_024, "{size}");
}
