//! A coordinator, and any requests to it: all grants keep to its quota, also across restores.

use tidegate::law::Fixed;
use tidegate::shared::{Coordinator, GRANT_BYTES, Leases};
use tidegate::{Controller, Instant, Policy, Quota, Span};

use super::message::{Grant, Message};
use super::{START, at};
use crate::Input;

const SECOND: u64 = 1_000_000_000;
/// The maximum travel time of a message.
const WAY: u64 = SECOND / 16;
/// One and a half heartbeats plus the travel time.
const LOOKAHEAD_OF_ONE: u64 = SECOND * 3 / 4 + WAY;

/// A coordinator of some members with a quota, and its clock.
pub struct Desk<const LEASES: usize, const MEMBERS: usize> {
    desk: Coordinator<Leases<Fixed, LEASES>, MEMBERS>,
    policy: Policy<Fixed>,
    rate: u64,
    burst: u32,
    /// The true time, which never steps back, and how far it is ahead of the clock.
    pub now: u64,
    ahead: u64,
    /// The time of each granted lease.
    granted: Vec<u64>,
    /// The latest record, and when it was written.
    record: Option<(u64, Vec<u8>)>,
}

/// A quota, followed by events.
pub fn happen(mut input: Input<'_>) {
    let (rate, burst) = (1 + u64::from(input.u8()), 1 + u32::from(input.u8() % 32));
    let mut world = Desk::<32, 4>::new(rate, burst, 0);
    while !input.is_empty() {
        match input.u8() % 16 {
            0 => world.step_back(input.span()),
            1 | 2 => world.pass(Span::from_millis(input.u16().into())),
            3 => world.pass(Span::from_nanos(input.u32().into())),
            4 => world.write_down(),
            5 => world.lose(),
            6 => world.replace(&mut input),
            7 => {
                let count = input.u8();
                _ = world.answer(input.bytes(count.into()));
            }
            _ => world.call(&mut input),
        }
    }
    world.keeps_to_its_quota();
}

impl<const LEASES: usize, const MEMBERS: usize> Desk<LEASES, MEMBERS> {
    pub fn new(rate: u64, burst: u32, ahead: u64) -> Self {
        let quota = Quota::per_second(rate).and_then(|quota| quota.with_burst(burst));
        let policy = Policy::new(Fixed::new(quota.expect("small")));
        let now = at(START - ahead);
        let mut leases = Leases::new(Controller::new(policy, 7, now));
        leases.set_expiry(Span::from_secs(20));
        let desk = Coordinator::new(leases, now);
        Self { desk, policy, rate, burst, now: START, ahead, granted: Vec::new(), record: None }
    }

    pub const fn controller(&self) -> &Controller<Fixed> {
        self.desk.source().controller()
    }

    fn told(&self) -> Instant {
        at(self.now - self.ahead)
    }

    fn pass(&mut self, span: Span) {
        self.now += span.as_nanos();
    }

    fn step_back(&mut self, span: Span) {
        let most = self.told().as_nanos();
        self.ahead += span.as_nanos().min(most);
    }

    /// The grant in response to a request with a new number.
    pub fn answer(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = vec![0; GRANT_BYTES];
        let length = self.desk.answer(self.told(), request, &mut bytes).ok()?;
        bytes.truncate(length);
        let grant = (length > 0).then(|| Grant::read(&bytes))?;
        assert!(grant.cooldown <= 3_600 * SECOND, "a cooldown of {} ns", grant.cooldown);
        // An even share of the slowest limit for four, or the heartbeat.
        assert!(
            (SECOND / 2..=10 * SECOND).contains(&grant.heartbeat),
            "a heartbeat of {} ns",
            grant.heartbeat
        );
        let lookahead = (grant.heartbeat + grant.heartbeat / 2 + WAY).cast_signed();
        for ahead in &grant.ahead {
            assert!((0..=lookahead).contains(ahead), "a lease in {ahead} ns, of {lookahead}");
            self.granted.push(self.now.wrapping_add_signed(*ahead));
        }
        Some(bytes)
    }

    fn call(&mut self, input: &mut Input<'_>) {
        let (member, sequence, want) = (input.u8() % 6, u32::from(input.u8()), input.u8());
        let (kind, reports) = (input.u8(), input.u8() % 4);
        let leaving = u8::from(kind % 16 == 1);
        let alone = if kind % 16 == 2 { input.u16() } else { 0 };
        let mut message = Message::new(1)
            .bytes(&[leaving, member, 0, 0, 0, 0, 0, 0, 0])
            .bytes(&sequence.to_le_bytes())
            .bytes(&u16::from(want).to_le_bytes())
            .bytes(&alone.to_le_bytes())
            .bytes(&[reports]);
        for _ in 0..reports {
            let hints = input.u8();
            message = message
                .bytes(&input.u64().to_le_bytes())
                .bytes(&input.u64().to_le_bytes())
                .bytes(&[input.u8(), hints]);
            for _ in 0..(hints & 31).count_ones() {
                message = message.bytes(&input.span().as_nanos().to_le_bytes());
            }
        }
        let bends = kind >= 128;
        let mut none = Input::new(&[]);
        let message = message.bent(if bends { input } else { &mut none });
        let before = self.granted.len();
        let Some(grant) = self.answer(&message) else { return };
        let grant = Grant::read(&grant);
        let count = self.granted.len() - before;
        if !bends {
            assert_eq!(grant.sequence, sequence);
            assert!(count <= usize::from(want).min(64) && (leaving == 0 || count == 0));
        }
        let again = self.answer(&message);
        assert!(again.is_none(), "a request was answered twice");
    }

    pub fn write_down(&mut self) {
        let mut record = vec![0; Coordinator::<Leases<Fixed, LEASES>, MEMBERS>::SNAPSHOT_BYTES];
        self.desk.snapshot(self.told(), &mut record).expect("the record has room");
        self.record = Some((self.now, record));
    }

    fn lose(&mut self) {
        let kept = self.record.take();
        self.write_down();
        self.desk.snapshot_was_lost();
        self.record = kept;
    }

    /// The coordinator is replaced: from its last record, an older one, or none.
    fn replace(&mut self, input: &mut Input<'_>) {
        let how = input.u8() % 3;
        if how == 0 {
            self.write_down();
        }
        let Some(_) = self.record else { return };
        self.pass(Span::from_millis(input.u16().into()));
        if how < 2 {
            return self.restore(how == 0, 0);
        }
        let latest = self.granted.iter().copied().max().unwrap_or(0);
        if latest > self.now + LOOKAHEAD_OF_ONE {
            return; // its lookahead exceeds what a coordinator without its record assumes
        }
        self.ahead = 0;
        let now = self.told();
        let anew = Coordinator::new(Leases::new(Controller::new(self.policy, 7, now)), now);
        self.desk = anew.in_place_of_another(now, Span::ZERO);
    }

    /// The coordinator is restored from its record, with another clock. If the previous one has
    /// `ended`, there was no grant after that record. Otherwise the record may be of any age.
    pub fn restore(&mut self, ended: bool, ahead: u64) {
        let Some((then, record)) = &self.record else { return };
        self.ahead = ahead;
        let (now, away) = (self.told(), Span::from_nanos(self.now - then));
        let made = Coordinator::restore(self.policy, self.now, record, now, away, ended);
        self.desk = made.expect("the record is valid");
    }

    /// At any time at most the burst and the rate are used, by GCRA with exact numbers.
    pub fn keeps_to_its_quota(mut self) {
        self.granted.sort_unstable();
        let (mut level, mut before) = (0u128, 0);
        for at in self.granted {
            let drained = u128::from(at - before) * u128::from(self.rate);
            level = level.saturating_sub(drained) + u128::from(SECOND);
            before = at;
            // The calls of the rate in the 2 ms by which timers may be late, and each clock's
            // rounding.
            let most =
                u128::from(self.burst) * u128::from(SECOND) + u128::from(self.rate) * 2_000_002;
            assert!(level <= most, "over the quota at {at}: {level} of {most}");
        }
    }
}
