//! What a join of two streams gives.

use std::fmt::Debug;

use purlin_sdk::Element;

use crate::streaming::JoinType;

/// What a join gives for a pair, or for a row without a partner.
pub trait Shape<K, L, R>: Copy + Debug + Send + Sync + 'static {
    /// A row of the result.
    type Out: Element;
    /// Which rows without a partner come out.
    const HOW: JoinType;
    /// A row of the result; `None` for a side that has no row, and then nothing if this join does not give such rows.
    fn of(key: &K, left: Option<&L>, right: Option<&R>) -> Option<Self::Out>;
}

/// See [`StreamJoin::inner`](super::StreamJoin::inner).
#[derive(Clone, Copy, Debug)]
pub struct StreamInner;

/// See [`StreamJoin::left_outer`](super::StreamJoin::left_outer).
#[derive(Clone, Copy, Debug)]
pub struct StreamLeftOuter;

/// See [`StreamJoin::right_outer`](super::StreamJoin::right_outer).
#[derive(Clone, Copy, Debug)]
pub struct StreamRightOuter;

/// See [`StreamJoin::full_outer`](super::StreamJoin::full_outer).
#[derive(Clone, Copy, Debug)]
pub struct StreamFullOuter;

/// See [`StreamJoin::left_semi`](super::StreamJoin::left_semi).
#[derive(Clone, Copy, Debug)]
pub struct StreamLeftSemi;

impl<K: Element, L: Element, R: Element> Shape<K, L, R> for StreamInner {
    type Out = (K, (L, R));
    const HOW: JoinType = JoinType::Inner;
    fn of(key: &K, left: Option<&L>, right: Option<&R>) -> Option<Self::Out> {
        Some((key.clone(), (left?.clone(), right?.clone())))
    }
}

impl<K: Element, L: Element, R: Element> Shape<K, L, R> for StreamLeftOuter {
    type Out = (K, (L, Option<R>));
    const HOW: JoinType = JoinType::LeftOuter;
    fn of(key: &K, left: Option<&L>, right: Option<&R>) -> Option<Self::Out> {
        Some((key.clone(), (left?.clone(), right.cloned())))
    }
}

impl<K: Element, L: Element, R: Element> Shape<K, L, R> for StreamRightOuter {
    type Out = (K, (Option<L>, R));
    const HOW: JoinType = JoinType::RightOuter;
    fn of(key: &K, left: Option<&L>, right: Option<&R>) -> Option<Self::Out> {
        Some((key.clone(), (left.cloned(), right?.clone())))
    }
}

impl<K: Element, L: Element, R: Element> Shape<K, L, R> for StreamFullOuter {
    type Out = (K, (Option<L>, Option<R>));
    const HOW: JoinType = JoinType::FullOuter;
    fn of(key: &K, left: Option<&L>, right: Option<&R>) -> Option<Self::Out> {
        Some((key.clone(), (left.cloned(), right.cloned())))
    }
}

impl<K: Element, L: Element, R: Element> Shape<K, L, R> for StreamLeftSemi {
    type Out = (K, L);
    const HOW: JoinType = JoinType::LeftSemi;
    fn of(key: &K, left: Option<&L>, _: Option<&R>) -> Option<Self::Out> {
        Some((key.clone(), left?.clone()))
    }
}
