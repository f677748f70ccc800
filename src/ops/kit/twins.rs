//! How twins are instantiated for the types of values.

/// Instantiates a generic twin for an element type.
macro_rules! twin_of {
    ($dtype:expr, $twin:ident $(, $constant:expr)*) => {
        match $dtype {
            DType::F32 => $twin::<f32 $(, $constant)*>,
            DType::I32 => $twin::<i32 $(, $constant)*>,
            DType::U32 => $twin::<u32 $(, $constant)*>,
            // Only methods of `Tensor<T: Real>` come here.
            DType::C32 | DType::F16 | DType::U8 => unreachable!("real numbers only"),
        }
    };
}
/// Instantiates a twin that only copies values, for words of the size of an element type.
macro_rules! bits_of {
    ($dtype:expr, $twin:ident) => {
        match $dtype.size() {
            1 => $twin::<u8>,
            2 => $twin::<half::f16>,
            4 => $twin::<u32>,
            _ => $twin::<[u32; 2]>,
        }
    };
}
pub(crate) use {bits_of, twin_of};
