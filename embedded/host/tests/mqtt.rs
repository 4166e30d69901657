//! The MQTT session of the README, before a broker that ends silent sessions.

use std::future::pending;

use embedded_io_async::{ErrorKind, ErrorType, Read, Write};
use tidegate_embassy_host::*;

mod readme {
    use super::{defmt, next_reading};

    include!(concat!(env!("OUT_DIR"), "/session.rs"));

    fn serial_number() -> u64 {
        7
    }

    pub(super) async fn run<N: Read + Write>(connect: impl AsyncFnMut() -> Option<N>) {
        uplink(connect).await;
    }

    /// What the tasks beside the session use.
    pub(super) fn messages() -> &'static Throttle<Mutex, Adaptive> {
        &MESSAGES
    }
}

/// The README logs to defmt, which has no place to write to here.
mod defmt {
    macro_rules! warn_ {
        ($text:literal, $value:expr) => {
            _ = $value
        };
    }
    pub(crate) use warn_ as warn;
}

const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Twice as long: the device has nothing to say in most keep-alives.
const EVERY: Duration = Duration::from_secs(60);
/// A broker that limits messages accepts one in this time, and this many at once.
const REGAIN: Duration = Duration::from_secs(180);
const BURST: u32 = 5;

thread_local! {
    static READINGS: Cell<u32> = const { Cell::new(0) };
}

async fn next_reading() -> [u8; 4] {
    Timer::after(EVERY).await;
    READINGS.set(READINGS.get() + 1);
    *b"21.5"
}

/// It sets the keep-alive, and ends a session one and a half of it after the last packet.
#[derive(Default)]
struct Broker {
    connects: Cell<u32>,
    acknowledged: Cell<u32>,
    last_packet: Cell<u64>,
    /// The reason codes that reject the next connections. Before the first of them, it ends the session as busy.
    rejects: RefCell<Vec<u8>>,
    /// It answers messages above its limit with *quota exceeded*.
    limits: Cell<bool>,
    rejected: Cell<u32>,
    /// When it can accept `BURST` messages at once.
    full: Cell<u64>,
    /// The way to the current connection is lost, and neither side knows.
    cut: Cell<bool>,
    input: RefCell<Vec<u8>>,
    output: RefCell<Vec<u8>>,
}

impl Broker {
    fn connect(&self) -> &Self {
        self.connects.set(self.connects.get() + 1);
        self.cut.set(false);
        self.input.borrow_mut().clear();
        self.output.borrow_mut().clear();
        self.last_packet.set(Instant::now().as_ticks());
        self
    }

    fn accepts(&self) -> bool {
        if self.limits.get() {
            let now = Instant::now();
            let full = Instant::from_ticks(self.full.get()).max(now);
            if full - now > REGAIN * (BURST - 1) {
                return false;
            }
            self.full.set((full + REGAIN).as_ticks());
        }
        true
    }

    fn end(&self) -> Instant {
        Instant::from_ticks(self.last_packet.get()) + KEEP_ALIVE * 3 / 2
    }
}

impl ErrorType for &Broker {
    type Error = ErrorKind;
}

impl Write for &Broker {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.input.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// The client does this after each packet.
    async fn flush(&mut self) -> Result<(), ErrorKind> {
        let packet = self.input.take();
        if self.cut.get() {
            return Ok(());
        }
        if Instant::now() > self.end() {
            return Err(ErrorKind::ConnectionReset);
        }
        self.last_packet.set(Instant::now().as_ticks());
        let answer = match packet[0] >> 4 {
            1 if !self.rejects.borrow().is_empty() => {
                vec![0x20, 3, 0, self.rejects.borrow_mut().remove(0), 0]
            }
            // CONNACK with a Server Keep Alive.
            1 => vec![0x20, 6, 0, 0, 3, 0x13, 0, KEEP_ALIVE.as_secs() as u8],
            // DISCONNECT.
            3 if !self.rejects.borrow().is_empty() => vec![0xE0, 2, 0x89, 0],
            3 => {
                let number = 4 + usize::from(packet[3]);
                let number = [packet[number], packet[number + 1]];
                if self.accepts() {
                    self.acknowledged.set(self.acknowledged.get() + 1);
                    vec![0x40, 2, number[0], number[1]]
                } else {
                    self.rejected.set(self.rejected.get() + 1);
                    vec![0x40, 3, number[0], number[1], 0x97]
                }
            }
            12 => vec![0xD0, 0],
            kind => panic!("a packet of kind {kind}"),
        };
        self.output.borrow_mut().extend(answer);
        Ok(())
    }
}

impl Read for &Broker {
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, ErrorKind> {
        if self.output.borrow().is_empty() {
            if self.cut.get() {
                return pending().await;
            }
            Timer::at(self.end()).await;
            return Ok(0);
        }
        let mut output = self.output.borrow_mut();
        let length = into.len().min(output.len());
        into[..length].copy_from_slice(&output[..length]);
        output.drain(..length);
        Ok(length)
    }
}

#[test]
fn the_session_of_the_readme_outlives_silence_a_lost_connection_and_a_busy_broker() {
    let time = Time::begin();
    let broker = Broker::default();
    let mut tasks = Tasks::new();
    tasks.spawn(readme::run(async || Some(broker.connect())));
    let mut end = Instant::now();
    let mut day = |tasks: &mut Tasks<'_>| {
        let (read, acknowledged) = (READINGS.get(), broker.acknowledged.get());
        end += Duration::from_secs(86_400);
        tasks.run(&time, end);
        (READINGS.get() - read, broker.acknowledged.get() - acknowledged)
    };
    let (read, acknowledged) = day(&mut tasks);
    assert!(read >= 1_438 && acknowledged >= read - 1, "{acknowledged} of {read}");
    assert_eq!(broker.connects.get(), 1);

    // Beside two tasks, a wait for a permit is longer than the silence that the broker allows.
    let rivals = [(); 2].map(|()| {
        tasks.spawn(async {
            while let Ok(permit) = readme::messages().acquire().await {
                Timer::after(KEEP_ALIVE).await;
                permit.settle(Outcome::Ok);
            }
        })
    });
    let (read, acknowledged) = day(&mut tasks);
    assert!(read >= 700 && acknowledged >= read - 1, "{acknowledged} of {read}");
    assert_eq!(broker.connects.get(), 1);
    rivals.iter().for_each(|rival| tasks.cancel(*rival));

    broker.cut.set(true);
    let (read, acknowledged) = day(&mut tasks);
    assert!(read >= 1_438 && acknowledged >= read - 3, "{acknowledged} of {read}");
    assert_eq!(broker.connects.get(), 2);

    // It ends the session, rejects two connections, and accepts a third of the messages.
    broker.rejects.replace(vec![0x9F, 0x89]);
    broker.limits.set(true);
    let (read, acknowledged) = day(&mut tasks);
    let rejected = broker.rejected.get();
    assert!(
        acknowledged >= 430 && rejected > 0 && rejected <= 24,
        "{acknowledged}, {rejected}, {read}"
    );
    assert_eq!(broker.connects.get(), 5);
}
