//! A member, and any grants to it: it uses no more than it was granted, requests in order, and waits
//! no longer than allowed.

use tidegate::gate::CooldownPolicy;
use tidegate::shared::{Member, REQUEST_BYTES};
use tidegate::{Call, Decision, Hint, Instant, Outcome, Quota, Span};

use super::message::{Message, Request};
use super::{START, at};
use crate::Input;

/// The longest lookahead and cooldown that a member accepts from a coordinator.
const FURTHEST: Span = Span::from_secs(3_600);

pub struct Process<const SLOTS: usize> {
    pub member: Member<SLOTS>,
    pub number: u64,
    pub now: Instant,
    sequence: u32,
    /// When each call in flight was sent, and its permit.
    pub away: Vec<(Instant, u64)>,
    /// Leases that it may have accepted, and calls that were sent with one.
    told: usize,
    pub leased: usize,
}

pub fn happen(mut input: Input<'_>) {
    let alone = 1 + u64::from(input.u8());
    let mut world = Process::<8>::new(42, alone, at(START));
    while !input.is_empty() {
        match input.u8() % 16 {
            0 | 1 => world.pass(Span::from_millis(input.u16().into())),
            2 => world.pass(input.span()),
            3 => world.member.miss(world.now),
            4 => {
                let count = input.u8();
                _ = world.hear(input.bytes(count.into()), 64);
            }
            5 => world.settle(&mut input),
            6 => world.leave(),
            7..10 => _ = world.request(input.u8().into()),
            10..13 => _ = world.call(),
            _ => world.grant(&mut input),
        }
        let latest = world.now + FURTHEST;
        assert!(
            world.member.request_at().is_none_or(|at| at <= latest),
            "it never sends another request"
        );
    }
    world.a_call_that_follows_its_waits_is_decided();
}

impl<const SLOTS: usize> Process<SLOTS> {
    /// A member that sends this many calls a second while it knows no share.
    pub fn new(number: u64, alone: u64, now: Instant) -> Self {
        let member = Member::new(number, Quota::per_second(alone).expect("small"), now);
        Self { member, number, now, sequence: 0, away: vec![], told: 0, leased: 0 }
    }

    fn pass(&mut self, span: Span) {
        self.now = (self.now + span).min(Instant::from_nanos(1 << 62));
    }

    /// A message arrives with at most this many new leases. Returns whether it is a grant.
    pub fn hear(&mut self, grant: &[u8], most: usize) -> bool {
        let before = self.member.available_leases();
        let heard = self.member.hear(self.now, grant).is_ok();
        if heard {
            self.told += most;
        } else {
            assert_eq!(
                self.member.available_leases(),
                before,
                "it accepted a lease without a grant"
            );
        }
        assert!(self.leased + self.member.available_leases() <= self.told, "more than was granted");
        heard
    }

    /// A grant that usually answers the latest request.
    fn grant(&mut self, input: &mut Input<'_>) {
        let (kind, leases) = (input.u8(), input.u8() % 70);
        let sequence = self.sequence.wrapping_sub(u32::from(kind % 16 == 1));
        let mut message = Message::new(2).bytes(&sequence.to_le_bytes());
        for _ in 0..3 {
            message = message.bytes(&input.span().as_nanos().to_le_bytes());
        }
        message = message.bytes(&input.u16().to_le_bytes());
        let cooldown = if kind % 16 == 2 { input.span() } else { Span::ZERO };
        message = message.bytes(&cooldown.as_nanos().to_le_bytes()).bytes(&[leases]);
        for permit in 0..u64::from(leases) {
            let ahead = if kind % 16 == 3 { input.u64() } else { input.u16().into() };
            message = message.bytes(&permit.to_le_bytes());
            message = message.bytes(&ahead.wrapping_mul(1_000_000).to_le_bytes());
        }
        let bends = kind >= 128;
        let mut none = Input::new(&[]);
        let message = message.bent(if bends { input } else { &mut none });
        _ = self.hear(&message, if bends { 64 } else { leases.into() });
    }

    pub fn call(&mut self) -> Decision<u64> {
        let (alone, before) = (self.member.is_alone(), self.member.available_leases());
        let decision = self.member.poll(self.now, &Call::new());
        match decision {
            Decision::Admit(permit) => {
                // A call that was sent with the last lease counts as leased. A lease that is too
                // old is returned.
                self.leased += usize::from(!alone && self.member.available_leases() < before);
                self.away.push((self.now, permit));
                assert!(
                    self.leased + self.member.available_leases() <= self.told,
                    "more than was granted"
                );
                assert!(usize::from(self.member.in_flight()) <= SLOTS);
            }
            Decision::Wait(until) => {
                assert!(until > self.now, "a zero wait");
                let most = FURTHEST.max(CooldownPolicy::DEFAULT.ceiling());
                let latest = self.now + most;
                assert!(until <= latest || self.member.is_alone(), "it waits until {until:?}");
            }
            Decision::Full | Decision::Reject(_) => {}
        }
        decision
    }

    fn settle(&mut self, input: &mut Input<'_>) {
        let outcome = input.pick(&[
            Outcome::Ok,
            Outcome::Throttled,
            Outcome::Busy,
            Outcome::Failed,
            Outcome::Abandoned,
            Outcome::Exhausted,
        ]);
        let kind = input.u8();
        let hint = if kind & 1 == 1 { Hint::retry_after(input.span()) } else { Hint::NONE };
        // The permit of a call in flight, or one that belongs to no call.
        let permit = if kind & 2 == 0 { self.away.pop() } else { None };
        let permit = permit.map_or(input.u8().into(), |(_, permit)| permit);
        self.member.settle(self.now, permit, outcome.with(hint));
    }

    /// The request that it sends now, with this many calls that wait.
    pub fn request(&mut self, waiting: u16) -> Option<Vec<u8>> {
        let mut request = vec![0; REQUEST_BYTES];
        let length = self.member.request(self.now, waiting, &mut request)?;
        request.truncate(length);
        self.read(&request);
        Some(request)
    }

    fn leave(&mut self) {
        let mut room = [0; REQUEST_BYTES];
        if let Some(length) = self.member.leave(self.now, &mut room) {
            assert!(self.read(&room[..length]).leaving);
            assert_eq!(self.member.available_leases(), 0, "it leaves with leases");
        }
    }

    fn read(&mut self, request: &[u8]) -> Request {
        let request = Request::read(request);
        self.sequence += 1;
        assert_eq!((request.member, request.sequence), (self.number, self.sequence));
        assert!(request.want <= 64);
        request
    }

    /// After any grants, each wait ends with a lease that is used or too old.
    fn a_call_that_follows_its_waits_is_decided(mut self) {
        for _ in 0..200 {
            match self.member.poll(self.now, &Call::new()) {
                Decision::Wait(until) => {
                    assert!(until > self.now, "a zero wait");
                    self.now = until;
                }
                _ => return,
            }
        }
        panic!("it waits forever");
    }
}
