//! Every launch over lengths at which 32 bits end, for the CPU and for a GPU that has room for anything: planned, or refused with the
//! error of a size. Tests are built with overflow checks.

use std::sync::Arc;

use super::*;
use crate::ops::ambient::Ambient;
use crate::ops::conv::Wanted;
use crate::ops::correlate_max::Seek;
use crate::ops::fft::{Room, Transform};
use crate::ops::matmul::{self, Form, Site, Target};
use crate::ops::reduce::{PairReduction, Reduction};
use crate::ops::shape_matmul::Model;
use crate::plan::{ConvMethod, ConvMode, CostTable, Launch, Window};
use crate::ragged::{Layout, Shape, Topology};
use crate::{Error, Pairing, Result};

const LENGTHS: [usize; 6] = [
    0,
    1,
    (1 << 16) + 1,
    (1 << 31) - 1,
    (1 << 31) + 1,
    u32::MAX as usize,
];

/// Without overflow checks the tests here would pass whatever wraps.
#[test]
fn what_wraps_panics() {
    let one = std::hint::black_box(1u32);
    assert!(std::panic::catch_unwind(|| u32::MAX + one).is_err());
}

fn series() -> Vec<Layout> {
    let all = LENGTHS.map(|n| Layout::from_lengths([n]));
    let three = Layout::from_lengths([1 << 31, 0, 3]);
    all.into_iter()
        .chain([three])
        .filter_map(Result::ok)
        .collect()
}

fn matrices() -> Vec<Layout> {
    let shapes = [
        [0, u32::MAX as usize],
        [u32::MAX as usize, 0],
        [1, u32::MAX as usize],
        [1, 1],
        [(1 << 16) + 1, (1 << 16) - 1],
    ];
    let layout = |shape: [usize; 2]| Layout::uniform(1, Shape::new(&shape).unwrap()).unwrap();
    shapes.map(layout).into()
}

/// Such a size is refused as one.
#[track_caller]
fn check(what: &str, planned: Result<Arc<Launch>>) {
    if let Err(error) = planned {
        let kinds = ["size_overflow", "too_large", "inner_extents", "method"];
        assert!(kinds.contains(&error.kind()), "{what}: {error}");
    }
}

/// Two batches, one element of one with all of the other.
fn pairs_of(a: &Layout, b: &Layout) -> Pairs {
    Pairs::new("pair", a, b, Pairing::AllToAll).unwrap()
}

fn both(all: &[Layout], mut each: impl FnMut(&Layout, &Layout, &Pairs)) {
    for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
        each(a, b, &pairs_of(a, b));
    }
}

#[test]
fn pairs_of_series() {
    both(&series(), |a, b, pairs| {
        let what = format!("{a} and {b}");
        for dtype in [DType::F32, DType::I32] {
            for operation in [Ambient::Add, Ambient::Hadamard] {
                check(&what, ambient::launch(operation, dtype, a, b, pairs));
            }
            check(&what, ambient::concat(0, dtype, a, b, pairs));
            check(&what, ambient::block_diag(dtype, a, b, pairs));
            check(&what, kron::kron(dtype, a, b, pairs));
            check(&what, kron::outer(dtype, a, b, pairs));
            for reduction in [PairReduction::Dot, PairReduction::Equivalent] {
                check(&what, reduce::launch_pairs(reduction, dtype, a, b, pairs));
            }
        }
        check(&what, eval::launch(DType::F32, a, b, pairs));
    });
}

#[test]
fn convolutions() {
    for costs in [CostTable::cpu(), CostTable::gpu()] {
        both(&series(), |a, b, pairs| {
            for method in [ConvMethod::Auto, ConvMethod::Direct, ConvMethod::Fft] {
                for mode in [ConvMode::Full, ConvMode::Same] {
                    let mut window = Window::default();
                    window.mode = mode;
                    let wanted = Wanted {
                        op: "conv",
                        dtype: DType::F32,
                        method,
                        window,
                        costs: &costs,
                        allowed: u64::MAX,
                        binding: None,
                    };
                    let what = format!("{a} and {b}, {method}, {mode:?}");
                    // Plans of hundreds of MiB are for those who have such values.
                    let few = a.total().min(b.total()) <= 5 && method == ConvMethod::Direct;
                    if costs.is_cpu() || few {
                        check(&what, conv::launch(wanted, true, a, b, pairs));
                    }
                    let limited = Wanted {
                        allowed: 1 << 20,
                        binding: None,
                        ..wanted
                    };
                    if a.total().min(b.total()) > 1 << 21 {
                        // Nothing is kept with this one yet.
                        let a = &Layout::from_lengths(a.lengths()).unwrap();
                        let refused = conv::launch(limited, true, a, b, pairs);
                        let kind = refused.unwrap_err().kind();
                        // More than 2³² − 1 result values are refused before any work is counted.
                        let pairs = a.lengths().flat_map(|m| b.lengths().map(move |n| (m, n)));
                        let values: usize = pairs
                            .map(|(m, n)| match mode {
                                _ if m == 0 || n == 0 => 0,
                                ConvMode::Full => m + n - 1,
                                _ => m,
                            })
                            .sum();
                        let expected = match values > u32::MAX as usize {
                            true => ["size_overflow", "method"],
                            false => ["work_limit", "method"],
                        };
                        assert!(expected.contains(&kind), "{what}: {kind}");
                    }
                }
            }
        });
    }
}

#[test]
fn lags_are_counted() {
    let costs = CostTable::cpu();
    let wanted = Wanted {
        op: "correlate_max",
        dtype: DType::F32,
        method: ConvMethod::Direct,
        window: Window::default(),
        costs: &costs,
        allowed: u64::MAX,
        binding: None,
    };
    let launch = |m: usize, n: usize| {
        let [a, b] = [m, n].map(|n| Layout::from_lengths([n]).unwrap());
        correlate_max::launch(wanted, &a, &b, &pairs_of(&a, &b), Seek::Largest)
    };
    assert!(launch(1 << 31, 1).is_ok());
    assert!(launch(u32::MAX as usize, 0).is_ok(), "there are none");
    let error = launch((1 << 31) + 1, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "correlate_max: element 0: lags of series of 2147483649 values: twice their number exceeds the 4294967295 that 32-bit indices reach"
    );
}

#[test]
fn series_alone() {
    let room = Room::new(1 << 15, 1 << 32);
    for x in series() {
        let what = x.to_string();
        for room in [None, Some(room)] {
            for transform in [Transform::Forward, Transform::Real] {
                check(&what, fft::launch(transform, &x, room));
            }
        }
        for reduction in [Reduction::Sum, Reduction::Norm2, Reduction::ArgMax] {
            check(&what, reduce::launch(reduction, DType::F32, &x));
        }
        for dtype in [DType::F32, DType::C32, DType::F16] {
            check(&what, map::copy(dtype, &x));
            check(&what, Ok(Arc::new(map::fill(dtype, &x))));
            check(&what, strided::pad(dtype, &x, &[(1, 1 << 31)]));
            check(&what, strided::pad(dtype, &x, &[(usize::MAX, usize::MAX)]));
            check(&what, strided::slice(dtype, &x, &[i64::MIN], &[i64::MAX]));
            check(&what, strided::slice(dtype, &x, &[-1], &[1 << 31]));
            check(&what, strided::flip(dtype, &x, &[0]));
            check(&what, select::join(dtype, &[&x, &x]));
            check(&what, select::select(dtype, &x, &[0, 0]).map(Arc::new));
        }
        check(&what, convert::to_f16(&x));
    }
}

#[test]
fn pairs_of_matrices() {
    both(&matrices(), |a, b, pairs| {
        let what = format!("{a} and {b}");
        check(
            &what,
            ambient::launch(Ambient::Add, DType::F32, a, b, pairs),
        );
        for axis in [0, 1] {
            check(&what, ambient::concat(axis, DType::F16, a, b, pairs));
        }
        check(&what, ambient::block_diag(DType::F32, a, b, pairs));
        check(&what, kron::kron(DType::F32, a, b, pairs));
        check(&what, kron::outer(DType::F32, a, b, pairs));
        for reduction in [PairReduction::Dot, PairReduction::Equivalent] {
            check(
                &what,
                reduce::launch_pairs(reduction, DType::F32, a, b, pairs),
            );
        }
        for (ambient, transposed) in [(false, [false; 2]), (true, [true, false])] {
            let form = Form {
                ambient,
                transposed,
                ..Form::default()
            };
            for site in SITES {
                let types = (DType::F32, DType::F32);
                check(
                    &what,
                    matmul::launch(&form, types, (a, b), pairs, None, site),
                );
            }
        }
        let costs = CostTable::cpu();
        let wanted = Wanted {
            op: "conv",
            dtype: DType::F32,
            method: ConvMethod::Auto,
            window: Window::default(),
            costs: &costs,
            allowed: u64::MAX,
            binding: None,
        };
        check(&what, conv::launch(wanted, false, a, b, pairs));
    });
    for x in matrices() {
        let what = x.to_string();
        if x.total() <= 1 << 22 {
            check(&what, strided::transpose(DType::F32, &x, &[1, 0]));
        }
        check(&what, reduce::launch(Reduction::Box, DType::F32, &x));
    }
}

/// The CPU, and GPUs that bind what 32 bits address.
const SITES: [Site; 3] = {
    const fn site(target: Target, binding: Option<u64>) -> Site {
        Site { target, binding }
    }
    const MOST: Option<u64> = Some(u32::MAX as u64);
    [
        site(Target::Cpu, None),
        site(Target::Baseline, MOST),
        site(Target::Native, MOST),
    ]
};

/// Sums of no terms, as many as there can be: neither tiles of what no device holds are listed nor its panels.
#[test]
fn much_of_nothing_is_refused_before_it_is_planned() {
    let most = u32::MAX as usize;
    let layout = |rows, columns| Layout::uniform(1, Shape::new(&[rows, columns]).unwrap()).unwrap();
    let types = (DType::F32, DType::F32);
    let refused = |what: &str, planned: Result<()>| match planned {
        Err(Error::TooLarge { bytes, .. }) => assert_eq!(bytes, 4 * u64::from(u32::MAX), "{what}"),
        other => panic!("{what}: {other:?}"),
    };
    for site in &SITES[1..] {
        let (a, b) = (layout(most, 0), layout(0, 1));
        let pairs = pairs_of(&a, &b);
        let planned = matmul::launch(&Form::default(), types, (&a, &b), &pairs, None, *site);
        refused("matmul", planned.map(drop));
        for (dense_left, shape, dense) in [
            (false, [1, 0], layout(0, most)),
            (true, [0, 1], layout(most, 0)),
        ] {
            let topology = Topology::new(shape, [8, 8], &[]).unwrap();
            let form = bsr::Form {
                transposed: false,
                dense_left,
                epilogue: Default::default(),
            };
            let planned = bsr::matmul(form, types, &topology, 1, &dense, None, *site);
            refused("matmul_bsr", planned.map(drop));
        }
        let topology = Topology::new([8, 8], [8, 8], &[(0, 0)]).unwrap();
        let (a, b) = (layout(8, 0), layout(0, 8));
        let mut small = *site;
        small.binding = Some(128);
        let pairs = pairs_of(&a, &b);
        let planned = bsr::sampled(types, &topology, [false; 2], (&a, &b), &pairs, small);
        assert_eq!(planned.unwrap_err().kind(), "too_large");
    }
    let room = Room::new(1 << 15, u32::MAX.into());
    let nothing = Layout::from_lengths([]).unwrap();
    for model in [Model::Convolution, Model::Kronecker] {
        let grids = [&layout(most, 0), &layout(0, 1)];
        let planned =
            shape_matmul::launch(model, DType::F32, [&nothing, &nothing], grids, Some(room));
        refused("shape_matmul", planned.map(drop));
    }
}

#[test]
fn matrices_of_long_entries() {
    let room = Room::new(1 << 15, 1 << 32);
    for (m, n) in LENGTHS.iter().flat_map(|&m| LENGTHS.map(|n| (m, n))) {
        let [a, b] = [m, n].map(|n| Layout::from_lengths([n]).unwrap());
        let grid = Layout::uniform(1, Shape::new(&[1, 1]).unwrap()).unwrap();
        let other = Layout::uniform(1, Shape::new(&[1, 1]).unwrap()).unwrap();
        for model in [Model::Convolution, Model::Kronecker] {
            for room in [None, Some(room)] {
                let grids = [&grid, &other];
                let planned = shape_matmul::launch(model, DType::F32, [&a, &b], grids, room);
                if let Err(error) = planned {
                    let kinds = ["size_overflow", "too_large"];
                    assert!(kinds.contains(&error.kind()), "{m} and {n}: {error}");
                }
            }
        }
    }
}
