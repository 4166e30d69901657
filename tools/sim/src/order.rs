//! Sorting a few values, in a tenth of the code of the standard library's sort.

/// Sorts values by `is_before`: equal values keep their order. For lists that are short or almost
/// sorted; others take time that grows with the square of their length.
pub fn sort_few<T>(values: &mut [T], is_before: impl Fn(&T, &T) -> bool) {
    for end in 1..values.len() {
        let mut at = end;
        while at > 0 && is_before(&values[at], &values[at - 1]) {
            values.swap(at - 1, at);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Chance;

    #[test]
    fn a_few_values_are_sorted_as_the_standard_library_sorts_them() {
        let mut chance = Chance::of(7);
        for length in 0..40 {
            // Few keys, so that many are equal.
            let mut values: Vec<(u64, usize)> =
                (0..length).map(|index| ((8.0 * chance.unit()) as u64, index)).collect();
            let mut expected = values.clone();
            expected.sort_by_key(|value| value.0);
            sort_few(&mut values, |one, other| one.0 < other.0);
            assert_eq!(values, expected);
        }
    }
}
