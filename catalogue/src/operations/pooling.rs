//! Pooling, as PyTorch's max_pool1d, max_pool2d, avg_pool1d and avg_pool2d without padding.

use super::{Gradient, Law, Operation, ROW, Work, batch};

const OPTIONS: &[&str] = &["dtype", "rank", "window", "strides"];

/// The result of a method of windows over the argument, for these types.
macro_rules! pooled {
    ($call:ident, $types:ident, $method:ident) => {{
        let window = $call.options.window()?;
        let strides = $call.options.strides()?.unwrap_or_else(|| window.clone());
        $types!($call, |device, args| {
            let x = args[0].on(&device)?;
            batch(x.pooling(&window).stride(&strides).$method()?)
        })
    }};
}

pub const ROWS: &[Operation] = &[
    Operation {
        name: "max_pool",
        options: OPTIONS,
        about: "the largest value of every window along the last one or two axes",
        run: |call| pooled!(call, ordered, max),
        methods: &[("pooling", "window")],
        law: Law::None,
        gradient: Gradient::Apart,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "mean_pool",
        options: OPTIONS,
        about: "the mean of every window along the last one or two axes (f32 or f16)",
        run: |call| pooled!(call, float, mean),
        law: Law::None,
        work: Work::More,
        ..ROW
    },
];
