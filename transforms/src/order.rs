//! What comes before what.

use std::cmp::Ordering;

use purlin_sdk::Element;

/// A total order of `T`, for [`Top`](crate::Top), [`Max`](crate::Max) and [`Min`](crate::Min).
///
/// Usually one of [`Natural`], [`By`] and [`ByKey`], which the transforms' constructors make.
#[diagnostic::on_unimplemented(
    message = "`{T}` has no total order",
    label = "no order",
    note = "say how to compare: floats by `.by(float_order)`, in which NaN has a place; others by `.by(..)`, by `.by_key(..)` of a part that has an order, or derive `PartialOrd, Ord`"
)]
pub trait Order<T>: Clone + Send + 'static {
    /// How `a` compares with `b`.
    fn compare(&self, a: &T, b: &T) -> Ordering;
}

/// The order of the type itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Natural;

// An order is asked for, and not `Ord`.
#[diagnostic::do_not_recommend]
impl<T: Ord> Order<T> for Natural {
    #[inline]
    fn compare(&self, a: &T, b: &T) -> Ordering {
        a.cmp(b)
    }
}

/// The order of a closure. It must be total, as for the standard library's sorting: one that is not, such as
/// `partial_cmp` with NaN made equal to everything, may give any result and may panic.
#[derive(Clone, Copy, Debug)]
pub struct By<F>(pub F);

impl<T, F: Fn(&T, &T) -> Ordering + Clone + Send + 'static> Order<T> for By<F> {
    #[inline]
    fn compare(&self, a: &T, b: &T) -> Ordering {
        (self.0)(a, b)
    }
}

/// The order of what a closure reads from the elements.
#[derive(Clone, Copy, Debug)]
pub struct ByKey<F>(pub F);

impl<T, K: Ord, F: Fn(&T) -> K + Clone + Send + 'static> Order<T> for ByKey<F> {
    #[inline]
    fn compare(&self, a: &T, b: &T) -> Ordering {
        (self.0)(a).cmp(&(self.0)(b))
    }
}

/// A float: what [`float_order`] compares.
pub trait Float: Element + Copy {
    /// Whether it is not a number.
    fn is_nan(self) -> bool;
    /// IEEE 754's total order.
    fn total_order(&self, other: &Self) -> Ordering;
}

macro_rules! floats {
    ($($T:ty),+) => {$(
        impl Float for $T {
            #[inline]
            fn is_nan(self) -> bool {
                self.is_nan()
            }

            #[inline]
            fn total_order(&self, other: &Self) -> Ordering {
                self.total_cmp(other)
            }
        }
    )+};
}

floats!(f32, f64);

/// A total order of floats: `-inf < -1 < -0.0 < 0.0 < 1 < inf < NaN`.
///
/// Every NaN is above all numbers, whatever its sign (the NaN of `0.0 / 0.0` is negative on some processors). So the
/// greatest of a collection with a NaN is NaN, the least is a number if there is one, and neither depends on the order
/// in which elements come.
///
/// ```
/// use purlin_transforms::{Max, float_order};
/// # let p = purlin_sdk::Pipeline::new();
/// p.create("Heights", [1.5, 0.3]).apply("Highest", Max::globally().by(float_order));
/// # p.build().unwrap();
/// ```
/// Source: PostgreSQL and Spark SQL order NaN so; Beam's SDKs differ among each other.
#[inline]
pub fn float_order<F: Float>(a: &F, b: &F) -> Ordering {
    a.is_nan().cmp(&b.is_nan()).then_with(|| a.total_order(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_above_all_numbers_whatever_its_sign() {
        let ordered =
            [f64::NEG_INFINITY, -1.0, -0.0, 0.0, f64::MIN_POSITIVE, f64::INFINITY, -f64::NAN, f64::NAN];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(float_order(a, b), i.cmp(&j), "{a} {b}");
            }
        }
    }
}
