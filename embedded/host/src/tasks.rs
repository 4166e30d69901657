//! Tasks that are polled only when woken, as in embassy's executor.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Wake;

use embassy_time::Instant;

use crate::clock::{Time, far};

/// Counts how often a task was woken.
#[derive(Debug, Default)]
struct Woken(AtomicU64);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct Task<'a> {
    future: Pin<Box<dyn Future<Output = ()> + 'a>>,
    woken: Arc<Woken>,
    seen: u64,
    polls: u64,
}

#[derive(Default)]
pub struct Tasks<'a> {
    tasks: Vec<Option<Task<'a>>>,
    polls: u64,
}

impl<'a> Tasks<'a> {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn spawn(&mut self, future: impl Future<Output = ()> + 'a) -> usize {
        let woken = Arc::new(Woken(AtomicU64::new(1)));
        self.tasks.push(Some(Task { future: Box::pin(future), woken, seen: 0, polls: 0 }));
        self.tasks.len() - 1
    }

    /// Polls every woken task once. Returns whether there was one.
    pub fn turn(&mut self) -> bool {
        let mut any = false;
        for slot in &mut self.tasks {
            let Some(task) = slot else { continue };
            let woken = task.woken.0.load(Ordering::SeqCst);
            if woken == task.seen {
                continue;
            }
            task.seen = woken;
            task.polls += 1;
            self.polls += 1;
            any = true;
            let waker = Waker::from(task.woken.clone());
            if task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                *slot = None;
            }
        }
        any
    }

    /// Runs until all tasks are done or `end` is reached.
    ///
    /// # Panics
    /// Panics if a task is polled endlessly without progress of time.
    pub fn run(&mut self, time: &Time, end: Instant) {
        loop {
            let mut turns = 0;
            while self.turn() {
                turns += 1;
                assert!(turns < 100_000, "a task spins");
            }
            if self.left() == 0 || Instant::now() >= end {
                return;
            }
            time.jump(end);
        }
    }

    /// Runs until all tasks are done, and drops this one after this many polls. Returns whether it was done before.
    ///
    /// # Panics
    /// Panics if a task is not done for a long time after that.
    pub fn run_dropping(&mut self, time: &Time, number: usize, polls: u64) -> bool {
        let mut is_dropped = false;
        loop {
            if self.tasks[number].as_ref().is_some_and(|task| task.polls == polls) {
                self.cancel(number);
                is_dropped = true;
            }
            if self.left() == 0 {
                return !is_dropped;
            }
            assert!(Instant::now() < far(), "dropped after {polls} polls, it delays another task");
            if !self.turn() {
                time.jump(far());
            }
        }
    }

    pub fn cancel(&mut self, number: usize) {
        self.tasks[number] = None;
    }

    pub fn left(&self) -> usize {
        self.tasks.iter().flatten().count()
    }

    /// How often a task was polled. 0 if it is done.
    pub fn polls_of(&self, number: usize) -> u64 {
        self.tasks[number].as_ref().map_or(0, |task| task.polls)
    }

    pub fn polls(&self) -> u64 {
        self.polls
    }
}

/// Waits until the task is polled once more, and wakes it.
pub async fn next_poll() {
    let mut polled = false;
    poll_fn(|context| {
        if core::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
