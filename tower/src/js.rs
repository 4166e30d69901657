//! The timer of JavaScript.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use js_sys::{Date, Function, Math, Promise, Reflect};
use tidegate::{Instant, Span};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use crate::timer::Timer;

/// The clock and the timers of JavaScript: `Date` and `setTimeout`, for wasm32 in Cloudflare Workers and browsers.
///
/// ```no_run
/// use tidegate_tower::tidegate::Policy;
/// use tidegate_tower::{Builder, Gate, Js};
///
/// thread_local! {
///     // The first request creates it: there is no randomness before.
///     static GATE: Gate<1, Js> = Builder::new(Policy::adaptive(), Js::default()).build();
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Js {
    /// The latest time, and by how much `Date` was set back until then.
    latest: Cell<(u64, u64)>,
}

impl Timer for Js {
    type Sleep = JsSleep;

    /// A Worker runs a task in the context of the request that wakes it, and cancels what that request waits for when
    /// it ends.
    const POLLS: Option<Duration> = Some(Duration::from_millis(50));

    fn now(&self) -> Instant {
        let (latest, offset) = self.latest.get();
        let now = since_1970().as_nanos() + offset;
        let back = latest.saturating_sub(now);
        self.latest.set((now + back, offset + back));
        Instant::from_nanos(now + back)
    }

    fn sleep_until(&self, at: Instant) -> JsSleep {
        JsSleep::new(at - self.now())
    }
}

/// A sleep of [`Js`]. A dropped one clears its timeout.
#[derive(Debug)]
pub struct JsSleep {
    ended: JsFuture,
    timeout: JsValue,
}

/// A longer timeout would be none.
const LONGEST: f64 = 2_147_483_647.0;

impl JsSleep {
    fn new(wait: Span) -> Self {
        let millis = (wait.as_nanos() as f64 / 1e6).ceil().min(LONGEST);
        let mut timeout = JsValue::UNDEFINED;
        let promise = Promise::new(&mut |resolve, _| {
            let set = global("setTimeout");
            let set =
                set.and_then(|set| set.call2(&JsValue::UNDEFINED, &resolve, &millis.into()).ok());
            timeout = set.unwrap_or_default();
        });
        Self { ended: promise.into(), timeout }
    }
}

impl Future for JsSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.ended).poll(cx).map(drop)
    }
}

impl Drop for JsSleep {
    fn drop(&mut self) {
        if let Some(clear) = global("clearTimeout") {
            let _ = clear.call1(&JsValue::UNDEFINED, &self.timeout);
        }
    }
}

fn global(name: &str) -> Option<Function> {
    Reflect::get(&js_sys::global(), &name.into()).ok()?.dyn_into().ok()
}

pub(crate) fn since_1970() -> Span {
    Span::from_nanos((Date::now() * 1e6) as u64)
}

pub(crate) fn random() -> u64 {
    (Math::random() * 2_f64.powi(53)) as u64
}
