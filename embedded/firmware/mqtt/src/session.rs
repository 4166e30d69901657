//! One connection, from its first packet to its end.

use core::fmt::Write;
use core::future::pending;
use core::mem::replace;
use core::num::NonZeroU16;

use board::net::HOST;
use embassy_futures::select::{Either4, select4};
use embassy_net::Stack;
use embassy_net::tcp::TcpSocket;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::{Duration, Ticker, with_timeout};
use embedded_io_async::ErrorKind;
use heapless::String;
use rust_mqtt::buffer::BumpBuffer;
use rust_mqtt::client::event::Event;
use rust_mqtt::client::options::{
    ConnectOptions, DisconnectOptions, PublicationOptions, TopicReference,
};
use rust_mqtt::client::{Client, MqttError};
use rust_mqtt::config::KeepAlive;
use rust_mqtt::types::{MqttString, TopicName};
use tidegate_embassy::{Connection, outcome};

use crate::post::Post;
use crate::{FLIGHTS, IN_FLIGHT, MESSAGES};

const PORT: u16 = 1883;
const NAME: MqttString<'_> = MqttString::from_str_unchecked("sensor");
const TOPIC: TopicName<'_> = TopicName::new_unchecked(MqttString::from_str_unchecked("telemetry"));

/// The number of messages per burst of the sensor. It exceeds the broker's limit.
const BURST: u32 = 8;
const EVERY: Duration = Duration::from_millis(400);
/// A broker that does not take a connection within this time is considered lost.
const PATIENCE: Duration = Duration::from_secs(10);
/// In seconds. The broker may choose another. Two pings are sent in it.
const KEEP_ALIVE: NonZeroU16 = NonZeroU16::new(20).unwrap();

type Mqtt<'a> = Client<'a, 'a, TcpSocket<'a>, BumpBuffer<'a>, 0, 1, FLIGHTS, 0, 0, 0, 0>;

/// Connects, and sends messages until all are acknowledged or the connection ends.
pub async fn hold(
    stack: Stack<'static>,
    post: &mut Post,
    connection: &Connection<'_, CriticalSectionRawMutex>,
) {
    let (mut receive, mut send, mut room) = ([0; 1024], [0; 1024], [0; 512]);
    let mut buffer = BumpBuffer::new(&mut room);
    let mut socket = TcpSocket::new(stack, &mut receive, &mut send);
    socket.set_timeout(Some(PATIENCE));
    if socket.connect((HOST, PORT)).await.is_err() {
        return;
    }
    let mut client = Mqtt::new(&mut buffer);
    let options = ConnectOptions::new().clean_start().keep_alive(KeepAlive::Seconds(KEEP_ALIVE));
    match with_timeout(PATIENCE, client.connect(socket, &options, Some(NAME))).await {
        Ok(Ok(_)) => connection.open(),
        refused => {
            defmt::warn!("mqtt: not connected: {}", defmt::Debug2Format(&refused.map(|_| ())));
            return;
        }
    }
    let most = client.server_config().receive_maximum;
    defmt::info!("mqtt: connected, the broker takes {=u16} messages at once", most.get());
    // The broker counts a message until it acknowledges it, however long that takes.
    MESSAGES.set_concurrency(most.min(IN_FLIGHT));
    if let Err(error) = exchange(&mut client, post).await {
        defmt::warn!("mqtt: the connection has ended: {}", defmt::Debug2Format(&error));
        post.lost(outcome(&error));
    }
}

/// Sends, receives and pings, until all messages are acknowledged.
async fn exchange<'a>(client: &mut Mqtt<'a>, post: &mut Post) -> Result<(), MqttError<'a, 0>> {
    let keep_alive = match client.shared_config().keep_alive {
        KeepAlive::Seconds(seconds) => seconds,
        KeepAlive::Infinite => KEEP_ALIVE,
    };
    let mut pings = Ticker::every(Duration::from_secs(keep_alive.get().into()) / 2);
    let mut received = true;
    let mut sensor = Ticker::every(EVERY);
    // Outside of the loop, because an `acquire` that is dropped loses its place in the queue.
    let mut acquire = MESSAGES.acquire();
    while !post.is_done() {
        let permit = async {
            match post.next() {
                Some(number) => (number, (&mut acquire).await),
                None => pending().await,
            }
        };
        match select4(sensor.next(), permit, client.poll_header(), pings.next()).await {
            Either4::First(()) => (0..BURST).for_each(|_| post.offer()),
            Either4::Second((number, permit)) => {
                acquire = MESSAGES.acquire();
                let mut payload: String<16> = String::new();
                let (Ok(permit), Ok(())) = (permit, write!(payload, "{number}")) else {
                    defmt::panic!("a message is rejected, or exceeds its buffer");
                };
                let options = PublicationOptions::new(TopicReference::Name(TOPIC)).at_least_once();
                match client.publish(&options, payload.as_bytes().into()).await {
                    Ok(Some(packet)) => post.left(packet, permit),
                    Ok(None) => {} // Nothing was sent, so the permit is returned.
                    Err(error) => {
                        post.broken();
                        return Err(error);
                    }
                }
            }
            Either4::Third(header) => {
                received = true;
                match client.poll_body(header?).await? {
                    Event::PublishAcknowledged(answer) => {
                        post.answered(answer.packet_identifier, outcome(&answer.reason_code));
                    }
                    Event::PublishRejected(answer) => {
                        post.answered(answer.packet_identifier, outcome(&answer.reason_code));
                    }
                    _ => {}
                }
            }
            Either4::Fourth(()) if replace(&mut received, false) => client.ping().await?,
            // The last ping has no answer.
            Either4::Fourth(()) => return Err(MqttError::Network(ErrorKind::TimedOut)),
        }
        // SAFETY: everything received has been dropped.
        unsafe { client.buffer_mut().reset() };
    }
    let _ = client.disconnect(&DisconnectOptions::new()).await;
    Ok(())
}
