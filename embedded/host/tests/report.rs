//! What a broker says beside the calls, and one that says nothing.

use rust_mqtt::client::MqttError;
use rust_mqtt::types::ReasonCode;
use tidegate::firmware::SilentLimit;
use tidegate::law::Aimd;
use tidegate_embassy_host::*;

/// Two tasks publish without acknowledgements, as often as they may. The broker accepts 30 messages a minute, drops
/// the others, and says on a topic for how long it does.
#[test]
fn no_message_of_a_throttle_topic_is_lost_while_tasks_wait() {
    let time = Time::begin();
    let uplink = throttle_of::<_, 4>(Policy::adaptive());
    let broker = RefCell::new(Window::new(30, 60 * TICK_HZ));
    let (topic, messages) = (Cell::new(None), Cell::new(0));
    let (served, dropped) = (Cell::new(0), Cell::new(0));
    let mut tasks = Tasks::new();
    for _ in 0..2 {
        tasks.spawn(async {
            loop {
                let permit = uplink.acquire().await.unwrap();
                if broker.borrow_mut().take(Instant::now().as_ticks(), 1) {
                    served.set(served.get() + 1);
                } else {
                    dropped.set(dropped.get() + 1);
                    topic.set(Some(broker.borrow().retry_after(1).div_ceil(TICK_HZ)));
                }
                permit.settle(Outcome::Ok);
                Timer::after_millis(500).await;
            }
        });
    }
    tasks.spawn(async {
        loop {
            Timer::after_millis(200).await;
            if let Some(secs) = topic.take() {
                messages.set(messages.get() + 1);
                uplink.report(Outcome::Throttled.with(Hint::retry_after(Span::from_secs(secs))));
                let next = uplink.next_at().unwrap();
                assert!(next >= Instant::now() + Duration::from_secs(secs), "{next:?}");
            }
        }
    });
    tasks.run(&time, Instant::from_secs(3_600));
    println!("{} served, {} dropped, {} messages", served.get(), dropped.get(), messages.get());
    assert!(messages.get() > 0);
    assert!(served.get() >= 1_440 && dropped.get() <= 72, "{} {}", served.get(), dropped.get());
}

#[test]
fn each_disconnect_or_command_after_a_call_lowers_the_rate() {
    let time = Time::begin();
    let uplink = throttle_of::<_, 4>(Policy::new(Aimd::DEFAULT));
    let disconnect: Result<Outcome, MqttError<'_, 0>> = Err(MqttError::Disconnect {
        reason: ReasonCode::MessageRateTooHigh,
        reason_string: None,
        user_properties: Default::default(),
        server_reference: None,
    });
    for number in 0..9 {
        let mut tasks = Tasks::new();
        tasks.spawn(served(uplink.acquire()));
        tasks.run(&time, far());
        let before = uplink.interval();
        match number % 3 {
            0 => uplink.report(ReasonCode::MessageRateTooHigh),
            1 => uplink.report(disconnect.as_ref().unwrap_err()),
            _ => uplink.report(Outcome::Throttled),
        }
        assert!(uplink.interval() > before, "{number}");
    }
}

/// A client that always has a message, before a broker that hangs up above `limit` messages in any second, over a link
/// that also ends each session after 20 minutes if it `flaps`. Returns how much of the limit is used in an hour, and how
/// often the broker hangs up.
fn silent(law: Adaptive, learns: bool, limit: u32, flaps: bool) -> (f64, u32) {
    let time = Time::begin();
    let uplink = throttle_of::<_, 4>(Policy::adaptive().limits([law]));
    let sessions = Sessions::<NoopRawMutex>::new(|| 9);
    let mut broker = Sliding::new(limit.into(), TICK_HZ);
    let (served, ended) = (Cell::new(0), Cell::new(0));
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        let mut learned = SilentLimit::new(Span::from_secs(1));
        loop {
            let connection = sessions.connect().await;
            connection.open();
            let opened = Instant::now();
            loop {
                let permit = uplink.acquire().await.unwrap();
                Timer::after_millis(4).await;
                let now = tidegate_embassy::time::instant(Instant::now());
                let flapped = flaps && opened.elapsed() > Duration::from_secs(1_200);
                if flapped || !broker.take(Instant::now().as_ticks(), 1) {
                    ended.set(ended.get() + u32::from(!flapped));
                    permit.settle(if learns { learned.lost(now) } else { Outcome::Failed.into() });
                    break;
                }
                served.set(served.get() + 1);
                permit.settle(if learns { learned.served(now) } else { Outcome::Ok.into() });
            }
        }
    });
    tasks.run(&time, Instant::from_secs(3_600));
    (f64::from(served.get()) / f64::from(limit * 3_600), ended.get())
}

#[test]
fn a_broker_that_hangs_up_teaches_its_limit_and_does_not_under_a_published_one() {
    let published = Adaptive::with_quota(Quota::per_second(90).unwrap().with_burst(5).unwrap());
    for (law, learns, limit, flaps, least, most) in [
        (published, false, 100, false, 0.85, 0),
        (Adaptive::DEFAULT, true, 100, true, 0.9, 5),
        (Adaptive::DEFAULT, true, 20, false, 0.9, 5),
    ] {
        let (used, ended) = silent(law, learns, limit, flaps);
        assert!(used >= least && ended <= most, "{limit}, {flaps}: {used:.2}, {ended}");
    }
}
