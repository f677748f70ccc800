//! Labels, under PyTorch's names.

use vsla::Ragged;

use super::created::of_type;
use super::results::{all, each, extents, one};
use super::{EXACT, Gradient, Law, MATRICES, OF_INTEGERS, Operation, ROW, STACKED, Work, batch};
use crate::batch::Number;
use crate::failure::Result;
use crate::held::Arg;
use crate::options as opt;

pub const ROWS: &[Operation] = &[
    Operation {
        name: "one_hot",
        options: &[opt::DTYPE, opt::RANK, opt::DEPTH],
        ranks: STACKED,
        results: each("s, of whole numbers", "(s, depth)", |options, s| {
            one([s[0].as_slice(), &[options.size("depth").ok()?]].concat())
        }),
        about: "a row of zeros for each index, with 1 at that place; dtype is that of the rows",
        run: ordered!(|call, device, args| {
            let x = device.upload(&labels(&args[0])?)?;
            let rows = x.one_hot(call.options.size("depth")?);
            of_type(args, rows)
        }),
        gradient: Gradient::None(OF_INTEGERS),
        law: Law::None,
        ..EXACT
    },
    Operation {
        name: "embedding",
        options: &[opt::DTYPE, opt::RANK, opt::IDS],
        ranks: MATRICES,
        results: all("a table (v, k), and n ids", "(n, k)", |options, table| {
            let &[_, width] = extents(&table[0].shapes().next()?).as_slice() else {
                return None;
            };
            let ids = options.required_batch::<u32>("ids", 1).ok()?;
            let lengths: Vec<usize> = ids.layout().lengths().collect();
            let rows = lengths.into_iter().map(move |n| Some(vec![n, width]));
            Some(vec![Box::new(rows)])
        }),
        about: "rows of a table, the only element, by ids; NaN for an id that it does not have",
        run: float!(|call, device, args| {
            let ids = device.upload(&call.options.required_batch::<u32>("ids", 1)?)?;
            batch(args[0].on(&device)?.embedding(&ids)?)
        }),
        is_local: false,
        law: Law::None,
        work: Work::Answer,
        ..EXACT
    },
    Operation {
        name: "cross_entropy",
        options: &[opt::DTYPE, opt::RANK, opt::TARGETS],
        results: each(
            "(s, k), and targets of s",
            "s; one value for vectors",
            |_, s| match s[0].as_slice() {
                [_] => one(vec![1]),
                [rows @ .., _] => one(rows.to_vec()),
                [] => None,
            },
        ),
        about: "-log softmax of each row of scores at its target",
        run: float!(|call, device, args| {
            let rank = (call.layout(0).rank() - 1).max(1);
            let targets = call.options.required_batch::<u32>("targets", rank)?;
            let targets = device.upload(&targets)?;
            batch(args[0].on(&device)?.cross_entropy(&targets)?)
        }),
        law: Law::None,
        ..ROW
    },
];

/// Indices, of whatever type the answer has.
fn labels<T: Number + Into<f64>>(x: &Arg<T>) -> Result<Ragged<u32>> {
    let whole = |x: f64| match x.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&x) {
        true => x as u32,
        // No row has such a place.
        false => u32::MAX,
    };
    Ok(x.cast(|x| whole(x.into()))?)
}
