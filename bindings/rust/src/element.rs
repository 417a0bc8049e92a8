//! Element types.

/// The element types of Oriel, by their numbers in the C interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Dtype {
    F64,
    F32,
    F16,
    Bf16,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    Bool,
}

impl Dtype {
    pub(crate) fn from_number(number: i32) -> Option<Dtype> {
        use Dtype::*;
        const ALL: [Dtype; 13] = [F64, F32, F16, Bf16, I8, U8, I16, U16, I32, U32, I64, U64, Bool];
        usize::try_from(number).ok().and_then(|i| ALL.get(i).copied())
    }
}

/// The bits of an IEEE 754 number of 16 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

/// The upper 16 bits of an `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// A type that tensors are made of.
///
/// # Safety
/// The type has the size and the values of its `DTYPE`.
pub unsafe trait Element: Copy {
    const DTYPE: Dtype;
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),*) => { $(unsafe impl Element for $rust { const DTYPE: Dtype = Dtype::$dtype; })* };
}
elements!(f64 => F64, f32 => F32, F16 => F16, Bf16 => Bf16, i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32,
          u32 => U32, i64 => I64, u64 => U64, bool => Bool);

/// A type of indices: `i64`, and in space [`crate::Space::Window`] also `u8` and `i32`.
pub trait Index: Element {}
impl Index for i64 {}
impl Index for i32 {}
impl Index for u8 {}
