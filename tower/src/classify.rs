//! Classifies results: the outcome of a call, and the server's hints.

use tidegate::signal::http::Answer;
use tidegate::{Outcome, Reply};

/// Reads the outcome of a call from a result of type `R`.
///
/// [`Standard`] reads the results that this crate knows. For your own type, implement `Classify<R>`
/// for `Standard`, or pass a function:
///
/// ```
/// use tidegate_tower::{Classify, Standard};
/// use tidegate_tower::tidegate::{Hint, Outcome, Reply, Span};
///
/// struct Quote { price: u32, over_limit: bool }
///
/// impl Classify<Quote> for Standard {
///     fn classify(&self, quote: &Quote) -> Reply {
///         if quote.over_limit { Outcome::Throttled.into() } else { Outcome::Ok.into() }
///     }
/// }
///
/// let in_cents = |price: &u32| -> Reply {
///     if *price == 0 { Outcome::Busy.with(Hint::retry_after(Span::from_secs(2))) } else { Outcome::Ok.into() }
/// };
/// assert_eq!(in_cents.classify(&0).outcome, Outcome::Busy);
/// # assert_eq!(Standard.classify(&Quote { price: 1, over_limit: true }).outcome, Outcome::Throttled);
/// # assert_eq!(Quote { price: 1, over_limit: true }.price, 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot read the outcome of a call from `{R}`",
    note = "pass a function with `run_with` or `classify`, or implement `Classify<{R}>` for `Standard`",
    note = "a closure that returns parsed data may return a reply beside it: `Ok((read(status, headers), data))`"
)]
pub trait Classify<R: ?Sized, const LIMITS: usize = 1> {
    /// The outcome and the hints.
    fn classify(&self, result: &R) -> Reply<LIMITS>;
}

impl<R: ?Sized, F: Fn(&R) -> Reply<LIMITS>, const LIMITS: usize> Classify<R, LIMITS> for F {
    fn classify(&self, result: &R) -> Reply<LIMITS> {
        self(result)
    }
}

/// Reads all results that this crate knows.
///
/// | result | reply |
/// |---|---|
/// | [`Outcome`], [`Reply`], [`Answer`] | the same |
/// | `()` | the call was served |
/// | `(R, T)` | that of `R` |
/// | `Result<R, E>` | that of `R` or `E` |
/// | `Box<dyn Error + Send + Sync>` | that of an error of reqwest in it; any other call failed |
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Standard;

macro_rules! classify {
    ($($reply:ty),*) => {$(
        impl<const LIMITS: usize> Classify<$reply, LIMITS> for Standard {
            fn classify(&self, reply: &$reply) -> Reply<LIMITS> {
                (*reply).into()
            }
        }
    )*};
}
classify!(Outcome, Reply<LIMITS>, Answer);

impl<const LIMITS: usize> Classify<(), LIMITS> for Standard {
    fn classify(&self, (): &()) -> Reply<LIMITS> {
        Outcome::Ok.into()
    }
}

impl<const LIMITS: usize> Classify<std::convert::Infallible, LIMITS> for Standard {
    fn classify(&self, never: &std::convert::Infallible) -> Reply<LIMITS> {
        match *never {}
    }
}

impl<const LIMITS: usize> Classify<crate::BoxError, LIMITS> for Standard {
    fn classify(&self, error: &crate::BoxError) -> Reply<LIMITS> {
        #[cfg(feature = "reqwest")]
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return self.classify(error);
        }
        let _ = error;
        Outcome::Failed.into()
    }
}

impl<R, T, const LIMITS: usize> Classify<(R, T), LIMITS> for Standard
where
    Self: Classify<R, LIMITS>,
{
    fn classify(&self, (result, _): &(R, T)) -> Reply<LIMITS> {
        self.classify(result)
    }
}

impl<R, E, const LIMITS: usize> Classify<Result<R, E>, LIMITS> for Standard
where
    Self: Classify<R, LIMITS> + Classify<E, LIMITS>,
{
    fn classify(&self, result: &Result<R, E>) -> Reply<LIMITS> {
        match result {
            Ok(response) => self.classify(response),
            Err(error) => self.classify(error),
        }
    }
}

/// Reads responses like [`Standard`], and treats every error as a failed call. A
/// [`Throttle`](crate::Throttle) uses it for the results of a service.
///
/// ```
/// # use tidegate_tower::{Gate, Responses, tidegate::Outcome};
/// # async fn send() -> Result<Outcome, std::io::Error> { Ok(Outcome::Ok) }
/// # async fn call(gate: Gate) -> Result<(), tidegate_tower::Error> {
/// let result = gate.call().run_with(Responses, send).await?;
/// # drop(result); Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Responses;

impl<R, E, const LIMITS: usize> Classify<Result<R, E>, LIMITS> for Responses
where
    Standard: Classify<R, LIMITS>,
{
    fn classify(&self, result: &Result<R, E>) -> Reply<LIMITS> {
        match result {
            Ok(response) => Standard.classify(response),
            Err(_) => Outcome::Failed.into(),
        }
    }
}
