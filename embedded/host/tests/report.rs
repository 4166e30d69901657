//! What a broker says beside the calls, and one that says nothing.

use rust_mqtt::client::MqttError;
use rust_mqtt::types::ReasonCode;
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

/// A broker that accepts 100 messages in any second, and otherwise hangs up without a word.
#[test]
fn under_its_published_limit_a_broker_that_hangs_up_does_not() {
    let time = Time::begin();
    let law = Adaptive::with_quota(Quota::per_second(90).unwrap().with_burst(5).unwrap());
    let uplink = throttle_of::<_, 4>(Policy::adaptive().limits([law]));
    let sessions = Sessions::<NoopRawMutex>::new(|| 9);
    let broker = RefCell::new(Sliding::new(100, TICK_HZ));
    let (served, connects) = (Cell::new(0), Cell::new(0));
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        loop {
            let connection = sessions.connect().await;
            connects.set(connects.get() + 1);
            connection.open();
            loop {
                let permit = uplink.acquire().await.unwrap();
                Timer::after_millis(4).await;
                if !broker.borrow_mut().take(Instant::now().as_ticks(), 1) {
                    permit.settle(Outcome::Failed);
                    break;
                }
                served.set(served.get() + 1);
                permit.settle(Outcome::Ok);
            }
        }
    });
    tasks.run(&time, Instant::from_secs(600));
    assert!(served.get() >= 85 * 600 && connects.get() == 1, "{served:?}, {connects:?}");
}
