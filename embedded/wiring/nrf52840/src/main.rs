//! An nRF52840 that posts a reading every ten seconds through a modem on its UART, which answers each
//! line with the status of the cloud's response.
#![no_std]
#![no_main]

use cortex_m as _;
use embassy_executor::Spawner;
use embassy_nrf::uarte::{Config, InterruptHandler, Uarte};
use embassy_nrf::{bind_interrupts, pac, peripherals::UARTE0};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::Timer;
use panic_halt as _;
use tidegate::signal::http;
use tidegate::{Outcome, Policy, law::Adaptive};
use tidegate_embassy::Throttle;

bind_interrupts!(struct Interrupts {
    UARTE0 => InterruptHandler<UARTE0>;
});

/// The clock ticks at 32 768 Hz; no wait is shorter than requested.
static UPLINK: Throttle<CriticalSectionRawMutex, Adaptive> = Throttle::new();

/// The chip's unique number.
fn serial_number() -> u64 {
    let [low, high] = [0, 1].map(|half| pac::FICR.deviceid(half).read());
    u64::from(high) << 32 | u64::from(low)
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let chip = embassy_nrf::init(Default::default());
    UPLINK.start(const { &Policy::adaptive() }, serial_number());
    let mut modem = Uarte::new(chip.UARTE0, chip.P0_08, chip.P0_06, Interrupts, Config::default());
    loop {
        _ = UPLINK.run(async || post(&mut modem, b"21.5\n").await).await;
        Timer::after_secs(10).await;
    }
}

async fn post(modem: &mut Uarte<'_>, line: &[u8]) -> Result<Outcome, embassy_nrf::uarte::Error> {
    // The DMA reads only from RAM, not from flash.
    let mut sent = [0; 16];
    let line = &line[..line.len().min(sent.len())];
    sent[..line.len()].copy_from_slice(line);
    modem.write(&sent[..line.len()]).await?;
    let mut status = [0; 3];
    modem.read(&mut status).await?;
    let digits = status.map(|digit| u16::from(digit.wrapping_sub(b'0')));
    Ok(http::outcome(digits[0] * 100 + digits[1] * 10 + digits[2]))
}
