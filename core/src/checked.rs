//! Constants whose range the compiler checks.

/// The value of a constant expression that returns a `Result`, such as a [`Quota`](crate::Quota) or
/// a [`Backoff`](crate::backoff::Backoff). A value out of range is a compile error, so it cannot
/// panic at run time. Usable in a `static`, a `const` or a function.
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
