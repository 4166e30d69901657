//! The simulation: clients and a server with one event queue. It processes event by event, and
//! stops at the first violation.

use std::collections::VecDeque;
use std::ops::Deref;
use std::rc::Rc;

use tidegate::{Hint, Instant, Outcome, Span};

use crate::PLAIN;
use crate::agenda::Agenda;
use crate::breach::{Breach, Broken};
use crate::chance::{Chance, Stream};
use crate::client::{State, Thread};
use crate::controllers;
use crate::metric::{Metrics, Tally};
use crate::place::{Place, outlook};
use crate::scenario::Scenario;
use crate::scenario::units::Rate;
use crate::server::{Server, Strangers};
use crate::throttle::{Answer, Next, Response, Throttle};
use crate::trace::{Digest, Step, What};

/// A rejected call is lost, and its thread makes the next one at least this much later, like a
/// program that handles the error.
const REJECTED: Span = Span::from_millis(100);

/// A run of a scenario with a law and a seed. It borrows or shares its scenario.
pub struct World<S> {
    scenario: S,
    server: Server,
    processes: Vec<Process>,
    threads: Vec<Thread>,
    agenda: Agenda<Event>,
    now: Instant,
    digest: Digest,
    tally: Tally,
    strangers: Option<(Chance, Strangers, u64)>,
    lost: u64,
    /// Threads that may still make calls, and those whose fixed amount of work is not done.
    there: u64,
    at_work: u64,
    over: bool,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Event {
    Poll(u32),
    Arrive(u32),
    Return(u32),
    /// A process checks whether calls that found no room may be sent now.
    Wake(u32),
    Stranger,
}

#[derive(Clone, Debug)]
pub struct Run {
    pub digest: Digest,
    pub calls: u64,
    pub events: u64,
    pub metrics: Metrics,
}

struct Process {
    throttle: Box<dyn Throttle>,
    /// The number of its first thread in the world.
    first: u32,
    in_flight: u32,
    parked: VecDeque<u32>,
    /// The latest wake-up that was scheduled.
    wake: Instant,
}

impl<S: Deref<Target = Scenario>> World<S> {
    /// Creates the world of `scenario`. `None` if the law is unknown.
    pub fn new(scenario: S, law: &str, seed: u64) -> Option<Self> {
        let server = Server::new(scenario.server.get_ref(), seed);
        let outlook = Rc::new(outlook(&scenario, &server));
        Self::with(scenario, seed, |place| {
            controllers::named(place.law.unwrap_or(law), &place, &outlook)
        })
    }

    /// Creates the world of `scenario` with throttles from `make`, one per process. `None` if
    /// `make` returns `None`.
    pub fn with(
        scenario: S,
        seed: u64,
        mut make: impl FnMut(Place) -> Option<Box<dyn Throttle>>,
    ) -> Option<Self> {
        let server = Server::new(scenario.server.get_ref(), seed);
        let mut agenda = Agenda::new();
        let (mut processes, mut threads) = (Vec::new(), Vec::new());
        for group in scenario.groups() {
            let (group, from) = (Rc::new(group.clone()), group.from.instant());
            for _ in 0..group.processes {
                let process = u32::try_from(processes.len()).ok()?;
                let throttle = make(Place {
                    scenario: &scenario,
                    process,
                    threads: group.threads,
                    law: group.law.as_deref(),
                    seed: Stream::Throttle(process).seed(seed),
                    from,
                })?;
                let (first, parked) = (u32::try_from(threads.len()).ok()?, VecDeque::new());
                processes.push(Process {
                    throttle,
                    first,
                    in_flight: 0,
                    parked,
                    wake: Instant::ZERO,
                });
                for own in 0..group.threads {
                    let number = u32::try_from(threads.len()).ok()?;
                    let mut thread = Thread::new(&group, process, number, own, seed);
                    agenda.enter(thread.first(from), Event::Poll(number));
                    threads.push(thread);
                }
            }
        }
        let strangers = scenario.server.get_ref().strangers.filter(|_| !PLAIN).map(|strangers| {
            let mut chance = Chance::new(seed, Stream::Strangers);
            agenda.enter(strangers.next(Instant::ZERO, 0, &mut chance), Event::Stranger);
            (chance, strangers, 0)
        });
        let there = threads.len() as u64;
        let at_work = threads.iter().filter(|thread| thread.has_fixed_work()).count() as u64;
        Some(Self {
            tally: Tally::new(&scenario, &server, &threads),
            scenario,
            server,
            processes,
            threads,
            agenda,
            now: Instant::ZERO,
            digest: Digest::default(),
            strangers,
            lost: 0,
            there,
            at_work,
            over: false,
        })
    }

    /// Processes all events up to `until`, and passes each step to `watch`. Returns whether more
    /// events follow before the end of the world.
    pub fn advance(
        &mut self,
        until: Instant,
        watch: &mut impl FnMut(&Step),
    ) -> Result<bool, Broken> {
        let end = self.scenario.end.get_ref().instant();
        let until = until.min(end);
        while !self.over {
            let Some((at, event)) = self.agenda.take(until) else {
                if self.agenda.is_empty() && self.there > 0 {
                    return Err(self.broken(Breach::Idle { unfinished: self.there }));
                }
                self.now = until;
                self.over = until >= end;
                break;
            };
            self.now = at;
            match event {
                Event::Poll(thread) => self.poll(thread, watch).map(|_| ()),
                Event::Arrive(thread) => {
                    self.arrive(thread, watch);
                    Ok(())
                }
                Event::Return(thread) => self.take_back(thread, watch),
                Event::Wake(process) => self.wake(process, watch),
                Event::Stranger => {
                    self.stranger();
                    Ok(())
                }
            }
            .map_err(|what| self.broken(what))?;
        }
        Ok(!self.over)
    }

    pub fn run(mut self) -> Result<Run, Broken> {
        self.advance(Instant::MAX, &mut |_| {})?;
        Ok(self.finish())
    }

    pub fn finish(&self) -> Run {
        let metrics = self.tally.metrics(&self.scenario, &self.server, self.now, self.lost);
        let events = self.agenda.entered();
        Run { digest: self.digest, calls: self.tally.calls(), events, metrics }
    }

    pub const fn now(&self) -> Instant {
        self.now
    }

    pub const fn is_over(&self) -> bool {
        self.over
    }

    pub const fn digest(&self) -> Digest {
        self.digest
    }

    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    pub const fn server(&self) -> &Server {
        &self.server
    }

    /// Sets the rate of the server's bucket from now on. Another server keeps its limit.
    pub fn set_rate(&mut self, rate: Rate) {
        self.server.set_rate(self.now, rate);
    }

    /// The rate that a process's law allows now, in calls a second, if it has one.
    pub fn rate(&self, process: usize) -> Option<f64> {
        self.processes[process].throttle.rate(self.now)
    }

    pub fn processes(&self) -> impl Iterator<Item = u32> {
        self.threads.iter().map(|thread| thread.process)
    }

    /// Polls the throttle for a thread's call. False if the throttle has no room.
    fn poll(&mut self, index: u32, watch: &mut impl FnMut(&Step)) -> Result<bool, Breach> {
        let now = self.now;
        let thread = &mut self.threads[index as usize];
        if matches!(thread.state, State::Away | State::Gone) {
            return Ok(true); // the thread leaves when its call has completed
        }
        if now >= thread.to {
            self.leave_world(index, watch);
            return Ok(true);
        }
        if thread.state == State::Idle {
            thread.begin(now);
        }
        let number = thread.process;
        let answer = self.processes[number as usize].throttle.poll(now, &thread.call);
        self.conclude(index, answer, watch)?;
        if answer == Answer::Queued {
            self.serve(number, watch)?;
        }
        Ok(answer != Answer::Full)
    }

    fn conclude(
        &mut self,
        index: u32,
        answer: Answer,
        watch: &mut impl FnMut(&Step),
    ) -> Result<(), Breach> {
        let now = self.now;
        let thread = &mut self.threads[index as usize];
        let number = thread.process;
        let process = &mut self.processes[number as usize];
        let what = match answer {
            Answer::Admit(permit) => {
                let waited = now - thread.asked;
                thread.state = State::Away;
                thread.permit = permit;
                (thread.response.sent, thread.response.waited) = (now, waited);
                process.in_flight += 1;
                let way = self.scenario.latency.get_ref().draw(&mut thread.chance);
                self.agenda.enter(now + way, Event::Arrive(index));
                self.tally.left(index, now, waited);
                What::Sent(waited)
            }
            Answer::Wait(until) if until <= now => {
                return Err(Breach::ZeroWait { process: number, until });
            }
            Answer::Wait(until) => {
                thread.state = State::Waiting;
                self.agenda.enter(until, Event::Poll(index));
                What::Waits(until)
            }
            Answer::Full => {
                thread.state = State::Parked;
                process.parked.push_front(index);
                let next = process.throttle.next_at(now).filter(|next| *next > now);
                self.sleep(number, next)?;
                What::Full
            }
            Answer::Queued => {
                thread.state = State::Parked;
                if thread.to < Instant::MAX {
                    self.agenda.enter(thread.to, Event::Poll(index));
                }
                What::Queued
            }
            Answer::Reject(reason) => {
                self.lost += 1;
                self.end_call(index, now + REJECTED, false);
                What::Rejected(reason)
            }
        };
        self.check_permits(number)?;
        self.note(index, what, watch);
        Ok(())
    }

    /// Schedules a process to look again at `next`. False if it looks earlier anyway.
    fn sleep(&mut self, number: u32, next: Option<Instant>) -> Result<bool, Breach> {
        let process = &mut self.processes[number as usize];
        match next {
            Some(until) if until <= self.now => Err(Breach::ZeroWait { process: number, until }),
            Some(next) if process.wake <= self.now || next < process.wake => {
                process.wake = next;
                self.agenda.enter(next, Event::Wake(number));
                Ok(true)
            }
            None if process.in_flight == 0 => Err(Breach::Stuck { process: number }),
            _ => Ok(false),
        }
    }

    fn arrive(&mut self, index: u32, watch: &mut impl FnMut(&Step)) {
        let now = self.now;
        self.server.reach(index as usize);
        let mut answer = match self.threads[index as usize].bad {
            Some(bad) if !PLAIN => self.server.refuse(now, bad),
            _ => self.server.arrive(now),
        };
        let thread = &mut self.threads[index as usize];
        let way = self.scenario.latency.get_ref().draw(&mut thread.chance);
        let mut back = now + answer.delay + way;
        if let Some(until) = thread.gives_up(back) {
            // The server does not know that the client gave up, and does the work.
            (answer.outcome, answer.hint) = (Outcome::Failed, Hint::NONE);
            back = until.max(now);
        }
        thread.response.outcome = answer.outcome;
        thread.response.hint = answer.hint;
        self.agenda.enter(back, Event::Return(index));
        self.tally.arrived(index, now, &answer);
        if !PLAIN && let Some(stop) = self.scenario.stop_at_remaining {
            self.over =
                self.server.limit().standing(now).remaining.is_some_and(|left| left <= stop);
        }
        if let Some(stop) = self.scenario.stop_after_calls {
            self.over |= self.tally.calls() >= stop;
        }
        self.note(index, What::Decided(answer.outcome), watch);
    }

    fn take_back(&mut self, index: u32, watch: &mut impl FnMut(&Step)) -> Result<(), Breach> {
        let now = self.now;
        let thread = &mut self.threads[index as usize];
        let response = thread.response;
        let Response { outcome, sent, waited, .. } = response;
        let number = thread.process;
        let process = &mut self.processes[number as usize];
        process.in_flight -= 1;
        process.throttle.settle(now, thread.permit, &response);
        thread.call.attempt = thread.call.attempt.saturating_add(1);
        let tries = thread.group.tries.is_none_or(|tries| thread.call.attempt < tries);
        let again = tries && process.throttle.retry(now, &mut thread.call, &response);
        if again && outcome == Outcome::Ok {
            return Err(Breach::Again { process: number });
        }
        thread.asked = now;
        thread.state = State::Waiting;
        let begun = thread.begun;
        self.note(index, What::Back { outcome, sent, waited }, watch);
        self.check_permits(number)?;
        self.wake(number, watch)?;
        if again {
            return self.poll(index, watch).map(|_| ());
        }
        if outcome == Outcome::Ok {
            self.tally.served(index, now, begun);
        } else {
            self.lost += 1;
            self.note(index, What::GivenUp, watch);
        }
        match self.end_call(index, now, outcome == Outcome::Ok) {
            Some(next) if next == now => self.poll(index, watch).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Ends a thread's call, and schedules the next one unless it starts immediately: then the
    /// caller continues with it.
    fn end_call(&mut self, index: u32, earliest: Instant, served: bool) -> Option<Instant> {
        let now = self.now;
        let thread = &mut self.threads[index as usize];
        let next = thread.next(now, served).map(|next| next.max(earliest));
        match next {
            Some(next) => {
                thread.state = State::Idle;
                if next > now {
                    self.agenda.enter(next, Event::Poll(index));
                }
            }
            None => {
                thread.state = State::Gone;
                self.there -= 1;
                self.at_work -= u64::from(thread.has_fixed_work());
                self.over |= self.at_work == 0 && self.scenario.stop_when_work_is_done;
                self.tally.work_done(self.at_work, now);
            }
        }
        next
    }

    fn leave_world(&mut self, index: u32, watch: &mut impl FnMut(&Step)) {
        let thread = &mut self.threads[index as usize];
        let had_call = thread.state.has_call();
        thread.state = State::Gone;
        let Process { throttle, first, .. } = &mut self.processes[thread.process as usize];
        throttle.withdraw(self.now, index - *first);
        self.there -= 1;
        self.at_work -= u64::from(thread.has_fixed_work());
        if had_call {
            self.note(index, What::Withdrawn, watch);
        }
    }

    /// Sends what is next in the queue of a process.
    fn serve(&mut self, number: u32, watch: &mut impl FnMut(&Step)) -> Result<(), Breach> {
        loop {
            let process = &mut self.processes[number as usize];
            match process.throttle.next(self.now) {
                Next::Decided(own, answer) => {
                    let index = process.first + own;
                    self.conclude(index, answer, watch)?;
                }
                Next::Sleep { until: None, first: None } => return Ok(()),
                Next::Sleep { until, first } => {
                    let first = first.map(|own| process.first + own);
                    if self.sleep(number, until)?
                        && let (Some(first), Some(until)) = (first, until)
                    {
                        self.note(first, What::Waits(until), watch);
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Polls again for calls that found no room, longest wait first.
    fn wake(&mut self, process: u32, watch: &mut impl FnMut(&Step)) -> Result<(), Breach> {
        while let Some(index) = self.processes[process as usize].parked.pop_back() {
            if !self.poll(index, watch)? {
                // The call was parked again at the end; it moves back to the front.
                let parked = &mut self.processes[process as usize].parked;
                parked.rotate_left(1);
                break;
            }
        }
        self.serve(process, watch)
    }

    fn stranger(&mut self) {
        let Some((chance, strangers, count)) = self.strangers.as_mut().filter(|_| !PLAIN) else {
            return;
        };
        *count += 1;
        self.agenda.enter(strangers.next(self.now, *count, chance), Event::Stranger);
        self.server.reach(*count as usize);
        let answer = self.server.arrive(self.now);
        self.tally.stranger(self.now, answer.outcome);
    }

    fn note(&mut self, thread: u32, what: What, watch: &mut impl FnMut(&Step)) {
        let process = self.threads[thread as usize].process;
        let step = Step { at: self.now, process, thread, what };
        if !PLAIN {
            self.digest.add(&step);
        }
        watch(&step);
    }

    fn check_permits(&self, process: u32) -> Result<(), Breach> {
        let Process { throttle, in_flight: calls, .. } = &self.processes[process as usize];
        match throttle.in_flight() {
            Some(permits) if permits != *calls => {
                Err(Breach::Permits { process, calls: *calls, permits })
            }
            _ => Ok(()),
        }
    }

    const fn broken(&self, what: Breach) -> Broken {
        Broken { at: self.now, what }
    }
}
