//! Executing operations.

mod images;
mod unary;

use vsla::{
    BsrTensor, Device, Layout, Paired, Ragged, Result, ShapeMatrix, Tensor,
    batch::{Remainder, Side},
    conv::ConvMethod,
    product::Activation,
    scalar::{Factor, Real},
};

use super::batch::{Value, each};
use super::op::{Binary, Entries, Meeting, Op, Sparse, Whole};
use unary::{complex, float, unary};

/// The maximum bytes of a stack.
pub const STACK: u64 = 1 << 18;

/// The same expression for a batch of each type that operations compute with. Any other type is an error in the
/// program's generation.
macro_rules! real {
    ($value:expr, $x:ident => $body:expr) => {
        match $value {
            Value::F32($x) => $body,
            Value::I32($x) => $body,
            Value::U32($x) => $body,
            other => unreachable!("{other:?}"),
        }
    };
}

use real;

macro_rules! both {
    ($a:expr, $b:expr; $($kind:ident)*; $x:ident, $y:ident => $body:expr) => {
        match ($a, $b) {
            $((Value::$kind($x), Value::$kind($y)) => $body,)*
            other => unreachable!("{other:?}"),
        }
    };
}

impl Op {
    pub fn apply(&self, device: &Device, operands: &[&Value]) -> Result<Vec<Value>> {
        match self {
            Op::Unary(op) => unary(op, operands[0]).map(|value| vec![value]),
            Op::Binary(op, meeting) => binary(op, meeting, device, operands[0], operands[1]),
            Op::Gather(indices, meeting) => {
                let x = operands[0];
                let rows =
                    each!(Value, x, x => x.gather_paired(indices, meeting.pairing())?.into());
                Ok(vec![rows])
            }
            Op::Whole(op) => whole(op, operands),
            Op::Image(op) => images::image(op, operands[0]),
            Op::Values(op) => op.apply(device, operands).map(|value| vec![value]),
            Op::Entries(op, grids) => {
                let rows = real!(operands[0], x => entries(op, grids, x, operands)?.into());
                Ok(vec![rows])
            }
            Op::Sparse(sparse, [left, transposed]) => Ok(vec![match sparse {
                Sparse::F32(bsr, dense) => {
                    let (bsr, dense) = (
                        transposed_if(device.upload_bsr(bsr)?, *transposed),
                        device.upload(dense)?,
                    );
                    let product = if *left {
                        dense.matmul(&bsr)
                    } else {
                        bsr.matmul(&dense)
                    };
                    product?.into()
                }
                Sparse::F16(bsr, dense) => {
                    let (bsr, dense) = (
                        transposed_if(device.upload_bsr(bsr)?, *transposed),
                        device.upload(dense)?,
                    );
                    let product = if *left {
                        dense.product(&bsr).to::<f32>().run()
                    } else {
                        bsr.product(&dense).to::<f32>().run()
                    };
                    product?.into()
                }
            }]),
            Op::Sampled(topology, [a, b]) => {
                let (a, b) = (device.upload(a)?, device.upload(b)?);
                let pair = a.pair(&b, vsla::Pairing::Elementwise)?;
                let blocks = pair.product().transpose_right().sampled(topology)?;
                Ok(vec![blocks.values().clone().into()])
            }
        }
    }
}

fn transposed_if<T: vsla::scalar::Scalar>(bsr: BsrTensor<T>, transposed: bool) -> BsrTensor<T> {
    if transposed { bsr.transpose() } else { bsr }
}

fn binary(
    op: &Binary,
    meeting: &Meeting,
    device: &Device,
    a: &Value,
    b: &Value,
) -> Result<Vec<Value>> {
    let pairing = meeting.pairing();
    let product = match op {
        Binary::Add => both!(a, b; F32 I32 U32; x, y => x.pair(y, pairing)?.add()?.into()),
        Binary::Sub => both!(a, b; F32 I32 U32; x, y => x.pair(y, pairing)?.sub()?.into()),
        Binary::Hadamard => {
            both!(a, b; F32 I32 U32; x, y => x.pair(y, pairing)?.hadamard()?.into())
        }
        Binary::Dot => both!(a, b; F32 I32 U32; x, y => x.pair(y, pairing)?.dot()?.into()),
        Binary::Eval => both!(a, b; F32 I32 U32; x, y => x.pair(y, pairing)?.eval()?.into()),
        Binary::Kron => both!(a, b; F32 I32 U32; x, y => x.pair(y, pairing)?.kron()?.into()),
        Binary::Outer => both!(a, b; F32 I32 U32; x, y => x.pair(y, pairing)?.outer()?.into()),
        Binary::Concat(axis) => {
            both!(a, b; F32 I32 U32 F16 C32; x, y => x.pair(y, pairing)?.concat(*axis)?.into())
        }
        Binary::BlockDiag => {
            both!(a, b; F32 I32 U32 F16 C32; x, y => x.pair(y, pairing)?.block_diag()?.into())
        }
        Binary::Equivalent => {
            let equal =
                both!(a, b; F32 I32 U32; x, y => x.pair(y, pairing)?.equivalent_blocking()?);
            let rows = equal.into_iter().map(|equal| [u32::from(equal)]);
            device.upload(&Ragged::from_rows(rows)?)?.into()
        }
        Binary::Conv { .. } => {
            both!(a, b; F32 I32 U32; x, y => conv(op, &x.pair(y, pairing)?)?.into())
        }
        Binary::ConvPlan { causal } => {
            let (x, y) = (float(a), float(b));
            let plan = x.pair(y, pairing)?.conv_plan()?;
            if *causal {
                plan.causal(x)?.into()
            } else {
                plan.conv(x)?.into()
            }
        }
        Binary::Matmul {
            f32: true,
            transposed,
            ambient,
            ..
        } => match (a, b) {
            (Value::F16(x), Value::F16(y)) => {
                formed(x.pair(y, pairing)?.product(), *transposed, *ambient)
                    .to::<f32>()
                    .run()?
                    .into()
            }
            other => unreachable!("{other:?}"),
        },
        Binary::Matmul {
            transposed,
            ambient,
            bias,
            residual,
            ..
        } => match (a, b) {
            (Value::F32(x), Value::F32(y)) => {
                let upload = |batch: &Ragged<f32>| device.upload(batch);
                let bias = bias.as_ref().map(upload).transpose()?;
                let residual = residual.as_ref().map(upload).transpose()?;
                let mut product = formed(x.pair(y, pairing)?.product(), *transposed, *ambient);
                if let Some(bias) = &bias {
                    product = product.bias(bias).activation(Activation::Relu);
                }
                if let Some(residual) = &residual {
                    product = product.residual(residual);
                }
                product.run()?.into()
            }
            _ => both!(a, b; I32 U32 F16; x, y => {
                formed(x.pair(y, pairing)?.product(), *transposed, *ambient).run()?.into()
            }),
        },
        Binary::ComplexMatmul { transposed } => {
            let (x, y) = (complex(a), complex(b));
            let turned = transposed.then(|| y.transpose(&[1, 0])).transpose()?;
            x.pair(turned.as_ref().unwrap_or(y), pairing)?
                .matmul()?
                .into()
        }
        Binary::CorrelateMax => {
            let found = float(a).pair(float(b), pairing)?.correlate_max()?;
            return Ok(vec![found.value.into(), found.lag.into()]);
        }
        Binary::Sbd => {
            let found = float(a).pair(float(b), pairing)?.sbd()?;
            return Ok(vec![found.distance.into(), found.lag.into()]);
        }
    };
    Ok(vec![product])
}

fn formed<T: Factor>(
    mut product: vsla::product::Product<'_, T>,
    [left, right]: [bool; 2],
    ambient: bool,
) -> vsla::product::Product<'_, T> {
    if left {
        product = product.transpose_left();
    }
    if right {
        product = product.transpose_right();
    }
    if ambient {
        product = product.ambient();
    }
    product
}

fn conv<T: Real>(op: &Binary, pair: &Paired<'_, T>) -> Result<Tensor<T>> {
    let Binary::Conv {
        correlate,
        mode,
        strides,
        method,
    } = op
    else {
        unreachable!("{op:?}");
    };
    let mut pair = pair.convolution().mode(*mode).side(Side::Left);
    if *method != ConvMethod::Auto {
        pair = pair.method(*method);
    }
    if let Some(strides) = strides {
        pair = pair.stride(strides);
    }
    if *correlate {
        pair.correlate()
    } else {
        pair.conv()
    }
}

fn whole(op: &Whole, operands: &[&Value]) -> Result<Vec<Value>> {
    let x = operands[0];
    let several = |values: Vec<Value>| Ok(values);
    Ok(vec![match op {
        Whole::Elements(from, to) => each!(Value, x, x => x.elements(*from..*to)?.into()),
        Whole::Select(elements) => each!(Value, x, x => x.select(elements)?.into()),
        Whole::Reorder(order) => each!(Value, x, x => x.reorder(order)?.into()),
        Whole::Sort => each!(Value, x, x => x.sort_by_length()?.0.into()),
        Whole::Stack => each!(Value, x, x => x.stack(STACK)?.into()),
        Whole::StackGroups(counts) => each!(Value, x, x => x.stack_groups(counts, STACK)?.into()),
        Whole::StackAndBack => each!(Value, x, x => x.stack(STACK)?.unstack(x.layout())?.into()),
        Whole::Window(size, stride) => {
            each!(Value, x, x => x.window(*size, *stride, STACK)?.into())
        }
        Whole::Split(counts) => {
            return several(each!(Value, x, x => {
                x.split(counts)?.into_iter().map(Value::from).collect()
            }));
        }
        Whole::Pyramid(sizes, pad) => {
            let flush = if *pad {
                Remainder::Pad
            } else {
                Remainder::Discard
            };
            return several(each!(Value, x, x => {
                x.pyramid(sizes, flush, STACK)?.into_iter().map(Value::from).collect()
            }));
        }
        Whole::SumBatch => each!(Value, x, x => x.sum_batch()?.into()),
        Whole::SumGroups(groups, count) => {
            each!(Value, x, x => x.sum_groups(groups, *count)?.into())
        }
        Whole::Join => both!(x, operands[1]; F32 I32 U32 F16 C32; x, y => x.join(&[y])?.into()),
        Whole::ConcatAll(axis) => {
            both!(x, operands[1]; F32 I32 U32 F16 C32; x, y => x.concat_all(&[y, x], *axis)?.into())
        }
    }])
}

/// A matrix of vectors with itself, or with the second operand's.
fn entries<T: Real>(
    op: &Entries,
    grids: &[Layout; 2],
    x: &Tensor<T>,
    operands: &[&Value],
) -> Result<Tensor<T>>
where
    Value: TypedAs<T>,
{
    let a = ShapeMatrix::new(x, &grids[0])?;
    if let Entries::Transpose = op {
        return Ok(a.transpose()?.entries().clone());
    }
    let b = ShapeMatrix::new(operands[1].typed(), &grids[1])?;
    let c = match op {
        Entries::Add => a.add(&b)?,
        Entries::Conv => a.conv_matmul(&b)?,
        Entries::Kron => a.kron_matmul(&b)?,
        Entries::Transpose => unreachable!(),
    };
    Ok(c.entries().clone())
}

/// The tensor in a value whose type is known.
trait TypedAs<T: vsla::scalar::Scalar> {
    fn typed(&self) -> &Tensor<T>;
}

macro_rules! typed_as {
    ($($kind:ident $t:ty),*) => {$(
        impl TypedAs<$t> for Value {
            fn typed(&self) -> &Tensor<$t> {
                match self {
                    Value::$kind(x) => x,
                    other => unreachable!("{other:?}"),
                }
            }
        }
    )*};
}
typed_as!(F32 f32, I32 i32, U32 u32);
