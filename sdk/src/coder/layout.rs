//! How large a struct of certain fields is.

use std::mem::{align_of, size_of};

/// The fields of a struct, as far as their sizes tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    /// Bytes of all fields without padding.
    sum: usize,
    /// Bytes when the fields lie in their order, as in a struct with `repr(C)`.
    in_order: usize,
}

impl Layout {
    /// One more field.
    pub(super) fn push<T>(&mut self) {
        self.sum += size_of::<T>();
        self.in_order = self.in_order.next_multiple_of(align_of::<T>()) + size_of::<T>();
    }

    /// Whether a `T` holds more than these fields. rustc orders fields so that there is padding at the end only, unless
    /// told otherwise by `repr(C)`. More that is small enough for the padding is not seen.
    pub(super) fn is_less_than<T>(&self) -> bool {
        let whole = |bytes: usize| bytes.next_multiple_of(align_of::<T>());
        size_of::<T>() > whole(self.sum) && size_of::<T>() != whole(self.in_order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! layout {
        ($($t:ty),*) => {{
            let layout = Layout::default();
            $(let layout = { let mut more = layout; more.push::<$t>(); more };)*
            layout
        }};
    }

    #[expect(dead_code, reason = "only sizes are looked at")]
    #[test]
    fn fields_make_up_a_struct_whatever_their_order() {
        struct Mixed(u8, u64, u16, [u8; 3], u32, Option<Box<u8>>, String, bool);
        #[repr(C)]
        struct InOrder(u8, u64, u16, [u8; 3], u32);
        #[repr(C, packed)]
        struct Packed(u8, u64, u16);
        #[repr(align(64))]
        struct Aligned(u8, u64);
        struct Nothing;
        assert!(!layout!(u8, u64, u16, [u8; 3], u32, Option<Box<u8>>, String, bool).is_less_than::<Mixed>());
        assert!(!layout!(u8, u64, u16, [u8; 3], u32).is_less_than::<InOrder>());
        assert!(!layout!(u8, u64, u16).is_less_than::<Packed>());
        assert!(!layout!(u8, u64).is_less_than::<Aligned>());
        assert!(!layout!().is_less_than::<Nothing>());
        assert!(layout!(u8, u64, u16, [u8; 3], u32, Option<Box<u8>>, bool).is_less_than::<Mixed>());
        assert!(layout!(u64).is_less_than::<(u64, u8)>());
        assert!(layout!(u8).is_less_than::<(u64, u8)>());
        assert!(layout!().is_less_than::<u8>());
        // The byte fits where there was padding.
        assert!(!layout!(u32, u8).is_less_than::<(u32, u8, u8)>());
    }
}
