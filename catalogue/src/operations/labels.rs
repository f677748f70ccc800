//! Labels, under PyTorch's names.

use vsla::{Ragged, Shape, f16, scalar::DType};

use super::{Gradient, Law, OF_INTEGERS, Operation, ROW, Work, batch, within};
use crate::batch::written_size;
use crate::failure::{Failure, Result};
use crate::held::Args;

pub const ROWS: &[Operation] = &[
    Operation {
        name: "one_hot",
        options: &["dtype", "rank", "depth"],
        about: "a row of zeros for each index, with 1 at that place; dtype is that of the rows",
        run: |call| {
            let (device, depth) = (call.device()?, call.options.size("depth")?);
            let labels = labels(&call.args)?;
            let rows = labels.layout().shapes();
            let mut sizes = rows.map(|shape| written_size(&shape).saturating_mul(1 + depth as u64));
            within(call.max_values, &mut sizes)?;
            let x = device.upload(&labels)?;
            match &call.args {
                Args::F32(_) => batch(x.one_hot::<f32>(depth)?),
                Args::F16(_) => batch(x.one_hot::<f16>(depth)?),
                Args::I32(_) => batch(x.one_hot::<i32>(depth)?),
                Args::U32(_) => batch(x.one_hot::<u32>(depth)?),
                other => Err(no_indices(other)),
            }
        },
        gradient: Gradient::None(OF_INTEGERS),
        law: Law::None,
        ..ROW
    },
    Operation {
        name: "embedding",
        options: &["dtype", "rank", "ids"],
        about: "rows of a table, the only element, by ids; NaN for an id that it does not have (f32 or f16)",
        run: |call| {
            let ids = call.options.required_batch::<u32>("ids", 1)?;
            let row = call.layout(0).shapes().next().map_or(0, |table| {
                let width = table.extents().last().map_or(0, |&n| n as usize);
                Shape::new(&[width]).map_or(0, |row| written_size(&row))
            });
            let mut sizes = ids
                .layout()
                .lengths()
                .map(|n| 1 + row.saturating_mul(n as u64));
            within(call.max_values, &mut sizes)?;
            float!(call, |device, args| {
                let ids = device.upload(&ids)?;
                batch(args[0].on(&device)?.embedding(&ids)?)
            })
        },
        is_local: false,
        rank: Some(2),
        law: Law::None,
        work: Work::Answer,
        ..ROW
    },
    Operation {
        name: "cross_entropy",
        options: &["dtype", "rank", "targets"],
        about: "-log softmax of each row of scores at its target (f32 or f16)",
        run: |call| {
            let rank = (call.layout(0).rank() - 1).max(1);
            let targets = call.options.required_batch::<u32>("targets", rank)?;
            float!(call, |device, args| {
                let targets = device.upload(&targets)?;
                batch(args[0].on(&device)?.cross_entropy(&targets)?)
            })
        },
        law: Law::None,
        ..ROW
    },
];

/// Indices, of whatever type the answer has.
fn labels(args: &Args) -> Result<Ragged<u32>> {
    let whole = |x: f64| match x.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&x) {
        true => x as u32,
        // No row has such a place.
        false => u32::MAX,
    };
    Ok(match args {
        Args::F32(args) => args[0].cast(|x| whole(f64::from(x)))?,
        Args::F16(args) => args[0].cast(|x| whole(f64::from(x)))?,
        Args::I32(args) => args[0].cast(|x| whole(f64::from(x)))?,
        Args::U32(args) => args[0].cast(|x| x)?,
        other => return Err(no_indices(other)),
    })
}

fn no_indices(args: &Args) -> Failure {
    Failure::dtype(
        &[DType::F32, DType::F16, DType::I32, DType::U32],
        args.dtype(),
    )
}
