//! Equivalence: elements that differ only in trailing zeros are equivalent. An operation respects equivalence if
//! equivalent operands give equivalent results. Every operation is in one of two tables.

use std::ops::RangeInclusive;

use libtest_mimic::Trial;
use vsla::batch::{Permutation, Side};
use vsla::{
    Complex32, Device, Layout, Pairing, Ragged, Result, Shape, Tensor, batch::Remainder,
    conv::ConvMode,
};

use super::depending::{DEPENDING, Depending};
use super::operands::*;
use super::{Run, floats, integers};
use crate::support::bench::Bench;
use crate::support::operation::rows;
use crate::support::property::{self, shrunk};

/// An operation that respects equivalence.
struct Respecting {
    name: &'static str,
    ranks: RangeInclusive<usize>,
    /// The operands for which it does.
    sides: [bool; 2],
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
        {
            let rank = x.layout().rank();
            x.pad(&[1, 0, 2][..rank], &[2, 1, 0][..rank])
        }
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
    "upscale", 2..=2, LEFT, |d, a, b| integers(d, a, b, |x, _| x.upscale(&[2, 3]));
    "downscale", 2..=2, LEFT, |d, a, b| integers(d, a, b, |x, _| x.downscale(&[2, 3]));
    "crop", 2..=2, LEFT, |d, a, b| integers(d, a, b, |x, _| {
        let boxes = Layout::uniform(x.len(), Shape::new(&[4])?)?;
        let boxes = Ragged::from_fn(&boxes, |e, i| [e as u32 % 2, 1, 3, 2][i])?;
        x.crop_blocking(&d.upload(&boxes)?)
    });
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
        x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Causal).side(Side::Left).conv()
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

/// The sides on which an operation is known to respect equivalence, if any; the left for operations on one operand.
pub fn sides_of(name: &str) -> Option<[bool; 2]> {
    let law = RESPECTING.iter().find(|law| law.name == name)?;
    Some(law.sides)
}

/// Whether it is known not to respect equivalence on at least one side.
pub fn goes_by_shape(name: &str) -> bool {
    DEPENDING.iter().any(|example| example.name == name)
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
