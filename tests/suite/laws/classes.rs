//! Equivalence: elements that differ only in trailing zeros are equivalent. An operation respects equivalence if
//! equivalent operands give equivalent results. Every operation is in one of two tables.

use std::ops::RangeInclusive;

use libtest_mimic::Trial;
use vsla::batch::Permutation;
use vsla::{
    Bsr, BsrTensor, Complex32, Device, Indices, Layout, Pairing, Ragged, Result, Shape,
    ShapeMatrix, Tensor, Topology, batch::Remainder, conv::ConvMode, scalar::Scalar,
};

use super::{Run, floats, integers};
use crate::support::bench::Bench;
use crate::support::operation::{rows, run};
use crate::support::property::{self, shrunk};

/// π rounded to `f32`.
const PI: f64 = std::f32::consts::PI as f64;
const FRAC_PI_2: f64 = std::f32::consts::FRAC_PI_2 as f64;

/// An operation that respects equivalence.
struct Respecting {
    name: &'static str,
    ranks: RangeInclusive<usize>,
    /// The operands for which it does.
    sides: [bool; 2],
    run: Run,
}

/// An operation that depends on the shapes of elements, and an example that shows it: two equivalent operands on each
/// side, one of which may occur twice.
struct Depending {
    name: &'static str,
    a: [&'static [i32]; 2],
    b: [&'static [i32]; 2],
    gives: [&'static [f64]; 2],
    run: Run,
}

const BOTH: [bool; 2] = [true, true];
const LEFT: [bool; 2] = [true, false];
const RIGHT: [bool; 2] = [false, true];

macro_rules! respecting {
    ($($name:literal, $ranks:expr, $sides:expr, $run:expr;)*) => {
        /// Every operation that respects equivalence, on one side at least.
        const RESPECTING: &[Respecting] = &[$(Respecting {
            name: $name,
            ranks: $ranks,
            sides: $sides,
            run: $run,
        }),*];
    };
}

macro_rules! depending {
    ($($name:literal, $a:expr, $b:expr => $gives:expr, $run:expr;)*) => {
        /// Every operation that does not respect equivalence, or respects it only on the other side.
        const DEPENDING: &[Depending] = &[$(Depending {
            name: $name,
            a: $a,
            b: $b,
            gives: $gives,
            run: $run,
        }),*];
    };
}

respecting! {
    "complex", 1..=3, BOTH, |d, a, b| floats(d, a, b, |x, y| x.complex(y)?.abs_squared());
    "polar", 1..=3, BOTH, |d, a, b| floats(d, a, b, |x, y| x.polar(y)?.real());
    "conj", 1..=3, BOTH, |d, a, b| floats(d, a, b, |x, y| x.complex(y)?.conj()?.imag());
    "real", 1..=3, BOTH, |d, a, b| floats(d, a, b, |x, y| x.complex(y)?.real());
    "imag", 1..=3, BOTH, |d, a, b| floats(d, a, b, |x, y| x.complex(y)?.imag());
    "abs_squared", 1..=3, BOTH, |d, a, b| floats(d, a, b, |x, y| x.complex(y)?.abs_squared());
    "arg", 1..=3, BOTH, |d, a, b| floats(d, a, b, |x, y| x.complex(y)?.arg());
    "scale_complex", 1..=3, BOTH, |d, a, b| floats(d, a, b, |x, y| {
        x.complex(y)?.scale_complex(Complex32::new(2.0, -1.0))?.imag()
    });
    "view_as_real", 1..=3, BOTH, |d, a, b| floats(d, a, b, |x, y| x.complex(y)?.view_as_real());
    "add", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.add(y));
    "sub", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.sub(y));
    "hadamard", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.hadamard(y));
    "div", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.div(y));
    "remainder", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.remainder(y));
    "not_equal", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.not_equal(y));
    "less", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.less(y));
    "greater", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.greater(y));
    "mul_add", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.mul_add(y, y));
    "if_else", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.less(y)?.if_else(x, y));
    "scale", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.scale(-3));
    "expm1", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.abs()?.expm1());
    "log1p", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.abs()?.log1p());
    "sqrt", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.abs()?.sqrt());
    "sin", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.abs()?.sin());
    "tanh", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.abs()?.tanh());
    "silu", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.abs()?.silu());
    "erf", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.abs()?.erf());
    "gelu", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.abs()?.gelu());
    "gelu_tanh", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.abs()?.gelu_tanh());
    "relu", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.abs()?.relu());
    "floor", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.abs()?.floor());
    "ceil", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.abs()?.ceil());
    "round", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.abs()?.round());
    "leaky_relu", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.leaky_relu(0.25));
    "rem", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.rem(7));
    "abs", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.abs());
    "cumprod", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.cumprod(0));
    "sign", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.sign());
    "square", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.square());
    "bit_and", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.bit_and(6));
    "shift_left", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.shift_left(3));
    "shift_right", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.shift_right(3));
    "to i32", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.to::<i32>());
    "to u32", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.to::<u32>());
    "copy", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.copy());
    "to", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.to::<vsla::f16>());
    "to f32", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.to::<vsla::f16>()?.to::<f32>());
    "sum", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.sum());
    "sum_axis", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.sum_axis(0));
    "norm2", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.norm2());
    "norm2_axis", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.norm2_axis(0));
    "l2_normalize", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.l2_normalize(0, 1e-6));
    "sum_batch", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.sum_batch());
    "sum_groups", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| {
        let groups: Vec<u32> = (0..x.len() as u32).map(|i| i % 2).collect();
        x.sum_groups(&groups, 2)
    });
    "norm1_axis", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.norm1_axis(0));
    "norm_max", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.norm_max());
    "norm_max_axis", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.norm_max_axis(0));
    "any", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.to::<u32>()?.any()?.to::<i32>());
    "any_axis", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| {
        x.to::<u32>()?.any_axis(0)?.to::<i32>()
    });
    "dot", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.dot(y));
    "conv", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.conv(y));
    "correlate", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, y| x.correlate(y));
    "kron", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, y| x.kron(y));
    "outer", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.outer(y));
    "gather", 1..=3, LEFT, |d, a, b| {
        let indices = lists(a, |_| 4, |r| [2, 0, 7, 2][r]);
        integers(d, a, b, |x, _| x.gather(&indices))
    };
    "scatter_add", 1..=1, LEFT, |d, a, b| {
        let (indices, places) = (lists(a, |n| n, |r| r as u32 * 3 % 4), five(a));
        integers(d, a, b, |x, _| x.scatter_add(&indices, &places))
    };
    "scatter_set", 1..=1, LEFT, |d, a, b| {
        let (indices, places) = (lists(a, |n| n, |r| r as u32 * 3 % 5), five(a));
        integers(d, a, b, |x, _| x.scatter_set(&indices, &places))
    };
    "slice", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| {
        let rank = x.layout().rank();
        x.slice(&[-1, 1, 0][..rank], &[2, 4, 9][..rank])
    });
    "pad", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| {
        x.pad(&[(1, 2), (0, 1), (2, 0)][..x.layout().rank()])
    });
    "resize", 1..=3, LEFT, |d, a, b| {
        let shape = Shape::new(&[3, 2, 5][..a.layout().rank()]).unwrap();
        let layout = Layout::uniform(a.len(), shape).unwrap();
        integers(d, a, b, |x, _| x.resize(&layout))
    };
    "dropout", 1..=1, LEFT, |d, a, b| floats(d, a, b, |x, _| x.dropout(0.5, 1));
    "neg", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.neg());
    "norm1", 1..=3, LEFT, |d, a, b| floats(d, a, b, |x, _| x.norm1());
    "concat", 1..=3, RIGHT, |d, a, b| integers(d, a, b, |x, y| x.concat(y, 0));
    "block_diag", 1..=3, RIGHT, |d, a, b| integers(d, a, b, |x, y| x.block_diag(y));
    "select", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| {
        let indices: Vec<u32> = (0..x.len() as u32).rev().chain(0..x.len() as u32).collect();
        x.select(&indices)
    });
    "reorder", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| {
        x.reorder(&Permutation::new((0..x.len() as u32).rev().collect::<Vec<_>>())?)
    });
    "join", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.join(&[y, x]));
    "transpose", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| {
        x.transpose([&[0][..], &[1, 0], &[2, 0, 1]][x.layout().rank() - 1])
    });
    "stack", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.stack(1 << 20));
    "window", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.window(2, 1, 1 << 20));
    "pyramid", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| {
        Ok(x.pyramid(&[2, 2], Remainder::Pad, 1 << 20)?.swap_remove(1))
    });
    "unstack", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| {
        x.stack(1 << 20)?.unstack(x.layout())
    });
    "minimal_shape", 1..=3, LEFT, |d, a, _| {
        let layout = d.upload(a).unwrap().minimal_shape_blocking().unwrap();
        let extents = |shape: Shape| shape.extents().iter().map(|&n| f64::from(n)).collect();
        Ragged::from_rows(layout.shapes().map(extents).collect::<Vec<Vec<_>>>()).unwrap()
    };
    "shrink", 1..=3, LEFT, |d, a, b| integers(d, a, b, |x, _| x.shrink_blocking());
    "degree", 1..=1, LEFT, |d, a, _| {
        let degrees = d.upload(a).unwrap().degree_blocking().unwrap();
        Ragged::from_rows(degrees.iter().map(|n| [n.map_or(-1.0, |n| n as f64)])).unwrap()
    };
    "stride", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| {
        let strides = [2, 1, 3];
        x.pair(y, Pairing::Elementwise)?.convolution().stride(&strides[..x.layout().rank()]).conv()
    });
    "full", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| {
        x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Full).conv()
    });
    "causal_mode", 1..=3, RIGHT, |d, a, b| integers(d, a, b, |x, y| {
        x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Causal).conv()
    });
    "eval", 1..=1, LEFT, |d, a, b| integers(d, a, b, |x, y| x.eval(y));
    "matmul", 2..=2, BOTH, |d, a, b| integers(d, a, b, |x, y| {
        // Inner extents must be equal, so both are padded to the larger one.
        let inner = |i: usize| x.layout().shape(i).extents()[1].max(y.layout().shape(i).extents()[0]);
        let shapes = |of: fn([u32; 2], u32) -> [u32; 2], z: &Tensor<i32>| {
            let shapes = z.layout().shapes().enumerate().map(|(i, shape)| {
                let extents = of([shape.extents()[0], shape.extents()[1]], inner(i));
                Shape::new(&extents.map(|n| n as usize))
            });
            Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)
        };
        let x = x.resize(&shapes(|[m, _], k| [m, k], x)?)?;
        x.matmul(&y.resize(&shapes(|[_, n], k| [k, n], y)?)?)
    });
    "matmul_ambient", 2..=2, BOTH, |d, a, b| integers(d, a, b, |x, y| x.matmul_ambient(y));
    "S B", 2..=2, LEFT, |d, a, b| floats(d, a, b, |x, _| {
        blocks(d)?.matmul(&x.resize(&of_shapes(x, |[_, n]| [5, n])?)?)
    });
    "A S", 2..=2, LEFT, |d, a, b| floats(d, a, b, |x, _| {
        x.resize(&of_shapes(x, |[m, _]| [m, 5])?)?.matmul(&blocks(d)?.transpose())
    });
    "sampled", 2..=2, BOTH, |d, a, b| floats(d, a, b, |x, y| {
        let x = x.resize(&of_shapes(x, |_| [11, 5])?)?;
        let y = y.resize(&of_shapes(y, |_| [5, 5])?)?;
        let sampled = x.product(&y).sampled(blocks(d)?.topology())?;
        sampled.values().copy()
    });
    "conv_matmul", 1..=1, BOTH, |d, a, b| integers(d, a, b, |x, y| {
        row_of(x)?.conv_matmul(&column_of(y)?)?.entries().copy()
    });
    "matrix_add", 1..=1, BOTH, |d, a, b| integers(d, a, b, |x, y| {
        row_of(x)?.add(&row_of(y)?)?.entries().copy()
    });
    "matrix_transpose", 1..=1, LEFT, |d, a, b| integers(d, a, b, |x, _| {
        row_of(x)?.transpose()?.entries().copy()
    });
    "kron_matmul", 1..=1, LEFT, |d, a, b| integers(d, a, b, |x, y| {
        row_of(x)?.kron_matmul(&column_of(y)?)?.entries().copy()
    });
}

depending! {
    "pow", [&[0], &[0, 0]], [&[0], &[0, 0]] => [&[1.], &[1., 1.]],
        |d, a, b| floats(d, a, b, |x, y| x.pow(y));
    "atan2", [&[1], &[1, 0]], [&[0, -1], &[0, -1]] => [&[FRAC_PI_2, 0.], &[FRAC_PI_2, PI]],
        |d, a, b| floats(d, a, b, |x, y| x.atan2(y));
    "maximum", [&[-1], &[-1, 0]], [&[-2, -3], &[-2, -3]] => [&[-1., -3.], &[-1., 0.]],
        |d, a, b| integers(d, a, b, |x, y| x.maximum(y));
    "minimum", [&[1], &[1, 0]], [&[2, 3], &[2, 3]] => [&[1., 3.], &[1., 0.]],
        |d, a, b| integers(d, a, b, |x, y| x.minimum(y));
    "equal", [&[1], &[1, 0]], [&[1], &[1, 0]] => [&[1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, y| x.equal(y));
    "less_equal", [&[1], &[1, 0]], [&[1], &[1, 0]] => [&[1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, y| x.less_equal(y));
    "greater_equal", [&[1], &[1, 0]], [&[1], &[1, 0]] => [&[1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, y| x.greater_equal(y));
    "exp", [&[0], &[0, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| floats(d, a, b, |x, _| x.exp());
    "exp2", [&[0], &[0, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| floats(d, a, b, |x, _| x.exp2());
    "cos", [&[0], &[0, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| floats(d, a, b, |x, _| x.cos());
    "sigmoid", [&[0], &[0, 0]], [&[], &[]] => [&[0.5], &[0.5, 0.5]],
        |d, a, b| floats(d, a, b, |x, _| x.sigmoid());
    "log", [&[1], &[1, 0]], [&[], &[]] => [&[0.], &[0., f64::NEG_INFINITY]],
        |d, a, b| floats(d, a, b, |x, _| x.log());
    "log2", [&[1], &[1, 0]], [&[], &[]] => [&[0.], &[0., f64::NEG_INFINITY]],
        |d, a, b| floats(d, a, b, |x, _| x.log2());
    "rsqrt", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., f64::INFINITY]],
        |d, a, b| floats(d, a, b, |x, _| x.rsqrt());
    "reciprocal", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., f64::INFINITY]],
        |d, a, b| floats(d, a, b, |x, _| x.reciprocal());
    "softplus", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| floats(d, a, b, |x, _| x.softplus()?.ceil()?.clamp(0.0, 1.0));
    "bit_not", [&[-1], &[-1, 0]], [&[], &[]] => [&[0.], &[0., -1.]],
        |d, a, b| integers(d, a, b, |x, _| x.bit_not());
    "mean", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.mean());
    "mean_axis", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.mean_axis(0));
    "var", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.var());
    "var_axis", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.var_axis(0));
    "std", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.std());
    "std_axis", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.std_axis(0));
    "log_sum_exp", [&[-2], &[-2, 0]], [&[], &[]] => [&[-200.], &[0.]],
        |d, a, b| floats(d, a, b, |x, _| x.scale(100.0)?.log_sum_exp());
    "log_sum_exp_axis", [&[-2], &[-2, 0]], [&[], &[]] => [&[-200.], &[0.]],
        |d, a, b| floats(d, a, b, |x, _| x.scale(100.0)?.log_sum_exp_axis(0));
    "softmax", [&[0], &[0, 0]], [&[], &[]] => [&[1.], &[0.5, 0.5]],
        |d, a, b| floats(d, a, b, |x, _| x.softmax(0));
    "log_softmax", [&[-2], &[-2, 0]], [&[], &[]] => [&[0.], &[-200., 0.]],
        |d, a, b| floats(d, a, b, |x, _| x.scale(100.0)?.log_softmax(0));
    "cumsum", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[2., 2.]],
        |d, a, b| integers(d, a, b, |x, _| x.cumsum(0));
    "cummax", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[2., 2.]],
        |d, a, b| integers(d, a, b, |x, _| x.cummax(0));
    "cummin", [&[-2], &[-2, 0]], [&[], &[]] => [&[-2.], &[-2., -2.]],
        |d, a, b| integers(d, a, b, |x, _| x.cummin(0));
    "diff", [&[2], &[2, 0]], [&[], &[]] => [&[], &[-2.]],
        |d, a, b| integers(d, a, b, |x, _| x.diff(0));
    "sort", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[0., 2.]],
        |d, a, b| integers(d, a, b, |x, _| x.sort(0));
    "sort_descending", [&[-2], &[-2, 0]], [&[], &[]] => [&[-2.], &[0., -2.]],
        |d, a, b| integers(d, a, b, |x, _| x.sort_descending(0));
    "argsort", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[1., 0.]],
        |d, a, b| integers(d, a, b, |x, _| x.argsort(0));
    "argsort_descending", [&[-2], &[-2, 0]], [&[], &[]] => [&[0.], &[1., 0.]],
        |d, a, b| integers(d, a, b, |x, _| x.argsort_descending(0));
    "top_k", [&[-2], &[-2, 0]], [&[], &[]] => [&[-2.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| Ok(x.top_k(1, 0)?.0));
    "top_k_at_most", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[0., 1.]],
        |d, a, b| integers(d, a, b, |x, _| Ok(x.top_k_at_most(2, 0)?.1));
    "quantile", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.quantile(0.5));
    "quantile_axis", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.quantile_axis(0.5, 0));
    "median", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.median());
    "median_axis", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.median_axis(0));
    "histogram", [&[1], &[1, 0]], [&[], &[]] => [&[0., 1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, _| x.histogram(2, 0..=1)?.to::<i32>());
    "histogram_edges", [&[1], &[1, 0]], [&[], &[]] => [&[0., 1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, _| x.histogram_edges(&[0, 1, 9])?.to::<i32>());
    "attention", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1., 1.]],
        |d, a, b| floats(d, a, b, |x, _| {
            // All keys count alike.
            let column = Layout::uniform(1, Shape::new(&[x.layout().length(0), 1])?)?;
            let of = x.reshape(&column)?;
            of.attention(&of, &of).scale(0.0).run()?.reshape(x.layout())
        });
    // Twice the cosine and sine of 1, rounded: values half a row apart are a pair.
    "rotary", [&[1, 0], &[1, 0, 0, 0]], [&[], &[]] => [&[1., 2.], &[1., 0., 2., 0.]],
        |d, a, b| floats(d, a, b, |x, _| {
            let row = Layout::uniform(1, Shape::new(&[1, x.layout().length(0)])?)?;
            x.reshape(&row)?.rotary().start(1).run()?.scale(2.0)?.round()?.reshape(x.layout())
        });
    "layer_norm", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[0.5, -0.5]],
        |d, a, b| floats(d, a, b, |x, _| x.layer_norm(0, 3.0));
    "standardize", [&[5, 0], &[5, 0, 0, 0, 0]], [&[], &[]] => [&[1., -1.], &[2., -0.5, -0.5, -0.5, -0.5]],
        |d, a, b| floats(d, a, b, |x, _| x.standardize());
    "group_norm", [&[5, 0], &[5, 0, 0, 0, 0]], [&[], &[]] => [&[1., -1.], &[2., -0.5, -0.5, -0.5, -0.5]],
        |d, a, b| floats(d, a, b, |x, _| x.group_norm(1, 0.0));
    "rms_norm", [&[2], &[2, 0, 0, 0]], [&[], &[]] => [&[1.], &[2., 0., 0., 0.]],
        |d, a, b| floats(d, a, b, |x, _| x.rms_norm(0, 0.0));
    "strided_slice", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0., 1.]],
        |d, a, b| integers(d, a, b, |x, _| x.strided_slice(&[(None, None, -1)]));
    "one_hot", [&[1], &[1, 0]], [&[], &[]] => [&[0., 1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, _| x.to::<u32>()?.one_hot::<f32>(2)?.sum_axis(0));
    "embedding", [&[1], &[1, 0]], [&[], &[]] => [&[7.], &[7., 5.]],
        |d, a, b| integers(d, a, b, |x, _| {
            let table = Ragged::from_shapes(vec![5.0f32, 7.0], 2, [Shape::new(&[2, 1])?])?;
            let rows = d.upload(&table)?.embedding(&x.to::<u32>()?)?;
            rows.reshape(x.layout())?.to::<i32>()
        });
    "cross_entropy", [&[0], &[0, 0]], [&[], &[]] => [&[0.], &[std::f32::consts::LN_2 as f64]],
        |d, a, b| floats(d, a, b, |x, _| x.cross_entropy(&x.argmin()?));
    "max_pool", [&[1], &[1, 0]], [&[], &[]] => [&[], &[1.]],
        |d, a, b| integers(d, a, b, |x, _| x.max_pool(&[2]));
    "mean_pool", [&[2], &[2, 0]], [&[], &[]] => [&[], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.mean_pool(&[2]));
    "max", [&[-1], &[-1, 0]], [&[], &[]] => [&[-1.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.max());
    "max_axis", [&[-1], &[-1, 0]], [&[], &[]] => [&[-1.], &[0.]],
        |d, a, b| floats(d, a, b, |x, _| x.max_axis(0));
    "min_axis", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0.]],
        |d, a, b| floats(d, a, b, |x, _| x.min_axis(0));
    "min", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.min());
    "argmax", [&[-1], &[-1, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| integers(d, a, b, |x, _| x.argmax());
    "prod", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.prod());
    "prod_axis", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.prod_axis(0));
    "all", [&[2], &[2, 0]], [&[], &[]] => [&[1.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.to::<u32>()?.all()?.to::<i32>());
    "all_axis", [&[2], &[2, 0]], [&[], &[]] => [&[1.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.to::<u32>()?.all_axis(0)?.to::<i32>());
    "argmax_axis", [&[-1], &[-1, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| integers(d, a, b, |x, _| x.argmax_axis(0)?.to::<i32>());
    "argmin_axis", [&[1], &[1, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| integers(d, a, b, |x, _| x.argmin_axis(0)?.to::<i32>());
    "argmin", [&[1], &[1, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| integers(d, a, b, |x, _| x.argmin());
    "flip", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0., 1.]],
        |d, a, b| integers(d, a, b, |x, _| x.flip(&[0]));
    "concat", [&[1], &[1, 0]], [&[2], &[2]] => [&[1., 2.], &[1., 0., 2.]],
        |d, a, b| integers(d, a, b, |x, y| x.concat(y, 0));
    "block_diag", [&[1], &[1, 0]], [&[2], &[2]] => [&[1., 2.], &[1., 0., 2.]],
        |d, a, b| integers(d, a, b, |x, y| x.block_diag(y));
    "broadcast", [&[5], &[5, 0]], [&[], &[]] => [&[5., 5.], &[5., 0.]],
        |d, a, b| integers(d, a, b, |x, _| x.broadcast(&Layout::from_lengths([2])?));
    "reshape", [&[1, 2, 3, 0], &[1, 2, 3, 0, 0, 0]], [&[], &[]] => [&[1., 3.], &[1., 0.]],
        |d, a, b| integers(d, a, b, |x, _| {
            // The first column of two rows.
            let shape = Shape::new(&[2, x.layout().length(0) / 2])?;
            x.reshape(&Layout::uniform(1, shape)?)?.slice(&[0, 0], &[2, 1])?.reshape(&Layout::from_lengths([2])?)
        });
    "packed", [&[1], &[1, 0]], [&[], &[]] => [&[1., 1.], &[1., 0., 1., 0.]],
        |d, a, b| integers(d, a, b, |x, _| x.join(&[x])?.packed());
    "unpacked", [&[1], &[1, 0]], [&[], &[]] => [&[1., 1.], &[1., 0., 1., 0.]],
        |d, a, b| integers(d, a, b, |x, _| {
            let rows = x.join(&[x])?.packed()?;
            rows.unpacked(rows.layout())
        });
    "mode", [&[1, 2], &[1, 2, 0]], [&[1, 1], &[1, 1]] => [&[1., 3.], &[1., 3., 2.]],
        |d, a, b| integers(d, a, b, |x, y| {
            x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Same).conv()
        });
    "causal_mode", [&[1], &[1, 0]], [&[1, 2], &[1, 2]] => [&[1.], &[1., 2.]],
        |d, a, b| integers(d, a, b, |x, y| {
            x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Causal).conv()
        });
    "valid", [&[1, 2], &[1, 2, 0]], [&[1, 1], &[1, 1]] => [&[3.], &[3., 2.]],
        |d, a, b| integers(d, a, b, |x, y| {
            x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Valid).conv()
        });
    "eval", [&[1], &[1]], [&[2], &[2, 0]] => [&[1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, y| x.eval(y));
    "correlate", [&[1, 2], &[1, 2]], [&[3], &[3, 0]] => [&[3., 6.], &[0., 3., 6.]],
        |d, a, b| integers(d, a, b, |x, y| x.correlate(y));
    "causal", [&[1], &[1, 0]], [&[1, 2], &[1, 2]] => [&[1.], &[1., 2.]],
        // By transforms, which are rounded.
        |d, a, b| {
            let causal = |x: &Tensor<f32>, y: &Tensor<f32>| {
                x.pair(y, Pairing::Elementwise)?.conv_plan()?.causal(x)
            };
            floats(d, a, b, causal).cast(f64::round).unwrap()
        };
    "correlate_max", [&[-1], &[-1, 0]], [&[1], &[1]] => [&[-1.], &[0.]],
        |d, a, b| floats(d, a, b, |x, y| Ok(x.correlate_max(y)?.value));
    "sbd", [&[-1], &[-1, 0]], [&[1], &[1]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, y| Ok(x.sbd(y)?.distance));
    "kron", [&[1, 2], &[1, 2]], [&[3], &[3, 0]] => [&[3., 6.], &[3., 0., 6., 0.]],
        |d, a, b| integers(d, a, b, |x, y| x.kron(y));
    "kron_matmul", [&[1, 2], &[1, 2]], [&[3], &[3, 0]] => [&[3., 6.], &[3., 0., 6., 0.]],
        |d, a, b| integers(d, a, b, |x, y| {
            row_of(x)?.kron_matmul(&column_of(y)?)?.entries().copy()
        });
    "fft", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| spectra(d, a, b, |x| x.fft());
    "rfft", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| {
            let [a, b] = [a, b].map(|x| x.cast(|value| value as f32).unwrap());
            run(d, &a, &b, |x, _| x.rfft()).cast(|z| f64::from(z.re.round())).unwrap()
        };
    "ifft", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1., 1.]],
        |d, a, b| spectra(d, a, b, |x| x.ifft());
    "fft2", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| spectra(d, a, b, |x| x.reshape(&one_row(x.layout())?)?.fft2()?.reshape(x.layout()));
    "ifft2", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1., 1.]],
        |d, a, b| spectra(d, a, b, |x| x.reshape(&one_row(x.layout())?)?.ifft2()?.reshape(x.layout()));
    "irfft", [&[6], &[6, 0]], [&[], &[]] => [&[6.], &[2., 2., 2.]],
        |d, a, b| halves_of_spectra(d, a, b, |x| x.irfft(&odd(x.layout())?));
    "rfft2", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| {
            let [a, b] = [a, b].map(|x| x.cast(|value| value as f32).unwrap());
            run(d, &a, &b, |x, _| x.reshape(&one_row(x.layout())?)?.rfft2()?.reshape(x.layout()))
                .cast(|z| f64::from(z.re.round())).unwrap()
        };
    "irfft2", [&[6], &[6, 0]], [&[], &[]] => [&[6.], &[2., 2., 2.]],
        |d, a, b| halves_of_spectra(d, a, b, |x| {
            let values = odd(x.layout())?;
            x.reshape(&one_row(x.layout())?)?.irfft2(&one_row(&values)?)?.reshape(&values)
        });
    "sort_by_length", [&[7], &[7, 0, 0]], [&[1, 2], &[1, 2]] => [&[7.], &[1., 2.]],
        |d, a, b| integers(d, a, b, |x, y| x.join(&[y])?.sort_by_length()?.0.elements(0..1));
}

/// The sides on which an operation is known to respect equivalence, if any; the left for operations on one operand.
pub fn sides_of(name: &str) -> Option<[bool; 2]> {
    let law = RESPECTING.iter().find(|law| law.name == name)?;
    Some(law.sides)
}

/// Whether it is known not to respect equivalence on at least one side.
pub fn goes_by_shape(name: &str) -> bool {
    DEPENDING.iter().any(|example| example.name == name)
}

/// A list for each element, whose length is the element's extent.
fn lists(x: &Ragged<i32>, length: fn(usize) -> usize, index: fn(usize) -> u32) -> Indices {
    let rows = x.layout().shapes().map(|shape| {
        let rows = shape.extents()[0] as usize;
        (0..length(rows)).map(index).collect::<Vec<_>>()
    });
    Indices::new(Ragged::from_rows(rows).unwrap()).unwrap()
}

/// One vector of five values per element of `x`; no element is longer.
fn five(x: &Ragged<i32>) -> Layout {
    Layout::from_lengths(vec![5; x.len()]).unwrap()
}

/// One matrix whose only row is the batch.
fn row_of(x: &Tensor<i32>) -> Result<ShapeMatrix<i32>> {
    ShapeMatrix::new(x, &Layout::uniform(1, Shape::new(&[1, x.len()])?)?)
}

/// One matrix whose only column is the batch.
fn column_of(x: &Tensor<i32>) -> Result<ShapeMatrix<i32>> {
    ShapeMatrix::new(x, &Layout::uniform(1, Shape::new(&[x.len(), 1])?)?)
}

/// The only vector as a matrix of one row.
fn one_row(vector: &Layout) -> Result<Layout> {
    Layout::uniform(1, Shape::new(&[1, vector.length(0)])?)
}

/// The odd one of the two numbers of real values whose spectrum has this length.
fn odd(spectrum: &Layout) -> Result<Layout> {
    Layout::from_lengths([2 * spectrum.length(0) - 1])
}

/// The shapes derived from those of a batch of matrices.
fn of_shapes<T: Scalar>(x: &Tensor<T>, of: impl Fn([u32; 2]) -> [u32; 2]) -> Result<Layout> {
    let shapes = x.layout().shapes().map(|shape| {
        let extents = of([shape.extents()[0], shape.extents()[1]]);
        Shape::new(&extents.map(|n| n as usize))
    });
    Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)
}

/// A block-sparse matrix of 11 x 5.
fn blocks(device: &Device) -> Result<BsrTensor<f32>> {
    let topology = Topology::new([11, 5], [8, 8], &[(0, 0), (1, 0)])?;
    let values = (0..128).map(|i| (i * 5 % 7) as f32).collect();
    device.upload_bsr(&Bsr::new(&topology, values)?)
}

/// Real values from half spectra, rounded.
fn halves_of_spectra(
    device: &Device,
    a: &Ragged<i32>,
    b: &Ragged<i32>,
    inverse: impl Fn(&Tensor<Complex32>) -> Result<Tensor<f32>>,
) -> Ragged<f64> {
    let complex = |batch: &Ragged<i32>| {
        batch
            .cast(|value| Complex32::new(value as f32, 0.0))
            .unwrap()
    };
    run(device, &complex(a), &complex(b), |x, _| inverse(x))
        .cast(|x| f64::from(x.round()))
        .unwrap()
}

/// The real parts of a transform, which is rounded.
fn spectra(
    device: &Device,
    a: &Ragged<i32>,
    b: &Ragged<i32>,
    transform: impl Fn(&Tensor<Complex32>) -> Result<Tensor<Complex32>>,
) -> Ragged<f64> {
    let complex = |batch: &Ragged<i32>| {
        batch
            .cast(|value| Complex32::new(value as f32, 0.0))
            .unwrap()
    };
    run(device, &complex(a), &complex(b), |x, _| transform(x))
        .cast(|z| f64::from(z.re.round()))
        .unwrap()
}

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Vec::new();
    for law in RESPECTING {
        let name = format!("respects_equivalence::{}", law.name);
        trials.extend(bench.on_each_device(&name, |device| respects(device, law)));
    }
    for example in DEPENDING {
        let name = format!("depends_on_shapes::{}", example.name);
        trials.extend(bench.on_each_device(&name, |device| depends(device, example)));
    }
    trials
}

fn respects(device: &Device, law: &Respecting) {
    property::on(device, property::classes(law.ranks.clone()), |[a, b]| {
        let expected = shrunk(&(law.run)(device, &a[0], &b[0]));
        for (longer, which) in [(0, "left"), (1, "right")] {
            if law.sides[longer] {
                let (a, b) = (&a[usize::from(longer == 0)], &b[usize::from(longer == 1)]);
                let got = shrunk(&(law.run)(device, a, b));
                assert!(got == expected, "{which}: {got} and {expected} of {a}, {b}");
            }
        }
    });
}

fn depends(device: &Device, example: &Depending) {
    let row = |values: &[i32]| rows([values]);
    for [one, other] in [example.a, example.b] {
        assert!(shrunk(&row(one)) == shrunk(&row(other)), "not equivalent");
    }
    let gives: [Ragged<f64>; 2] = example.gives.map(|values| rows([values]));
    assert!(shrunk(&gives[0]) != shrunk(&gives[1]), "equivalent");
    for (i, gives) in gives.iter().enumerate() {
        let got = (example.run)(device, &row(example.a[i]), &row(example.b[i]));
        assert!(got == *gives, "{got}, not {gives}");
    }
}
