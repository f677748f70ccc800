//! Pooling, as PyTorch's max_pool1d, max_pool2d, avg_pool1d and avg_pool2d without padding.

use super::{Grows, Operation, batch};
use crate::failure::Failure;
use crate::held::Args;

const OPTIONS: &[&str] = &["dtype", "rank", "window", "strides"];

/// The result of a method of windows over the argument, for these types.
macro_rules! pooled {
    ($call:ident, $method:ident, $expected:literal, $($kind:ident)*) => {{
        let (device, window) = ($call.device()?, $call.options.window()?);
        let strides = $call.options.strides()?.unwrap_or_else(|| window.clone());
        match &$call.args {
            $(Args::$kind(args) => {
                let x = args[0].on(&device)?;
                let pooling = x.pooling(&window).stride(&strides);
                batch(pooling.$method()?)
            })*
            _ => Err(Failure::request($expected)),
        }
    }};
}

pub const ROWS: &[Operation] = &[
    Operation {
        name: "max_pool",
        args: 1,
        options: OPTIONS,
        grows: Grows::No,
        about: "the largest value of every window along the last one or two axes",
        run: |call| pooled!(call, max, "dtype: complex values have no order", F32 F16 I32 U32),
    },
    Operation {
        name: "mean_pool",
        args: 1,
        options: OPTIONS,
        grows: Grows::No,
        about: "the mean of every window along the last one or two axes (f32 or f16)",
        run: |call| pooled!(call, mean, "dtype: this operation takes f32 or f16", F32 F16),
    },
];
