//! Two tasks of RTIC with different priorities that share a throttle, on an nRF52840.
#![no_std]
#![no_main]

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use panic_halt as _;
use tidegate::{Policy, law::Adaptive};
use tidegate_embassy::Throttle;

static UPLINK: Throttle<CriticalSectionRawMutex, Adaptive> = Throttle::new();

#[rtic::app(device = embassy_nrf, peripherals = false, dispatchers = [EGU0_SWI0, EGU1_SWI1])]
mod app {
    use super::{Adaptive, Policy, UPLINK};
    use embassy_nrf::pac;
    use embassy_time::Timer;
    use tidegate::Outcome;

    #[shared]
    struct Shared {}

    #[local]
    struct Local {}

    #[init]
    fn init(_: init::Context) -> (Shared, Local) {
        embassy_nrf::init(Default::default());
        let [low, high] = [0, 1].map(|half| pac::FICR.deviceid(half).read());
        UPLINK.start(const { &Policy::adaptive() }, u64::from(high) << 32 | u64::from(low));
        _ = telemetry::spawn();
        _ = alarm::spawn();
        (Shared {}, Local {})
    }

    #[task(priority = 1)]
    async fn telemetry(_: telemetry::Context) {
        loop {
            _ = UPLINK.run(async || post(b"21.5").await).await;
            Timer::after_secs(10).await;
        }
    }

    /// A task with a higher priority makes calls with a higher one.
    #[task(priority = 2)]
    async fn alarm(_: alarm::Context) {
        _ = UPLINK.call().with_priority(7).run(async || post(b"alarm").await).await;
    }

    /// Your network client.
    async fn post(_: &[u8]) -> Outcome {
        Timer::after_millis(50).await;
        Outcome::Ok
    }
}
