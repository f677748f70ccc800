//! Pooling, as PyTorch's max_pool1d, max_pool2d, avg_pool1d and avg_pool2d without padding.

use super::results::{Results, each, one};
use super::{Gradient, Law, Operation, ROW, Work, batch};
use crate::options::{self as opt, Opt};

const OPTIONS: &[Opt] = &[opt::DTYPE, opt::RANK, opt::WINDOW, opt::STRIDES_OF_WINDOWS];

/// The result of a method of windows over the argument, for these types.
macro_rules! pooled {
    ($types:ident, $method:ident) => {
        $types!(|call, device, args| {
            let window = call.options.window()?;
            let strides = call.options.strides()?.unwrap_or_else(|| window.clone());
            let x = args[0].on(&device)?;
            batch(x.pooling(&window).stride(&strides).$method()?)
        })
    };
}

const WINDOWS: Results = each(
    "s, and a window w of the last one or two axes",
    "one value for each window: on these axes ⌊(n − w) / stride⌋ + 1, or 0",
    |options, s| {
        let window = options.window().ok()?;
        let strides = options.strides().ok()?.unwrap_or_else(|| window.clone());
        let mut extents = s[0].clone();
        let first = extents.len().checked_sub(window.len())?;
        for ((n, window), stride) in extents[first..].iter_mut().zip(window).zip(strides) {
            let places = n.checked_sub(window);
            *n = places.map_or(Some(0), |rest| Some(rest.checked_div(stride)? + 1))?;
        }
        one(extents)
    },
);

pub const ROWS: &[Operation] = &[
    Operation {
        name: "max_pool",
        options: OPTIONS,
        results: WINDOWS,
        about: "the largest value of every window along the last one or two axes",
        run: pooled!(ordered, max),
        methods: &[("pooling", "window")],
        law: Law::None,
        gradient: Gradient::Apart,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "mean_pool",
        options: OPTIONS,
        results: WINDOWS,
        about: "the mean of every window along the last one or two axes",
        run: pooled!(float, mean),
        law: Law::None,
        work: Work::More,
        ..ROW
    },
];
