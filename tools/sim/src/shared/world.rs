//! The simulation of a fleet: calls and messages in one event queue.

use std::collections::VecDeque;
use std::fmt::Display;

use anyhow::{Context, Result, anyhow};
use tidegate::shared::{Coordinator, Member, REQUEST_BYTES};
use tidegate::{Decision, Hint, Instant, Outcome, Quota, Span};

use super::desk::{Desk, Heap, answer};
use super::figures::{Figures, Tally};
use super::{Demand, Fleet, What};
use crate::agenda::Agenda;
use crate::chance::{Chance, Stream, scaled};
use crate::server::Server;

/// A sender or receiver of messages.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Node {
    Root,
    Branch(usize),
    Leaf(usize),
}

#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Event {
    Arise(usize),
    /// A member or a branch checks what is due.
    Look(Node),
    Arrive(usize),
    Back(usize),
    /// A message arrives. `life` identifies the member that it was sent to or by.
    Message {
        from: Node,
        to: Node,
        life: u32,
        bytes: Vec<u8>,
    },
    Snapshot,
    Fault(usize),
    Restore,
}

struct Call {
    leaf: usize,
    life: u32,
    asked: Instant,
    core: tidegate::Call,
    permit: Option<u64>,
    answer: (Outcome, Hint),
}

struct Leaf {
    member: Member<128, Heap>,
    /// Which of the successive members in this place it is.
    life: u32,
    skew: Span,
    distance: Span,
    queue: VecDeque<usize>,
    /// When each available lease arrived, if it was due before that.
    late: VecDeque<Option<Instant>>,
    /// The latest check that was scheduled.
    look: Instant,
    chance: Chance,
}

/// A coordinator between the root and some members, which grants from its own leases.
struct Branch {
    coordinator: Coordinator<Member<4_096, Heap>, 1_024, Heap>,
    look: Instant,
}

struct World<'f> {
    fleet: &'f Fleet,
    now: Instant,
    agenda: Agenda<Event>,
    server: Server,
    desk: Desk,
    /// The end of the coordinator's outage, and whether it runs.
    away_until: Instant,
    branches: Vec<Branch>,
    leaves: Vec<Leaf>,
    calls: Vec<Call>,
    free: Vec<usize>,
    load: u32,
    /// The first members are cut off until then.
    cut_off: (usize, Instant),
    tally: Tally,
    chance: Chance,
    buffer: Vec<u8>,
}

/// The rate at which a member without a share may send.
const ALONE_PER_SECOND: u64 = 1;
const SNAPSHOTS: Span = Span::from_secs(5);
const CUT_OFF_FOR: Span = Span::from_secs(60);
/// The coordinator's clock is ahead by this.
const DESK_SKEW: Span = Span::from_secs(1_800);

pub fn run(fleet: &Fleet, law: &str, seed: u64) -> Result<Figures> {
    let world = World::new(fleet, law, seed);
    let mut world = world.with_context(|| format!("there is no law \"{law}\""))?;
    world.advance()?;
    Ok(world.tally.figures(fleet, &world.server))
}

/// Converts an instant of a clock that is ahead by `by` to true time.
fn true_time(at: Instant, by: Span) -> Instant {
    Instant::from_nanos(at.as_nanos().saturating_sub(by.as_nanos()))
}

impl<'f> World<'f> {
    fn new(fleet: &'f Fleet, law: &str, seed: u64) -> Option<Self> {
        let desk_now = Instant::ZERO + DESK_SKEW;
        let mut world = Self {
            fleet,
            now: Instant::ZERO,
            agenda: Agenda::new(),
            server: Server::new(&fleet.server, seed),
            desk: Desk::new(fleet, law, Stream::Server.seed(seed) ^ 1, desk_now)?,
            away_until: Instant::ZERO,
            branches: Vec::new(),
            leaves: Vec::new(),
            calls: Vec::new(),
            free: Vec::new(),
            load: 1,
            cut_off: (0, Instant::ZERO),
            tally: Tally::new(fleet),
            chance: Chance::new(seed, Stream::Strangers),
            buffer: vec![0; REQUEST_BYTES],
        };
        for number in 0..fleet.branches {
            let member = member(number + (1 << 20), 0, seed, DESK_SKEW, Instant::ZERO);
            let coordinator = Coordinator::new(member, desk_now);
            world.branches.push(Branch { coordinator, look: Instant::MAX });
        }
        for number in 0..fleet.members {
            let mut chance = Chance::new(seed, Stream::Thread(number));
            let skew = chance.between(Span::ZERO, fleet.skew.span());
            let distance = fleet.distance.draw(&mut chance);
            let leaf = Leaf {
                member: member(number, 0, seed, skew, Instant::ZERO),
                life: 0,
                skew,
                distance,
                queue: VecDeque::new(),
                late: VecDeque::new(),
                look: Instant::MAX,
                chance,
            };
            world.leaves.push(leaf);
            world.begin(number as usize);
        }
        world.agenda.enter(Instant::ZERO + SNAPSHOTS, Event::Snapshot);
        for (index, fault) in fleet.faults.iter().enumerate() {
            world.agenda.enter(fault.at.instant(), Event::Fault(index));
        }
        Some(world)
    }

    fn begin(&mut self, leaf: usize) {
        let callers = match self.fleet.demand {
            Demand::Closed(callers) => callers,
            Demand::Poisson(_) => 1,
        };
        for _ in 0..callers {
            let within = self.leaves[leaf].chance.between(Span::ZERO, Span::from_secs(1));
            self.agenda.enter(self.now + within, Event::Arise(leaf));
        }
    }

    fn advance(&mut self) -> Result<()> {
        let end = self.fleet.end.instant();
        while let Some((at, event)) = self.agenda.take(end) {
            self.now = at;
            match event {
                Event::Arise(leaf) => self.arise(leaf)?,
                Event::Look(Node::Leaf(leaf)) => self.look(leaf)?,
                Event::Look(Node::Branch(branch)) => self.look_of_branch(branch),
                Event::Look(Node::Root) => {}
                Event::Arrive(call) => self.arrive(call),
                Event::Back(call) => self.back(call)?,
                Event::Message { from, to, life, bytes } => self.message(from, to, life, &bytes)?,
                Event::Snapshot => {
                    if self.now >= self.away_until {
                        self.desk.write_down(self.now + DESK_SKEW, self.now.as_nanos());
                    }
                    self.agenda.enter(self.now + SNAPSHOTS, Event::Snapshot);
                }
                Event::Fault(index) => self.fault(index)?,
                Event::Restore => {
                    self.desk.restore(self.now + DESK_SKEW, self.now.as_nanos());
                }
            }
        }
        Ok(())
    }

    fn arise(&mut self, leaf: usize) -> Result<()> {
        if let Demand::Poisson(rate) = self.fleet.demand {
            let gap = self.leaves[leaf].chance.exponential(rate.interval());
            let gap = Span::from_nanos(gap.as_nanos() / u64::from(self.load));
            self.agenda.enter(self.now + gap, Event::Arise(leaf));
        }
        let life = self.leaves[leaf].life;
        let answer = (Outcome::Abandoned, Hint::NONE);
        let asked = self.now;
        let call = Call { leaf, life, asked, core: tidegate::Call::new(), permit: None, answer };
        let index = match self.free.pop() {
            Some(index) => {
                self.calls[index] = call;
                index
            }
            None => {
                self.calls.push(call);
                self.calls.len() - 1
            }
        };
        self.leaves[leaf].queue.push_back(index);
        self.tally.begun(self.now);
        self.look(leaf)
    }

    /// Admits a member's calls, and sends its request if one is due.
    fn look(&mut self, index: usize) -> Result<()> {
        let now = self.now;
        let leaf = &mut self.leaves[index];
        let own = now + leaf.skew;
        let mut next = Instant::MAX;
        while let Some(&first) = leaf.queue.front() {
            let alone = leaf.member.is_alone();
            let call = &mut self.calls[first];
            match leaf.member.poll(own, &call.core) {
                Decision::Admit(permit) => {
                    while leaf.late.len() > leaf.member.available_leases() + usize::from(!alone) {
                        leaf.late.pop_front();
                    }
                    let late = if alone { None } else { leaf.late.pop_front().flatten() };
                    let local = late.is_none_or(|heard| heard <= call.asked);
                    leaf.queue.pop_front();
                    call.permit = Some(permit);
                    self.tally.left(now, now - call.asked, local, alone);
                    let way = self.fleet.latency.draw(&mut leaf.chance);
                    self.agenda.enter(now + way, Event::Arrive(first));
                }
                Decision::Wait(until) if until <= own => {
                    return Err(self.broken("a zero wait"));
                }
                Decision::Wait(until) => {
                    next = true_time(until, leaf.skew);
                    break;
                }
                Decision::Full => break,
                Decision::Reject(reason) => return Err(self.broken(reason)),
            }
        }
        let waiting = u16::try_from(leaf.queue.len()).unwrap_or(u16::MAX);
        // An abandoned request is followed by another.
        for _ in 0..2 {
            if let Some(length) = leaf.member.request(own, waiting, &mut self.buffer) {
                let to = match self.fleet.branches as usize {
                    0 => Node::Root,
                    branches => Node::Branch(index % branches),
                };
                let bytes = self.buffer[..length].to_vec();
                self.send(Node::Leaf(index), to, index, bytes);
                break;
            }
        }
        let leaf = &mut self.leaves[index];
        self.tally.available_leases(index, leaf.member.available_leases(), now);
        if let Some(at) = leaf.member.request_at() {
            next = next.min(true_time(at, leaf.skew));
        }
        let next = next.max(now + Span::from_nanos(1));
        if next < Instant::MAX && (leaf.look <= now || next < leaf.look) {
            leaf.look = next;
            self.agenda.enter(next, Event::Look(Node::Leaf(index)));
        }
        Ok(())
    }

    fn look_of_branch(&mut self, index: usize) {
        let own = self.now + DESK_SKEW;
        for _ in 0..2 {
            let branch = &mut self.branches[index].coordinator;
            if let Some(length) = branch.request(own, &mut self.buffer) {
                let bytes = self.buffer[..length].to_vec();
                self.send(Node::Branch(index), Node::Root, usize::MAX, bytes);
                break;
            }
        }
        let branch = &mut self.branches[index];
        let Some(at) = branch.coordinator.source().request_at() else { return };
        let next = true_time(at, DESK_SKEW).max(self.now + Span::from_nanos(1));
        if branch.look <= self.now || next < branch.look {
            branch.look = next;
            self.agenda.enter(next, Event::Look(Node::Branch(index)));
        }
    }

    /// Sends a message with the travel time of member `leaf`. Between branch and root every round
    /// trip takes 20 ms.
    fn send(&mut self, from: Node, to: Node, leaf: usize, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return; // the request was already answered
        }
        if self.chance.unit() * 1_000.0 < f64::from(self.fleet.lost_per_mille) {
            return;
        }
        let there_and_back = self.leaves.get(leaf).map_or(Span::from_millis(20), |l| l.distance);
        let takes = scaled(there_and_back, 0.4 + 0.2 * self.chance.unit());
        let life = self.leaves.get(leaf).map_or(0, |leaf| leaf.life);
        self.agenda.enter(self.now + takes, Event::Message { from, to, life, bytes });
    }

    fn message(&mut self, from: Node, to: Node, life: u32, bytes: &[u8]) -> Result<()> {
        let own = self.now + DESK_SKEW;
        let leaf = match (from, to) {
            (Node::Leaf(leaf), _) | (_, Node::Leaf(leaf)) => leaf,
            _ => usize::MAX,
        };
        let cut_off = leaf < self.cut_off.0 && self.now < self.cut_off.1;
        let to_root = to == Node::Root || from == Node::Root;
        if cut_off || (to_root && self.now < self.away_until) {
            return Ok(());
        }
        match to {
            Node::Root => {
                let grant = self.desk.answer(own, self.now.as_nanos(), bytes);
                self.tally.message(self.now);
                self.send(Node::Root, from, leaf, grant);
            }
            Node::Branch(index) if from == Node::Root => {
                let heard = self.branches[index].coordinator.source_mut().hear(own, bytes);
                heard.map_err(|error| self.broken(error))?;
                self.look_of_branch(index);
            }
            Node::Branch(index) => {
                let grant = answer(&mut self.branches[index].coordinator, own, bytes);
                self.tally.branch_message(self.now);
                self.send(to, from, leaf, grant);
                self.look_of_branch(index);
            }
            Node::Leaf(index) => {
                let leaf = &mut self.leaves[index];
                if leaf.life != life {
                    return Ok(());
                }
                let before = leaf.member.available_leases();
                let heard = leaf.member.hear(self.now + leaf.skew, bytes);
                heard.map_err(|error| self.broken(error))?;
                let leaf = &mut self.leaves[index];
                while leaf.late.len() > before {
                    leaf.late.pop_front();
                }
                let more = leaf.member.available_leases().saturating_sub(leaf.late.len());
                let late = due_at_once(bytes).map(|at_once| at_once.then_some(self.now));
                leaf.late.extend(late.take(more));
                self.look(index)?;
            }
        }
        Ok(())
    }

    fn arrive(&mut self, call: usize) {
        self.server.reach(self.calls[call].leaf);
        let answer = self.server.arrive(self.now);
        self.tally.arrived(self.now, answer.outcome);
        self.calls[call].answer = (answer.outcome, answer.hint);
        let leaf = &mut self.leaves[self.calls[call].leaf];
        let way = self.fleet.latency.draw(&mut leaf.chance);
        let back = self.now + answer.delay + way;
        self.agenda.enter(back, Event::Back(call));
    }

    fn back(&mut self, index: usize) -> Result<()> {
        let now = self.now;
        let call = &mut self.calls[index];
        let leaf = &mut self.leaves[call.leaf];
        let (place, (outcome, hint)) = (call.leaf, call.answer);
        if leaf.life != call.life {
            self.free.push(index);
            return Ok(());
        }
        let own = now + leaf.skew;
        if let Some(permit) = call.permit.take() {
            leaf.member.settle(own, permit, outcome.with(hint));
        }
        if outcome == Outcome::Ok {
            self.tally.served(now, place);
            self.free.push(index);
            if let Demand::Closed(_) = self.fleet.demand {
                return self.arise(place);
            }
        } else {
            match leaf.member.retry(own, &call.core, outcome) {
                Ok(next) => {
                    (call.core, call.asked) = (next, now);
                    leaf.queue.push_front(index);
                }
                Err(_) => self.tally.lost(now),
            }
        }
        self.look(place)
    }

    fn fault(&mut self, index: usize) -> Result<()> {
        match self.fleet.faults[index].what {
            What::Crash(count) => {
                for leaf in 0..count as usize {
                    self.crash(leaf);
                }
            }
            What::Evict(away) => {
                self.away_until = self.now + away.span();
                self.agenda.enter(self.away_until, Event::Restore);
            }
            What::Outage(lasts) => self.away_until = self.now + lasts.span(),
            What::Partition(count) => {
                self.cut_off = (count as usize, self.now + CUT_OFF_FOR);
            }
            What::Load(times) => self.load = times.max(1),
        }
        Ok(())
    }

    fn crash(&mut self, index: usize) {
        let leaf = &mut self.leaves[index];
        leaf.life += 1;
        leaf.member =
            member(u32::try_from(index).unwrap_or(u32::MAX), leaf.life, 7, leaf.skew, self.now);
        leaf.late.clear();
        let queue = std::mem::take(&mut leaf.queue);
        self.free.extend(queue);
        // Poisson arrivals continue. Closed-loop callers end with their process.
        if let Demand::Closed(_) = self.fleet.demand {
            self.begin(index);
        }
    }

    fn broken(&self, what: impl Display) -> anyhow::Error {
        anyhow!("at {:?}: {what}", self.now)
    }
}

/// For each lease of a grant, whether it was due when granted, from the message layout.
fn due_at_once(grant: &[u8]) -> impl Iterator<Item = bool> + '_ {
    let leases = grant.get(41..grant.len() - 4).unwrap_or_default();
    leases.chunks_exact(16).map(|lease| lease[8..].iter().all(|byte| *byte == 0))
}

fn member<const LEASES: usize>(
    number: u32,
    life: u32,
    seed: u64,
    skew: Span,
    now: Instant,
) -> Member<LEASES, Heap> {
    let name = Stream::Throttle(number).seed(seed) ^ u64::from(life);
    let alone = Quota::per_second(ALONE_PER_SECOND).expect("one is a count");
    Member::new(name, alone, now + skew)
}
