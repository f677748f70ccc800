//! Operations value by value, rows by index, views, stacks, and cached convolutions.

use super::*;
use crate::ops::ambient::{Broadcast, Mode};
use crate::ops::conv::cached_spectra::{self, Spectra};
use crate::ops::convert::cast::Cast;
use crate::ops::fft::planes::{PlaneView, Planes};
use crate::ops::gather::Gather;
use crate::ops::maps::{Apply, Complex};
use crate::ops::scatter::{Add, Set};
use crate::ops::select::{Reorder, SortByLength};
use crate::ops::shape_matmul::Transpose;
use crate::ops::strided::{Groups, View};
use crate::ragged::{Indices, Permutation, Ragged};

const SIZES: &[&str] = &["size_overflow", "too_large"];

/// One matrix with few rows: rows become elements, which are listed.
fn wide() -> Vec<Layout> {
    let few = |x: &Layout| x.extents()[0] <= 1 << 17;
    let three = Layout::uniform(1, Shape::new(&[3, u32::MAX as usize / 3]).unwrap());
    let all = matrices().into_iter().chain(three);
    all.filter(few).collect()
}

#[apply(unit_test)]
fn value_by_value() {
    let one = Layout::from_lengths([1]).unwrap();
    for x in series().iter().chain(&matrices()) {
        let what = x.to_string();
        let check = |op: Op, inputs: &[&Layout]| {
            planned_or(SIZES, &what, planned(op, inputs, None, None));
        };
        for (name, dtype) in [
            ("exp", DType::F32),
            ("tanh", DType::F16),
            ("abs", DType::I32),
        ] {
            check(Apply { name, dtype }.into(), &[x]);
        }
        for (from, to) in [(DType::F32, DType::I32), (DType::F16, DType::U32)] {
            check(Cast { from, to }.into(), &[x]);
        }
        for name in ["conj", "abs"] {
            check(Complex { name }.into(), &[x]);
        }
        check(View::AsReal.into(), &[x]);
        let dtype = DType::F32;
        let each = if x.len() == 1 { &one } else { continue };
        let broadcast = |name, modes| Broadcast { name, dtype, modes };
        check(
            broadcast("div", [Mode::Whole, Mode::Each, Mode::Whole]).into(),
            &[x, each],
        );
        check(
            broadcast("less", [Mode::Each, Mode::Whole, Mode::Whole]).into(),
            &[each, x],
        );
        let dtype = DType::C32;
        let modes = [Mode::Whole, Mode::Each, Mode::Whole];
        let product = Broadcast {
            name: "hadamard",
            dtype,
            modes,
        };
        check(product.into(), &[x, each]);
        let vector = Layout::from_lengths([x.shape(0).extents()[0] as usize]).unwrap();
        let modes = [Mode::Whole, Mode::Along(0), Mode::Each];
        check(broadcast("mul_add", modes).into(), &[x, &vector, each]);
    }
}

#[apply(unit_test)]
fn rows_by_index() {
    let dtype = DType::F32;
    let lists = |rows: &[u32]| Indices::new(Ragged::from_rows([rows]).unwrap()).unwrap();
    for x in wide().into_iter().chain(series()).filter(|x| x.len() == 1) {
        let what = x.to_string();
        let indices = lists(&[0, u32::MAX, 0]);
        let pairs = pairs_of(&x, indices.lists());
        let gather = Gather { indices, dtype };
        planned_or(SIZES, &what, planned(gather, &[&x], Some(&pairs), None));
        let order = Permutation::new(vec![0]).unwrap();
        let reorder = Reorder { order, dtype };
        planned_or(SIZES, &what, planned(reorder, &[&x], None, None));
        let sort = SortByLength { dtype };
        planned_or(SIZES, &what, planned(sort, &[&x], None, None));
    }
    for target in wide() {
        let what = target.to_string();
        let [rows, columns] = [0, 1].map(|axis| target.extents()[axis] as usize);
        for indices in [lists(&[0, 2]), lists(&[2, 2, 2, 0, 0])] {
            let some = Shape::new(&[indices.list(0).len(), columns]);
            let Ok(y) = some.and_then(|shape| Layout::uniform(1, shape)) else {
                continue;
            };
            let pairs = pairs_of(&target, indices.lists());
            let add = Add {
                indices: indices.clone(),
                dtype,
            };
            planned_or(
                SIZES,
                &what,
                planned(add, &[&y, &target], Some(&pairs), None),
            );
            let set = Set { indices, dtype };
            let kinds = ["size_overflow", "too_large", "index", "duplicate_index"];
            let planned = planned(set, &[&y, &target], None, None);
            assert!(rows > 2 || planned.is_err(), "{what}: there is no row 2");
            planned_or(&kinds, &what, planned);
        }
    }
}

#[apply(unit_test)]
fn views_and_stacks() {
    let dtype = DType::F32;
    let all: Vec<Layout> = wide().into_iter().chain(series()).collect();
    for x in &all {
        let what = x.to_string();
        let kinds = ["size_overflow", "too_large", "rank", "shape"];
        let check = |op: Op| planned_or(&kinds, &what, planned(op, &[x], None, None));
        check(View::Elements(0, 1).into());
        check(View::Slices("unstack").into());
        check(View::Packed.into());
        for groups in [
            Groups::Counts(vec![x.len()]),
            Groups::Counts(vec![1, x.len() - 1]),
            Groups::Windows {
                count: 2,
                size: x.len(),
                stride: 1,
            },
            Groups::Windows {
                count: 1,
                size: usize::MAX,
                stride: 1,
            },
        ] {
            let (op, most) = ("stack", u64::MAX);
            let how = How::Stack { op, groups, most };
            check(Strided { how, dtype }.into());
        }
    }
    both(&all, |x, y, _| {
        let what = format!("{x} as {y}");
        let kinds = [
            "size_overflow",
            "too_large",
            "shape",
            "rank",
            "batch_size",
            "length",
            "argument",
        ];
        for op in [
            Op::from(View::Reshape),
            View::Unpacked.into(),
            View::Divided.into(),
            Strided {
                how: How::Resize("resize"),
                dtype,
            }
            .into(),
            Strided {
                how: How::Broadcast,
                dtype,
            }
            .into(),
        ] {
            planned_or(&kinds, &what, planned(op, &[x, y], None, None));
        }
    });
}

#[apply(unit_test)]
fn planes_and_grids() {
    let kinds = ["size_overflow", "too_large", "shape", "value_count"];
    for x in wide() {
        let what = x.to_string();
        for view in [
            PlaneView::Rows,
            PlaneView::RowsOf,
            PlaneView::Spectra,
            PlaneView::SpectraOf,
        ] {
            let planes = Planes { op: "rfft2", view };
            planned_or(&kinds, &what, planned(planes, &[&x, &x], None, None));
        }
    }
    let dtype = DType::F32;
    for x in series() {
        let transpose = Transpose { dtype };
        for shape in [[1, x.len()], [x.len(), 1]] {
            let grid = Layout::uniform(1, Shape::new(&shape).unwrap()).unwrap();
            let planned = planned(transpose, &[&x, &grid], None, None);
            planned_or(SIZES, &x.to_string(), planned);
        }
    }
}

/// Signals that are cut into few blocks; others are listed in hundreds of MiB.
#[apply(unit_test)]
fn cached_convolutions() {
    both(&series(), |signals, kernels, pairs| {
        let what = format!("{signals} by {kernels}");
        for room in [None, Some(FftLimits::new(1 << 15, 1 << 32))] {
            let long = kernels.total() > 1 << 16 && room.is_none();
            if signals.total() > 5 && !long {
                continue;
            }
            let check = |op: Op, inputs: &[&Layout], pairs| {
                planned_or(SIZES, &what, planned(op, inputs, pairs, room));
            };
            check(Spectra.into(), &[kernels, signals], None);
            for mode in [cached_spectra::Mode::Full, cached_spectra::Mode::Causal] {
                let inputs = [signals, kernels, kernels];
                check(mode.into(), &inputs, Some(pairs));
            }
        }
    });
}
