//! Matrix products.

use vsla::{
    Device, Pairing, Tensor,
    product::Product,
    scalar::{Factor, Float},
};

use super::results::{MATRIX_PRODUCT, Results};
use super::{Law, MATRICES, Operation, ROW, Work, batch};
use crate::batch::Number;
use crate::epilogue::{Epilogue, OPTIONS, finished};
use crate::failure::{Failure, Result};
use crate::held::Arg;
use crate::options::{self as opt, Opt};
use crate::request::{Options, Pairs};
use crate::sparse;

const MATMUL: &[Opt] = &[
    opt::DTYPE,
    opt::RANK,
    opt::PAIRING,
    opt::TRANSPOSE,
    opt::SCALE,
    opt::BIAS,
    opt::ACTIVATION,
    opt::RESIDUAL,
];

pub const ROWS: &[Operation] = &[
    Operation {
        name: "matmul",
        args: 2,
        options: MATMUL,
        ranks: MATRICES,
        results: MATRIX_PRODUCT,
        about: "residual + activation(scale * a b + bias) for each pair of matrices",
        run: of_types!(|call, device, args|
            [F32 F16] => batch(layer(&device, args, &call.options, false)?),
            [I32 U32] => batch(plain(&device, args, &call.options, false)?),
            [C32] => {
                let (pairs, transposed) = (call.options.pairs()?, call.options.transposed()?);
                let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
                without_epilogue(&call.options)?;
                if transposed != [false; 2] {
                    let what = "transpose: complex factors cannot be transposed";
                    return Err(Failure::request(what));
                }
                let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
                batch(a.pair(&b, pairing)?.matmul()?)
            },
        ),
        methods: &[
            ("activation", "activation"),
            ("bias", "bias"),
            ("product", "bias"),
            ("residual", "residual"),
            ("run", ""),
            ("transpose_left", "transpose"),
            ("transpose_right", "transpose"),
        ],
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "matmul_ambient",
        args: 2,
        options: MATMUL,
        ranks: MATRICES,
        results: Results {
            operands: "m × k and l × n, or their transposes",
            ..MATRIX_PRODUCT
        },
        about: "the same for inner extents that may differ: missing entries are zero",
        run: of_types!(|call, device, args|
            [F32 F16] => batch(layer(&device, args, &call.options, true)?),
            [I32 U32] => batch(plain(&device, args, &call.options, true)?),
        ),
        methods: &[("ambient", "")],
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "matmul_bsr",
        args: 2,
        options: &[
            opt::DTYPE,
            opt::RANK,
            opt::TRANSPOSE,
            opt::SPARSE,
            opt::BLOCK,
            opt::TOLERANCE,
            opt::SCALE,
            opt::BIAS,
            opt::ACTIVATION,
            opt::RESIDUAL,
        ],
        ranks: MATRICES,
        results: MATRIX_PRODUCT,
        about: "matmul with the right or the left matrix block-sparse: only blocks with a value above the tolerance \
            are stored (only this matrix may be transposed)",
        run: float!(|call, device, args| batch(sparse::matmul(&device, args, &call.options)?)),
        law: Law::Open,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "sampled",
        args: 2,
        options: &[
            opt::DTYPE,
            opt::RANK,
            opt::TRANSPOSE,
            opt::BLOCK,
            opt::BLOCKS,
        ],
        ranks: MATRICES,
        results: MATRIX_PRODUCT,
        about: "selected blocks of a b for each pair of matrices, zeros elsewhere",
        run: float!(|call, device, args| batch(sparse::sampled(&device, args, &call.options)?)),
        methods: &[("topology", "blocks")],
        work: Work::More,
        ..ROW
    },
];

/// A product of floating-point numbers with an optional epilogue.
fn layer<T: Float + Number>(
    device: &Device,
    args: &[Arg<T>],
    options: &Options,
    ambient: bool,
) -> Result<Tensor<T>> {
    let (a, b) = (args[0].on(device)?, args[1].on(device)?);
    let epilogue = Epilogue::read(device, options)?;
    let product = multiplied(&a, &b, options, ambient)?;
    Ok(finished!(product, &epilogue).run()?)
}

/// A product of integers.
fn plain<T: Factor + Number>(
    device: &Device,
    args: &[Arg<T>],
    options: &Options,
    ambient: bool,
) -> Result<Tensor<T>> {
    without_epilogue(options)?;
    let (a, b) = (args[0].on(device)?, args[1].on(device)?);
    Ok(multiplied(&a, &b, options, ambient)?.run()?)
}

fn multiplied<'a, T: Factor>(
    a: &'a Tensor<T>,
    b: &'a Tensor<T>,
    options: &Options,
    ambient: bool,
) -> Result<Product<'a, T>> {
    let pairs = options.pairs()?;
    let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
    let product = formed(a.pair(b, pairing)?.product(), options.transposed()?);
    Ok(if ambient { product.ambient() } else { product })
}

fn without_epilogue(options: &Options) -> Result<()> {
    match OPTIONS.into_iter().find(|name| options.has(name)) {
        Some(name) => Err(Failure::request(format!("{name}: only for f32 and f16"))),
        None => Ok(()),
    }
}

/// The product, with these factors transposed.
pub fn formed<'a, T: Factor>(
    mut product: Product<'a, T>,
    [left, right]: [bool; 2],
) -> Product<'a, T> {
    if left {
        product = product.transpose_left();
    }
    if right {
        product = product.transpose_right();
    }
    product
}
