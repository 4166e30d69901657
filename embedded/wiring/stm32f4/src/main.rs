//! An STM32F411 that posts a reading every ten seconds through a modem on USART1, which answers each
//! line with the status of the cloud's response.
#![no_std]
#![no_main]

use cortex_m as _;
use embassy_executor::Spawner;
use embassy_stm32::usart::{BufferedInterruptHandler, BufferedUart, Config};
use embassy_stm32::{bind_interrupts, peripherals::USART1, uid};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::Timer;
use embedded_io_async::{Read, ReadExactError, Write};
use panic_halt as _;
use tidegate::signal::http;
use tidegate::{Outcome, Policy, law::Adaptive};
use tidegate_embassy::Throttle;

bind_interrupts!(struct Interrupts {
    USART1 => BufferedInterruptHandler<USART1>;
});

static UPLINK: Throttle<CriticalSectionRawMutex, Adaptive> = Throttle::new();

/// The chip's unique number: its lot, its wafer and its position there, combined.
fn serial_number() -> u64 {
    uid::uid().iter().fold(0, |seed, byte| u64::rotate_left(seed, 8) ^ u64::from(*byte))
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let chip = embassy_stm32::init(Default::default());
    UPLINK.start(const { &Policy::adaptive() }, serial_number());
    let (mut sending, mut receiving) = ([0; 64], [0; 64]);
    let Ok(mut modem) = BufferedUart::new(
        chip.USART1,
        chip.PA10,
        chip.PA9,
        &mut sending,
        &mut receiving,
        Interrupts,
        Config::default(),
    ) else {
        panic!("USART1 rejects the default configuration");
    };
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
