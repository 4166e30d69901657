//! Constants whose range the compiler checks.

/// The value of a constant expression that returns a `Result`, such as a [`Quota`](crate::Quota) or a
/// [`Backoff`](crate::backoff::Backoff). What is out of range does not compile, so nothing can panic when the program
/// runs. It works in a `static`, a `const` and a function.
///
/// ```
/// use tidegate::law::Fixed;
/// use tidegate::{Policy, Quota, checked};
///
/// static SIX_A_MINUTE: Policy<Fixed> = Policy::new(Fixed::new(checked!(Quota::per_minute(6))));
/// # let _ = &SIX_A_MINUTE;
/// ```
///
/// ```compile_fail
/// use tidegate::{Quota, checked};
///
/// const NONE: Quota = checked!(Quota::per_minute(0));
/// # let _ = NONE;
/// ```
#[macro_export]
macro_rules! checked {
    ($value:expr) => {
        const {
            match $value {
                Ok(value) => value,
                Err(_) => panic!(concat!(stringify!($value), " is out of range")),
            }
        }
    };
}
