//! Laws whose state a snapshot can store.

use super::Law;
use crate::snapshot::{Reader, Writer};

/// A law whose state can be stored.
///
/// All laws of this crate implement it. For your own law, write the state with [`Writer`], read it
/// with [`Reader`], and return `None` for a state that the law cannot have. A record that is too
/// short is rejected as a whole, so its values do not matter.
///
/// ```
/// use tidegate::law::{Aimd, Law, Record};
/// use tidegate::snapshot::{Reader, Writer};
/// use tidegate::{Instant, Span};
///
/// let (law, now) = (Aimd::DEFAULT, Instant::ZERO);
/// let mut bytes = [0; Aimd::BYTES];
/// law.write(&law.start(now), &mut Writer::new(&mut bytes, now));
/// assert_eq!(law.read(&mut Reader::new(&bytes, now, Span::ZERO)), Some(law.start(now)));
/// ```
pub trait Record: Law {
    /// Maximum length of a state in bytes.
    const BYTES: usize;

    /// Writes a state.
    fn write(&self, state: &Self::State, out: &mut Writer<'_>);

    /// Reads a state; `None` if this law cannot have it.
    fn read(&self, input: &mut Reader<'_>) -> Option<Self::State>;
}

/// Makes a law whose state is a [`Field`](crate::snapshot::Field) a [`Record`]. What comes after `where` says whether a state
/// is one that the law reaches.
macro_rules! record {
    ($law:ty, $state:ty $(where |$self:ident, $read:ident| $reached:expr)?) => {
        impl $crate::law::Record for $law {
            const BYTES: usize = <$state as $crate::snapshot::Field>::BYTES;

            fn write(&self, state: &$state, out: &mut $crate::snapshot::Writer<'_>) {
                $crate::snapshot::Field::write(state, out);
            }

            fn read(&self, input: &mut $crate::snapshot::Reader<'_>) -> Option<$state> {
                let state = <$state as $crate::snapshot::Field>::read(input);
                $(
                    let ($self, $read) = (self, &state);
                    if !$reached {
                        return None;
                    }
                )?
                Some(state)
            }
        }
    };
}
pub(crate) use record;

/// The length of the longest of several kinds, in bytes.
pub(crate) const fn longest<const N: usize>(kinds: [usize; N]) -> usize {
    let mut kinds = kinds.as_slice();
    let mut longest = 0;
    while let [bytes, rest @ ..] = kinds {
        if *bytes > longest {
            longest = *bytes;
        }
        kinds = rest;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The compiler evaluates it where records are declared.
    #[test]
    fn the_longest_of_several_kinds_is_found() {
        for (kinds, most) in [([0; 3], 0), ([5, 3, 1], 5), ([1, 5, 3], 5), ([3, 1, 5], 5)] {
            assert_eq!(longest(kinds), most);
        }
    }
}
