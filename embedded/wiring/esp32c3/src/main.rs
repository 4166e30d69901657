//! An ESP32-C3 that posts a reading every ten seconds through a modem on UART1, which answers each line
//! with the status of the cloud's response.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::Timer;
use embedded_io_async::{Read, ReadExactError, Write};
use esp_hal::interrupt::software::SoftwareInterruptControl;
use esp_hal::rng::Rng;
use esp_hal::timer::timg::TimerGroup;
use esp_hal::uart::{Config, Uart};
use panic_halt as _;
use tidegate::signal::http;
use tidegate::{Outcome, Policy, law::Adaptive};
use tidegate_embassy::Throttle;

esp_bootloader_esp_idf::esp_app_desc!();

static UPLINK: Throttle<CriticalSectionRawMutex, Adaptive> = Throttle::new();

#[esp_rtos::main]
async fn main(_spawner: Spawner) {
    let chip = esp_hal::init(esp_hal::Config::default());
    let interrupts = SoftwareInterruptControl::new(chip.SW_INTERRUPT);
    esp_rtos::start(TimerGroup::new(chip.TIMG0).timer0, interrupts.software_interrupt0);
    let [low, high] = [(); 2].map(|()| Rng::new().random());
    UPLINK.start(const { &Policy::adaptive() }, u64::from(high) << 32 | u64::from(low));
    let Ok(uart) = Uart::new(chip.UART1, Config::default()) else {
        panic!("UART1 rejects the default configuration");
    };
    let mut modem = uart.with_rx(chip.GPIO4).with_tx(chip.GPIO5).into_async();
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
