//! What the throttle logs.

use std::sync::Mutex;

use log::{LevelFilter, Log, Metadata, Record};
use tidegate_embassy_host::*;

struct Lines(Mutex<Vec<String>>);

static LINES: Lines = Lines(Mutex::new(Vec::new()));

impl Log for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        if record.target().starts_with("tidegate_embassy") {
            self.0.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Four tasks share two calls a minute for an hour, with and without a deadline. Every tenth call is throttled.
#[test]
fn all_numbers_are_milliseconds_and_no_wait_outlasts_the_program() {
    let time = Time::begin();
    log::set_logger(&LINES).unwrap();
    log::set_max_level(LevelFilter::Trace);
    let uplink = throttle_of::<_, 4>(every(30));
    let sessions = Sessions::<NoopRawMutex>::new(|| 7);
    let calls = Cell::new(0);
    let mut tasks = Tasks::new();
    for task in 0..4 {
        let (uplink, calls) = (&uplink, &calls);
        let call = async move || {
            calls.set(calls.get() + 1);
            match calls.get() % 10 {
                3 => Outcome::Throttled.with(Hint::retry_after(Span::from_secs(90))),
                6 => Outcome::Throttled.into(),
                _ => Outcome::Ok.into(),
            }
        };
        tasks.spawn(async move {
            loop {
                if task < 2 {
                    _ = uplink.run(call).await;
                } else {
                    _ = uplink.with_timeout(Duration::from_secs(20)).run(call).await;
                    Timer::after_secs(1).await;
                }
            }
        });
    }
    tasks.spawn(async {
        loop {
            let connection = sessions.connect().await;
            connection.open();
            Timer::after_secs(70).await;
        }
    });
    tasks.run(&time, Instant::from_secs(3_600));
    let lines = LINES.0.lock().unwrap();
    for line in lines.iter() {
        assert!(!line.to_lowercase().contains("tick"), "{line}");
        let numbers = line.split(|digit: char| !digit.is_ascii_digit()).filter(|n| !n.is_empty());
        for number in numbers {
            assert!(number.parse().is_ok_and(|number: u64| number <= 3_600_000), "{line}");
        }
        assert!(!line.contains("asks for 0 ms"), "{line}");
    }
    for expected in [
        "not sent: the call could be sent in ",
        "Throttled, the server asks for 90000 ms, tried again: true",
        "Throttled, tried again: ",
        "the interval between calls is 30000 ms",
        "waits until something changes",
        "the session is open",
        "the connection has ended, the next attempt is due in ",
    ] {
        let is_logged = lines.iter().any(|line| line.starts_with(expected));
        assert!(is_logged, "{expected}: {:#?}", &lines[..lines.len().min(40)]);
    }
}
