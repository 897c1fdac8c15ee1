//! What can be added up.

use purlin_sdk::Element;

/// What [`Sum`](crate::Sum) can add up: all integers of up to 64 bits, floats, and types of your own.
///
/// Sums gather in a wider type, so that no order of adding can overflow on the way:
///
/// | type | gathers in | a sum that does not fit the type |
/// |---|---|---|
/// | integers of up to 64 bits | `i128`, exactly | is the nearest value that does: the type's MIN or MAX |
/// | `f32`, `f64` | `f64` | is infinite |
///
/// Float addition is not associative: the last digits of a sum may depend on the order in which a runner adds.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use purlin_transforms::Summable;
/// #[derive(Clone, Serialize, Deserialize)]
/// struct Cents(i64);
/// impl Summable for Cents {
///     type Wide = i128;
///     fn add(self, sum: &mut i128) { self.0.add(sum) }
///     fn merge(sum: &mut i128, other: i128) { i64::merge(sum, other) }
///     fn narrow(sum: i128) -> Cents { Cents(i64::narrow(sum)) }
/// }
/// ```
pub trait Summable: Element {
    /// What sums gather in; its default is the sum of nothing.
    type Wide: Element + Default;

    /// Adds `self` to `sum`.
    fn add(self, sum: &mut Self::Wide);

    /// Adds one sum to another.
    fn merge(sum: &mut Self::Wide, other: Self::Wide);

    /// The sum as a value of the type.
    fn narrow(sum: Self::Wide) -> Self;
}

/// What [`Mean`](crate::Mean) can average: all integers of up to 64 bits and floats.
pub trait Number: Summable {
    /// The sum as a float, rounded once.
    fn to_f64(sum: Self::Wide) -> f64;
}

macro_rules! integers {
    ($($T:ty),+) => {$(
        impl Summable for $T {
            type Wide = i128;

            #[inline]
            fn add(self, sum: &mut i128) {
                // 2^64 values of 64 bits are needed to get near the end; then a sum stays there.
                *sum = sum.saturating_add(self as i128);
            }

            #[inline]
            fn merge(sum: &mut i128, other: i128) {
                *sum = sum.saturating_add(other);
            }

            fn narrow(sum: i128) -> $T {
                let nearest = if sum < 0 { <$T>::MIN } else { <$T>::MAX };
                <$T>::try_from(sum).unwrap_or(nearest)
            }
        }

        impl Number for $T {
            fn to_f64(sum: i128) -> f64 {
                sum as f64
            }
        }
    )+};
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

macro_rules! floats {
    ($($T:ty),+) => {$(
        impl Summable for $T {
            type Wide = f64;

            #[inline]
            fn add(self, sum: &mut f64) {
                *sum += f64::from(self);
            }

            #[inline]
            fn merge(sum: &mut f64, other: f64) {
                *sum += other;
            }

            fn narrow(sum: f64) -> $T {
                sum as $T
            }
        }

        impl Number for $T {
            fn to_f64(sum: f64) -> f64 {
                sum
            }
        }
    )+};
}

floats!(f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    fn sum<T: Summable>(xs: impl IntoIterator<Item = T>) -> T {
        let mut sum = T::Wide::default();
        xs.into_iter().for_each(|x| x.add(&mut sum));
        T::narrow(sum)
    }

    #[test]
    fn a_sum_that_leaves_its_type_and_comes_back_is_exact() {
        assert_eq!(sum([i64::MAX, i64::MAX, i64::MIN, i64::MIN]), -2);
        assert_eq!(sum([200_u8, 100]), u8::MAX);
        assert_eq!(sum([i8::MIN, -1]), i8::MIN);
        assert_eq!(sum([u64::MAX]), u64::MAX);
    }

    #[test]
    fn floats_gather_in_double_precision() {
        assert_eq!(sum([16_777_216.0_f32, 1.0, 1.0]), 16_777_218.0);
        assert_eq!(sum([f32::MAX, f32::MAX]), f32::INFINITY);
        assert!(sum([1.0, f64::NAN]).is_nan());
    }
}
