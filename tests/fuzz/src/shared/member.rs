//! Any grants to a member: it uses no more than it was granted, requests in order, and waits no
//! longer than allowed.

use tidegate::gate::CooldownPolicy;
use tidegate::shared::{Member, REQUEST_BYTES};
use tidegate::{Call, Decision, Hint, Instant, Outcome, Quota, Span};

use super::message::{Message, Request};
use tidegate_promises::Input;

/// The longest lookahead and cooldown that a member accepts from a coordinator.
const FURTHEST: Span = Span::from_secs(3_600);
const NUMBER: u64 = 42;
const SLOTS: usize = 8;

struct World {
    member: Member<SLOTS>,
    now: Instant,
    /// The number of its latest request.
    sequence: u32,
    away: Vec<u64>,
    /// Leases that it may have accepted, and calls that were sent with one.
    told: usize,
    leased: usize,
}

pub fn happen(mut input: Input<'_>) {
    let now = Instant::from_nanos(1 << 45);
    let alone = Quota::per_second(1 + u64::from(input.u8())).expect("small");
    let member = Member::new(NUMBER, alone, now);
    let mut world = World { member, now, sequence: 0, away: vec![], told: 0, leased: 0 };
    while !input.is_empty() {
        match input.u8() % 16 {
            0 | 1 => world.pass(Span::from_millis(input.u16().into())),
            2 => world.pass(input.span()),
            3 => world.member.miss(world.now),
            4 => {
                let count = input.u8();
                world.hear(input.bytes(count.into()), 64);
            }
            5 => world.settle(&mut input),
            6 => world.leave(),
            7..10 => world.request(&mut input),
            10..13 => world.call(),
            _ => world.grant(&mut input),
        }
        assert!(world.leased + world.member.in_hand() <= world.told, "more than was granted");
        assert!(usize::from(world.member.in_flight()) <= SLOTS);
        let latest = world.now.saturating_add(FURTHEST);
        assert!(
            world.member.request_at().is_none_or(|at| at <= latest),
            "it never sends another request"
        );
    }
    world.a_call_that_follows_its_waits_is_decided();
}

impl World {
    fn pass(&mut self, span: Span) {
        self.now = self.now.saturating_add(span).min(Instant::from_nanos(1 << 62));
    }

    fn hear(&mut self, grant: &[u8], most: usize) {
        let before = self.member.in_hand();
        if self.member.hear(self.now, grant).is_ok() {
            self.told += most;
        } else {
            assert_eq!(self.member.in_hand(), before, "it accepted a lease without a grant");
        }
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
        self.hear(&message, if bends { 64 } else { leases.into() });
    }

    fn call(&mut self) {
        let (alone, before) = (self.member.is_alone(), self.member.in_hand());
        match self.member.poll(self.now, &Call::new()) {
            Decision::Admit(permit) => {
                // A call that was sent with the last lease counts as leased. A lease that is too
                // old is returned.
                self.leased += usize::from(!alone && self.member.in_hand() < before);
                self.away.push(permit);
            }
            Decision::Wait(until) => {
                assert!(until > self.now, "a zero wait");
                let most = FURTHEST.max(CooldownPolicy::DEFAULT.ceiling());
                let latest = self.now.saturating_add(most);
                assert!(until <= latest || self.member.is_alone(), "it waits until {until:?}");
            }
            Decision::Full | Decision::Reject(_) => {}
        }
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
        let permit = permit.unwrap_or(input.u8().into());
        self.member.settle(self.now, permit, outcome.with(hint));
    }

    fn request(&mut self, input: &mut Input<'_>) {
        let mut room = [0; REQUEST_BYTES];
        if let Some(length) = self.member.request(self.now, input.u8().into(), &mut room) {
            self.read(&room[..length]);
        }
    }

    fn leave(&mut self) {
        let mut room = [0; REQUEST_BYTES];
        if let Some(length) = self.member.leave(self.now, &mut room) {
            assert!(self.read(&room[..length]).leaving);
            assert_eq!(self.member.in_hand(), 0, "it leaves with leases");
        }
    }

    fn read(&mut self, request: &[u8]) -> Request {
        let request = Request::read(request);
        self.sequence += 1;
        assert_eq!((request.member, request.sequence), (NUMBER, self.sequence));
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
