//! Equal policies have equal digests, and no others. The policy of the program that joined last applies.

use core::num::NonZeroU16;
use std::collections::HashMap;

use proptest::prelude::*;
use tidegate::law::AnyLaw;
use tidegate::shared::{Rank, Standing, policy_digest};
use tidegate::{Policy, Quota, Rng, Span};

use crate::{MILLIS, SECOND, at};

#[test]
fn each_option_of_a_policy_changes_its_digest_and_a_concurrency_limit_that_is_none_does_not() {
    let (expiry, heartbeat) = (Span::from_secs(30), Span::from_millis(500));
    let mut seen = HashMap::new();
    let mut add = |what: String, digest: u32| assert_eq!(seen.insert(digest, what), None);
    for name in Policy::NAMES {
        let policy = Policy::named(name).unwrap();
        let digest = policy_digest(&policy, expiry, heartbeat);
        let most = policy.concurrency(NonZeroU16::new(4_096).unwrap());
        assert_eq!(policy_digest(&most, expiry, heartbeat), digest, "{name}");
        // `none` and `backoff` differ only in what a shared budget does not use.
        if *name != "backoff" {
            add(name.to_string(), digest);
        }
    }
    for calls in 11..=100 {
        let law: AnyLaw = tidegate::law::Fixed::new(Quota::per_second(calls).unwrap()).into();
        let policy = Policy::new(law);
        add(format!("{calls} a second"), policy_digest(&policy, expiry, heartbeat));
    }
    let policy = Policy::named("fixed").unwrap();
    let fewer = policy.concurrency(NonZeroU16::new(7).unwrap());
    let shorter = policy.ceiling(Span::from_secs(60)).unwrap();
    add("concurrency".into(), policy_digest(&fewer, expiry, heartbeat));
    add("cooldown".into(), policy_digest(&shorter, expiry, heartbeat));
    add("expiry".into(), policy_digest(&policy, expiry * 2, heartbeat));
    add("heartbeat".into(), policy_digest(&policy, expiry, heartbeat * 2));
}

const MINUTE: u64 = 60 * SECOND;
/// The longest time between two requests of a program.
const BEAT: u64 = SECOND / 2;
/// Milliseconds from 1970 to the beginning of a run.
const TODAY: u64 = 1_800_000_000_000;

struct Program {
    own: Standing,
    /// How far its clock is ahead, in milliseconds.
    skew: u64,
    next: u64,
    ends: u64,
    /// Whether a loss of its seat was noticed, and what its latest request found.
    held: bool,
    rank: Rank,
}

/// Programs that share one seat.
struct World {
    chance: Rng,
    programs: Vec<Program>,
    seat: Option<(usize, u64)>,
    /// When the digest of the holder changed.
    changes: Vec<u64>,
}

impl World {
    fn any(&mut self, most: u64) -> u64 {
        self.chance.between(Span::ZERO, Span::from_nanos(most)).as_nanos()
    }

    fn begin(&mut self, now: u64, digest: u32, ends: u64) {
        let (own, skew) = (Standing::new(digest), self.any(7_200_000));
        let program = Program { own, skew, next: now, ends, held: false, rank: Rank::Follows };
        self.programs.push(program);
    }

    fn digest(&self) -> Option<u32> {
        self.seat.map(|(holder, _)| self.programs[holder].own.digest())
    }

    fn step(&mut self, now: u64) {
        for index in 0..self.programs.len() {
            if self.programs[index].ends <= now || self.programs[index].next > now {
                continue;
            }
            self.programs[index].next = now + self.any(BEAT);
            let holder = self.seat.filter(|(holder, _)| self.programs[*holder].ends > now);
            let other = holder.map(|(holder, start)| (start, self.programs[holder].own.digest()));
            let one = &mut self.programs[index];
            one.own.ask(at(now));
            if let Some((holder, _)) = holder
                && holder == index
            {
                continue;
            }
            if core::mem::take(&mut one.held) {
                one.own.lost(at(now));
            }
            let today = TODAY + one.skew + now / MILLIS;
            if let Some((start, digest)) = other {
                one.rank = one.own.meet(at(now), today, start, digest);
                if one.rank != Rank::Replaces {
                    continue;
                }
            }
            let start = one.own.start(today);
            one.own.hold(start);
            (one.held, one.rank) = (true, Rank::Replaces);
            let before = self.digest();
            self.seat = Some((index, start));
            if before != self.digest() {
                self.changes.push(now);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Programs with three policies come and go for a minute, with clocks up to two hours apart. Two minutes later one
    /// joins and stays. Others that end before they join come and go all the time.
    #[test]
    fn the_policy_of_the_program_that_joined_last_applies_within_a_second_and_stays(
        seed: u64,
        last in 1_u32..=3,
    ) {
        let chance = Rng::new(seed);
        let mut world = World { chance, programs: Vec::new(), seat: None, changes: Vec::new() };
        let joins = 3 * MINUTE;
        world.begin(0, 1, u64::MAX);
        let mut own = 0;
        for now in (0..4 * MINUTE).step_by(20 * MILLIS as usize) {
            if now < MINUTE && world.any(2 * SECOND) < 20 * MILLIS {
                let (digest, lives) = (1 + world.any(2) as u32, world.any(2 * MINUTE));
                world.begin(now, digest, if lives < MINUTE { now + lives } else { u64::MAX });
            }
            if now % (5 * SECOND) == 0 {
                let ends = now + world.any(250 * MILLIS);
                world.begin(now, 9, ends);
            }
            if now == joins {
                own = world.programs.len();
                world.begin(now, last, u64::MAX);
            }
            world.step(now);
            let applies = world.digest() == Some(last);
            prop_assert!(now < joins + SECOND || applies, "{:?} at {now}", world.digest());
        }
        prop_assert!(world.changes.iter().filter(|change| **change > joins).count() <= 1);
        for (index, one) in world.programs.iter().enumerate().filter(|(_, one)| one.ends == u64::MAX) {
            let is_replaced = one.own.digest() != last;
            prop_assert_eq!(one.rank == Rank::Replaced, is_replaced, "{} of {}", index, own);
        }
    }
}
