//! Matrix products.

use vsla::{
    Device, Pairing, Tensor,
    product::Product,
    scalar::{DType, Factor, Float},
};

use super::{Answer, Call, Grows, Law, Operation, ROW, Work, batch};
use crate::batch::Number;
use crate::epilogue::{Epilogue, OPTIONS, finished};
use crate::failure::{Failure, Result};
use crate::held::{Arg, Args};
use crate::request::{Options, Pairs};
use crate::sparse;

const MATMUL: &[&str] = &[
    "dtype",
    "rank",
    "pairing",
    "transpose",
    "scale",
    "bias",
    "activation",
    "residual",
];

pub const ROWS: &[Operation] = &[
    Operation {
        name: "matmul",
        args: 2,
        options: MATMUL,
        grows: Grows::Product,
        about: "residual + activation(scale * a b + bias) for each pair of matrices (rank 2)",
        run: |call| matmul(call, false),
        methods: &[
            ("activation", "activation"),
            ("bias", "bias"),
            ("product", "bias"),
            ("residual", "residual"),
            ("run", ""),
            ("transpose_left", "transpose"),
            ("transpose_right", "transpose"),
        ],
        rank: Some(2),
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "matmul_ambient",
        args: 2,
        options: MATMUL,
        grows: Grows::Product,
        about: "the same for inner extents that may differ: missing entries are zero (rank 2)",
        run: |call| matmul(call, true),
        methods: &[("ambient", "")],
        rank: Some(2),
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "matmul_bsr",
        args: 2,
        options: &[
            "dtype",
            "rank",
            "transpose",
            "sparse",
            "block",
            "tolerance",
            "scale",
            "bias",
            "activation",
            "residual",
        ],
        grows: Grows::Product,
        about: "matmul with the right or the left matrix block-sparse: only blocks with a value above the tolerance \
            are stored (rank 2, f32 or f16; only this matrix may be transposed)",
        run: sparse::matmul,
        rank: Some(2),
        law: Law::Open,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "sampled",
        args: 2,
        options: &["dtype", "rank", "transpose", "block", "blocks"],
        grows: Grows::Product,
        about: "selected blocks of a b for each pair of matrices, zeros elsewhere (rank 2, f32 or f16)",
        run: sparse::sampled,
        methods: &[("topology", "blocks")],
        rank: Some(2),
        work: Work::More,
        ..ROW
    },
];

fn matmul(call: &mut Call<'_>, ambient: bool) -> Result<Answer> {
    let pairs = call.options.pairs()?;
    let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
    let options = call.options.clone();
    let device = call.device()?;
    match &call.args {
        Args::F32(args) => return batch(layer(&device, args, pairing, &options, ambient)?),
        Args::F16(args) => return batch(layer(&device, args, pairing, &options, ambient)?),
        Args::U8(_) => {
            let taken = [DType::F32, DType::F16, DType::I32, DType::U32, DType::C32];
            return Err(Failure::dtype(&taken, DType::U8));
        }
        _ => {}
    }
    if let Some(name) = OPTIONS
        .into_iter()
        .find(|name| options.0.contains_key(*name))
    {
        return Err(Failure::request(format!("{name}: only for f32 and f16")));
    }
    if let Args::C32(args) = &call.args {
        if ambient || options.transposed()? != [false; 2] {
            let what = "dtype: complex factors must have equal inner extents, and no transposes";
            return Err(Failure::request(what));
        }
        let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
        return batch(a.pair(&b, pairing)?.matmul()?);
    }
    real!(call, |device, args| {
        let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
        let pair = a.pair(&b, pairing)?;
        let mut product = formed(pair.product(), options.transposed()?);
        if ambient {
            product = product.ambient();
        }
        batch(product.run()?)
    })
}

/// A product of floating-point numbers with an optional epilogue.
fn layer<T: Float + Number>(
    device: &Device,
    args: &[Arg<T>],
    pairing: Pairing<'_>,
    options: &Options,
    ambient: bool,
) -> Result<Tensor<T>> {
    let (a, b) = (args[0].on(device)?, args[1].on(device)?);
    let pair = a.pair(&b, pairing)?;
    let epilogue = Epilogue::read(device, options)?;
    let mut product = formed(pair.product(), options.transposed()?);
    if ambient {
        product = product.ambient();
    }
    let product = finished!(product, &epilogue);
    Ok(product.run()?)
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
