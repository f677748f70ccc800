//! Copies and views.

use std::sync::Arc;

use vsla::batch::{Permutation, Remainder};
use vsla::{Indices, Pairing, Ragged, Result, f16};

use super::super::{Case, Kind, Run, m, v};
use super::{X, rows};
use Kind::Linear;

fn indices(rows: &[&[u32]]) -> Result<Indices> {
    Indices::new(Ragged::from_rows(rows)?)
}

const MOST: u64 = 1 << 20;

pub(super) fn all() -> Vec<Case> {
    let some = || v([3, 0, 1, 7]);
    let boxes = || m([[2, 3], [0, 4], [5, 1], [3, 4]]);
    let alike = || m([[2, 3], [0, 3], [4, 3]]);
    let three = || m([[2, 3, 2], [0, 2, 1], [3, 1, 2]]);
    rows! {
        "slice" Linear, [some()] => |x: X| x[0].slice(&[-1], &[2]);
        "slice of boxes" Linear, [boxes()] => |x: X| x[0].slice(&[1, -2], &[4, 3]);
        "strided_slice" Linear, [some()] => |x: X| x[0].strided_slice(&[(Some(-2), None, -3)]);
        "strided_slice of boxes" Linear, [boxes()] => |x: X| {
            x[0].strided_slice(&[(Some(1), None, 2), (None, Some(-1), 1)])
        };
        "strided_slice of three axes" Linear, [three()] => |x: X| {
            x[0].strided_slice(&[(None, None, -1), (None, None, 1), (Some(-2), None, 3)])
        };
        "pad" Linear, [boxes()] => |x: X| x[0].pad(&[1, 0], &[2, 3]);
        "flip" Linear, [boxes()] => |x: X| x[0].flip(&[1, 0]);
        "resize" Linear, [boxes()] => |x: X| x[0].resize(&m([[3, 2], [1, 1], [0, 2], [3, 5]]));
        "transpose" Linear, [three()] => |x: X| x[0].transpose(&[2, 0, 1]);
        "rot90" Linear, [boxes()] => |x: X| x[0].rot90(1);
        "rot90 by three turns" Linear, [three()] => |x: X| x[0].rot90(-1);
        "rot90 by two turns" Linear, [boxes()] => |x: X| x[0].rot90(2);
        "anti_transpose" Linear, [boxes()] => |x: X| x[0].anti_transpose();
        "upscale" Linear, [boxes()] => |x: X| x[0].upscale(&[[2, 3]]);
        "upscale by pairs" Linear, [boxes()] => |x: X| x[0].upscale(&[[2, 3], [1, 1], [3, 2], [1, 2]]);
        "downscale" Linear, [boxes()] => |x: X| x[0].downscale(&[[2, 3]]);
        "downscale by pairs" Linear, [boxes()] => |x: X| x[0].downscale(&[[2, 1], [1, 1], [3, 2], [1, 2]]);
        "tile" Linear, [boxes()] => |x: X| x[0].tile(&[[2, 3]]);
        "tile by pairs" Linear, [boxes()] => |x: X| x[0].tile(&[[2, 1], [1, 1], [0, 2], [1, 3]]);
        "translate" Linear, [boxes()] => |x: X| x[0].translate(&[[1, -2]], 0.0);
        "translate by pairs" Linear, [boxes()] => |x: X| x[0].translate(&[[1, -2], [0, 0], [-9, 1], [0, 1]], 0.0);
        "upscale of complex numbers" Linear, [m([[3, 4], [2, 2]])] => |x: X| {
            let z = x[0].reshape(&m([[3, 2, 2], [1, 2, 2]]))?.view_as_complex()?;
            z.upscale(&[[2, 1]])?.downscale(&[[1, 2]])?.tile(&[[1, 2]])?.view_as_real()
        };
        "upscale of halves" Linear, [boxes()] => |x: X| {
            x[0].to::<f16>()?.upscale(&[[2, 1]])?.downscale(&[[3, 1]])?.translate(&[[1, 1]], f16::ZERO)?.to::<f32>()
        };
        "packed" Linear, [alike()] => |x: X| x[0].packed();
        "unpacked" Linear, [m([[6, 3]])] => |x: X| x[0].unpacked(&m([[2, 3], [0, 3], [4, 3]]));
        "reshape" Linear, [boxes()] => |x: X| x[0].reshape(&v([6, 0, 5, 12]));
        "broadcast" Linear, [m([[1, 3], [2, 1], [2, 2], [1, 1]])] => |x: X| {
            x[0].broadcast(&m([[4, 3], [2, 5], [2, 2], [0, 3]]))
        };
        "broadcast of vectors" Linear, [v([1, 3, 1])] => |x: X| x[0].broadcast(&v([5, 3, 0]));
        "concat" Linear, [v([3, 0, 1]), v([2, 5, 0])] => |x: X| x[0].concat(&x[1], 0);
        "concat of columns" Linear, [boxes(), m([[3, 2], [1, 1], [2, 2], [3, 4]])] => |x: X| x[0].concat(&x[1], 1);
        "concat all to all" Linear, [m([[2, 3], [0, 4]]), m([[1, 1], [3, 2]])] => |x: X| {
            x[0].pair(&x[1], Pairing::AllToAll)?.concat(0)
        };
        "concat_all" Linear, [v([3, 0]), v([2, 5]), v([1, 1])] => |x: X| x[0].concat_all(&[&x[1], &x[2]], 0);
        "block_diag" Linear, [boxes(), m([[3, 2], [1, 1], [2, 2], [3, 4]])] => |x: X| x[0].block_diag(&x[1]);
        "elements" Linear, [some()] => |x: X| x[0].elements(1..3);
        "elements from the first" Linear, [boxes()] => |x: X| x[0].elements(0..2);
        "elements to the last" Linear, [boxes()] => |x: X| x[0].elements(2..4);
        "elements apart" Linear, [boxes()] => |x: X| x[0].elements(3..4)?.join(&[&x[0].elements(1..2)?]);
        "elements of some and of all" Linear, [some()] => |x: X| {
            let (first, none, last) = (x[0].elements(0..3)?, x[0].elements(2..2)?, x[0].elements(1..4)?);
            first.join(&[&none, &last, &x[0], &last])
        };
        "elements of halves" Linear, [some()] => |x: X| {
            let x = x[0].to::<f16>()?;
            x.elements(2..4)?.join(&[&x.elements(0..1)?])?.to::<f32>()
        };
        "elements of complex numbers" Linear, [m([[2, 2], [0, 2], [3, 2]])] => |x: X| {
            let z = x[0].view_as_complex()?;
            z.elements(1..3)?.join(&[&z.elements(0..2)?])?.view_as_real()
        };
        "split and join" Linear, [some()] => |x: X| {
            let parts = x[0].split(&[1, 3])?;
            parts[1].join(&[&parts[0], &parts[1]])
        };
        "join" Linear, [v([3, 0]), v([2]), v([])] => |x: X| x[0].join(&[&x[1], &x[2], &x[0]]);
        "join of many" Linear, [v([3, 0]), v([2]), v([])] => |x: X| {
            let [a, b, c] = [&x[0], &x[1], &x[2]];
            a.join(&[b, c, b, a, a, c, b, a, b])
        };
        "select" Linear, [some()] => |x: X| x[0].select(&[3, 0, 3, 1]);
        "reorder" Linear, [boxes()] => |x: X| x[0].reorder(&Permutation::new([2, 0, 3, 1])?);
        "sort_by_length" Linear, [some()] => |x: X| Ok(x[0].sort_by_length()?.0);
        "gather" Linear, [m([[3, 2], [0, 2], [2, 2]])] => |x: X| x[0].gather(&indices(&[&[2, 0, 2, 9], &[], &[1]])?);
        "gather_paired" Linear, [m([[3, 2]])] => |x: X| {
            x[0].gather_paired(&indices(&[&[2, 0, 2], &[], &[1]])?, Pairing::OneToAll)
        };
        "gather_paired of one list" Linear, [m([[3, 2], [1, 2]])] => |x: X| {
            x[0].gather_paired(&indices(&[&[2, 0, 2]])?, Pairing::AllToOne)
        };
        "scatter_add" Linear, [m([[3, 2], [0, 2], [2, 2]])] => |x: X| {
            x[0].scatter_add(&indices(&[&[1, 0, 1], &[], &[1, 2]])?, &m([[2, 2], [1, 2], [4, 2]]))
        };
        "scatter_set" Linear, [v([3, 0, 2])] => |x: X| {
            x[0].scatter_set(&indices(&[&[4, 0, 1], &[], &[1, 2]])?, &v([5, 1, 4]))
        };
        "stack" Linear, [some()] => |x: X| x[0].stack(MOST);
        "stack of equal elements" Linear, [m([[2, 3], [2, 3]])] => |x: X| x[0].stack(MOST);
        "stack_groups" Linear, [boxes()] => |x: X| x[0].stack_groups(&[1, 3], MOST);
        "unstack" Linear, [m([[2, 3], [1, 4]])] => |x: X| x[0].unstack(&v([3, 1, 6]));
        "window" Linear, [some()] => |x: X| x[0].window(2, 1, MOST);
        "window of windows apart" Linear, [v([3, 0, 1, 7, 2])] => |x: X| x[0].window(2, 3, MOST);
        "window of equal elements" Linear, [v([3, 3, 3, 3, 3])] => |x: X| x[0].window(2, 2, MOST);
        "pyramid" Linear, [v([3, 0, 1, 7, 2])] => |x: X| {
            Ok(x[0].pyramid(&[2, 2], Remainder::Pad, MOST)?.swap_remove(1))
        };
        "to and from complex numbers" Linear, [v([3, 0, 2]), v([2, 1, 2])] => |x: X| {
            let z = x[0].complex(&x[1])?.conj()?.scale(3.0)?;
            z.neg()?.scale_complex(vsla::Complex32::new(1.0, -2.0))?.view_as_real()
        };
        "parts of complex numbers" Linear, [v([3, 0, 2]), v([2, 1, 2])] => |x: X| {
            let z = x[0].complex(&x[1])?;
            z.real()?.concat(&z.imag()?.scale(2.0)?, 0)
        };
        "views as complex numbers" Linear, [m([[3, 2], [1, 2]])] => |x: X| {
            x[0].view_as_complex()?.conj()?.view_as_real()
        };
        "copies of complex numbers" Linear, [m([[3, 4, 2], [1, 2, 2]])] => |x: X| {
            let z = x[0].view_as_complex()?.transpose(&[1, 0])?.strided_slice(&[(None, None, 2), (None, None, -1)])?;
            z.gather(&indices(&[&[1, 0, 1], &[0]])?)?.view_as_real()
        };
        "halves" Linear, [some()] => |x: X| x[0].to::<vsla::f16>()?.scale(vsla::f16::from_f32(2.0))?.flip(&[0])?.to();
        "concat of complex numbers" Linear, [m([[3, 2], [0, 2]]), m([[1, 2], [4, 2]])] => |x: X| {
            x[0].view_as_complex()?.concat(&x[1].view_as_complex()?, 0)?.view_as_real()
        };
        "copies of vectors of complex numbers" Linear, [m([[3, 2], [0, 2], [5, 2]])] => |x: X| {
            x[0].view_as_complex()?.strided_slice(&[(Some(-1), None, -2)])?.view_as_real()
        };
        "copies of volumes of complex numbers" Linear, [m([[3, 2, 4, 2], [1, 3, 2, 2]])] => |x: X| {
            let ranges = [(None, None, 2), (None, None, 1), (Some(1), None, 2)];
            x[0].view_as_complex()?.strided_slice(&ranges)?.view_as_real()
        };
        "copies of vectors of halves" Linear, [some()] => |x: X| {
            x[0].to::<vsla::f16>()?.strided_slice(&[(Some(-1), None, -2)])?.to()
        };
        "copies of volumes of halves" Linear, [three()] => |x: X| {
            let ranges = [(None, None, 2), (None, None, 1), (Some(1), None, 2)];
            x[0].to::<vsla::f16>()?.strided_slice(&ranges)?.to()
        };
        "copies of halves" Linear, [boxes()] => |x: X| {
            let y = x[0].to::<vsla::f16>()?.strided_slice(&[(None, None, 2), (Some(1), None, 2)])?;
            y.concat(&y, 1)?.sum_axis(0)?.to()
        };
    }
}
