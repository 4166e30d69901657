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
use embassy_time::{Duration, Ticker, TimeoutError, with_timeout};
use heapless::String;
use rust_mqtt::Bytes;
use rust_mqtt::buffer::BumpBuffer;
use rust_mqtt::client::event::Event;
use rust_mqtt::client::options::{
    ConnectOptions, DisconnectOptions, PublicationOptions, TopicReference,
};
use rust_mqtt::client::{Client, MqttError};
use rust_mqtt::config::KeepAlive;
use rust_mqtt::types::{MqttString, TopicName};
use tidegate::Outcome;
use tidegate_embassy::{Connection, outcome};

use crate::post::Post;
use crate::{FLIGHTS, IN_FLIGHT, MESSAGES};

const PORT: u16 = 1883;
const NAME: &str = "sensor";
const TOPIC: &str = "telemetry";

/// The number of messages per burst of the sensor. It exceeds the broker's limit.
const BURST: u32 = 8;
const EVERY: Duration = Duration::from_millis(400);
/// A broker that does not take a connection within this time is considered lost.
const PATIENCE: Duration = Duration::from_secs(10);
/// In seconds. The broker may choose another. Two pings are sent in it.
const KEEP_ALIVE: NonZeroU16 = NonZeroU16::new(20).unwrap();

type Mqtt<'a> = Client<'a, 'a, TcpSocket<'a>, BumpBuffer<'a>, 0, 1, FLIGHTS, 0, 0, 0, 0>;

/// Connects, and sends messages until all are acknowledged or the connection ends. Returns the
/// outcome of connecting.
pub async fn hold(
    stack: Stack<'static>,
    post: &mut Post,
    connection: &Connection<'_, CriticalSectionRawMutex>,
) -> Outcome {
    let (mut receive, mut send, mut room) = ([0; 1024], [0; 1024], [0; 512]);
    let mut buffer = BumpBuffer::new(&mut room);
    let mut socket = TcpSocket::new(stack, &mut receive, &mut send);
    socket.set_timeout(Some(PATIENCE));
    if socket.connect((HOST, PORT)).await.is_err() {
        return Outcome::Failed;
    }
    let mut client = Mqtt::new(&mut buffer);
    if let Err(outcome) = connect(&mut client, socket).await {
        return outcome;
    }
    connection.open();
    let ended = exchange(&mut client, post).await;
    post.lost(ended);
    Outcome::Ok
}

async fn connect<'a>(client: &mut Mqtt<'a>, socket: TcpSocket<'a>) -> Result<(), Outcome> {
    let name = MqttString::from_str(NAME).map_err(|_| Outcome::Failed)?;
    let options = ConnectOptions::new().clean_start().keep_alive(KeepAlive::Seconds(KEEP_ALIVE));
    match with_timeout(PATIENCE, client.connect(socket, &options, Some(name))).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return Err(ended(&error)),
        Err(TimeoutError) => return Err(Outcome::Failed),
    }
    let most = client.server_config().receive_maximum;
    defmt::info!("mqtt: connected, the broker takes {=u16} messages at once", most.get());
    // The broker counts a message until it acknowledges it, however long that takes.
    MESSAGES.set_concurrency(most.min(IN_FLIGHT));
    Ok(())
}

/// Sends, receives and pings. Returns how the connection ended.
async fn exchange(client: &mut Mqtt<'_>, post: &mut Post) -> Outcome {
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
        let result = match select4(sensor.next(), permit, client.poll_header(), pings.next()).await
        {
            Either4::First(()) => {
                post.offer(BURST);
                Ok(())
            }
            Either4::Second((number, Ok(permit))) => {
                acquire = MESSAGES.acquire();
                match publish(client, number).await {
                    Ok(Some(packet)) => {
                        post.left(packet, permit);
                        Ok(())
                    }
                    // Nothing was sent, so the permit is returned.
                    Ok(None) => Ok(()),
                    Err(error) => Err(ended(&error)),
                }
            }
            Either4::Second((_, Err(_))) => Err(Outcome::Failed),
            Either4::Third(header) => {
                received = true;
                receive(client, header, post).await
            }
            Either4::Fourth(()) if replace(&mut received, false) => {
                client.ping().await.map_err(|error| ended(&error))
            }
            // The last ping has no answer.
            Either4::Fourth(()) => Err(Outcome::Failed),
        };
        if let Err(outcome) = result {
            return outcome;
        }
        // SAFETY: everything received has been dropped.
        unsafe { client.buffer_mut().reset() };
    }
    let _ = client.disconnect(&DisconnectOptions::new()).await;
    Outcome::Ok
}

type Published<'a> = Result<Option<rust_mqtt::types::PacketIdentifier>, MqttError<'a, 0>>;

async fn publish<'a>(client: &mut Mqtt<'a>, number: u32) -> Published<'a> {
    let topic = MqttString::from_str(TOPIC).ok().and_then(TopicName::new);
    let mut payload: String<16> = String::new();
    let (Some(topic), Ok(())) = (topic, write!(payload, "{number}")) else {
        defmt::panic!("a message exceeds its buffer");
    };
    let options = PublicationOptions::new(TopicReference::Name(topic)).at_least_once();
    client.publish(&options, Bytes::from(payload.as_bytes())).await
}

async fn receive<'a>(
    client: &mut Mqtt<'a>,
    header: Result<rust_mqtt::header::FixedHeader, MqttError<'a, 0>>,
    post: &mut Post,
) -> Result<(), Outcome> {
    let header = header.map_err(|error| ended(&error))?;
    match client.poll_body(header).await {
        Ok(Event::PublishAcknowledged(answer)) => {
            post.answered(answer.packet_identifier, outcome(&answer.reason_code));
        }
        Ok(Event::PublishRejected(answer)) => {
            post.answered(answer.packet_identifier, outcome(&answer.reason_code));
        }
        Ok(_) => {}
        Err(error) => return Err(ended(&error)),
    }
    Ok(())
}

/// The outcome of a call that ended with this error.
fn ended<const N: usize>(error: &MqttError<'_, N>) -> Outcome {
    defmt::warn!("mqtt: the connection has ended: {}", defmt::Debug2Format(error));
    outcome(error)
}
