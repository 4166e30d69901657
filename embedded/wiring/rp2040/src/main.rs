//! A Pico that posts a reading every ten seconds through a modem on UART0, which answers each line
//! with the status of the cloud's response.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_rp::clocks::RoscRng;
use embassy_rp::uart::{BufferedInterruptHandler, BufferedUart, Config};
use embassy_rp::{bind_interrupts, peripherals::UART0};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::Timer;
use embedded_io_async::{Read, ReadExactError, Write};
use panic_halt as _;
use tidegate::signal::http;
use tidegate::{Outcome, Policy, law::Adaptive};
use tidegate_embassy::Throttle;

bind_interrupts!(struct Interrupts {
    UART0_IRQ => BufferedInterruptHandler<UART0>;
});

/// Both cores may make calls: the mutex is a critical section, which stops the other core too.
static UPLINK: Throttle<CriticalSectionRawMutex, Adaptive> = Throttle::new();

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let chip = embassy_rp::init(Default::default());
    UPLINK.start(const { &Policy::adaptive() }, RoscRng.next_u64());
    let (mut sending, mut receiving) = ([0; 64], [0; 64]);
    let mut modem = BufferedUart::new(
        chip.UART0,
        chip.PIN_0,
        chip.PIN_1,
        Interrupts,
        &mut sending,
        &mut receiving,
        Config::default(),
    );
    loop {
        _ = UPLINK.run(async || post(&mut modem, b"21.5\n").await).await;
        Timer::after_secs(10).await;
    }
}

async fn post<M: Read + Write>(
    modem: &mut M,
    line: &[u8],
) -> Result<Outcome, ReadExactError<M::Error>> {
    modem.write_all(line).await?;
    let mut status = [0; 3];
    modem.read_exact(&mut status).await?;
    let digits = status.map(|digit| u16::from(digit.wrapping_sub(b'0')));
    Ok(http::outcome(digits[0] * 100 + digits[1] * 10 + digits[2]))
}
