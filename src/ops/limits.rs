//! Plans every operation for lengths at the limits of 32 bits, for the CPU and for a GPU without memory limits.
//!
//! Each must be planned, or refused with a size error. Tests are built with overflow checks.

use super::ambient::{Along, Combine, Concat};
use super::conv::Conv;
use super::convert::Convert;
use super::correlate_max::{CorrelateMax, Seek};
use super::eval::Eval;
use super::fft::Transform;
use super::kron::{self, Kron};
use super::linear::{self, Full, Linear};
use super::matmul::{Form, Matmul, Target};
use super::one_hot::OneHot;
use super::operation::FftLimits;
use super::random::{self, Dropout, Random};
use super::reduce::{PairReduction, Reduce, ReducePairs, Reduction};
use super::select::{Join, Select};
use super::sequence::{self, Sequence};
use super::shape_matmul::{Model, ShapeMatmul};
use super::strided::{Cut, How, Strided};
use super::{Op, PlanRequest, Traits, bsr};
use crate::ops::choice::{ConvMethod, ConvMode, CostTable, Window};
use crate::ops::operation::Operation;
use crate::plan::{Launch, Plan, PlanKind};
use crate::ragged::{DType, Layout, Pairs, Shape, Topology};
use crate::{Error, Pairing, Result};

mod others;

const LENGTHS: [usize; 6] = [
    0,
    1,
    (1 << 16) + 1,
    (1 << 31) - 1,
    (1 << 31) + 1,
    u32::MAX as usize,
];

/// Without overflow checks, the tests here would miss values that wrap.
#[apply(unit_test)]
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

/// The plan for the CPU, or for a GPU with these limits for transforms.
pub(crate) fn planned(
    op: impl Into<Op>,
    inputs: &[&Layout],
    pairs: Option<&Pairs>,
    room: Option<FftLimits>,
) -> Result<Plan> {
    let costs = match room {
        None => CostTable::cpu(),
        Some(_) => CostTable::gpu(),
    };
    let device = Traits {
        costs: &costs,
        allowed: u64::MAX,
        room,
        binding: None,
    };
    op.into().plan(&PlanRequest {
        inputs,
        pairs,
        device,
    })
}

/// The launch on the CPU.
pub(crate) fn launched(op: impl Into<Op>, inputs: &[&Layout]) -> Result<Launch> {
    match planned(op, inputs, None, None)?.kind {
        PlanKind::Launch(launch) => Ok(launch),
        PlanKind::View { .. } => unreachable!("these operations compute values"),
    }
}

/// The plan for a GPU that binds at most `binding` bytes, or for the CPU if there is no limit.
fn on_gpu(
    op: impl Into<Op>,
    inputs: &[&Layout],
    pairs: Option<&Pairs>,
    binding: Option<u64>,
) -> Result<Plan> {
    let device = Traits {
        costs: &CostTable::gpu(),
        allowed: u64::MAX,
        room: binding.map(|binding| FftLimits::new(1 << 15, binding)),
        binding,
    };
    op.into().plan(&PlanRequest {
        inputs,
        pairs,
        device,
    })
}

/// Asserts that an operation is planned, or refused with a size error.
#[track_caller]
fn refused_or_planned(what: &str, planned: Result<Plan>) {
    let kinds = ["size_overflow", "too_large", "inner_extents", "method"];
    planned_or(&kinds, what, planned);
}

/// Asserts that an operation is planned, or refused with an error of these kinds.
#[track_caller]
fn planned_or(kinds: &[&str], what: &str, planned: Result<Plan>) {
    if let Err(error) = planned {
        assert!(kinds.contains(&error.kind()), "{what}: {error}");
    }
}

/// Every element of one batch paired with every element of the other.
fn pairs_of(a: &Layout, b: &Layout) -> Pairs {
    Pairs::new(a, b, Pairing::AllToAll).unwrap()
}

fn both(all: &[Layout], mut each: impl FnMut(&Layout, &Layout, &Pairs)) {
    for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
        each(a, b, &pairs_of(a, b));
    }
}

#[apply(unit_test)]
fn pairs_of_series() {
    both(&series(), |a, b, pairs| {
        let what = format!("{a} and {b}");
        let check = |op: Op| refused_or_planned(&what, planned(op, &[a, b], Some(pairs), None));
        for dtype in [DType::F32, DType::I32] {
            for name in ["add", "hadamard", "maximum"] {
                check(Combine { name, dtype }.into());
            }
            for along in [Along::Axis(0), Along::Diagonal] {
                check(Concat { along, dtype }.into());
            }
            for kind in [kron::Kind::Kron, kron::Kind::Outer] {
                check(Kron { kind, dtype }.into());
            }
            for reduction in [PairReduction::Dot, PairReduction::Equivalent] {
                check(ReducePairs { reduction, dtype }.into());
            }
        }
        for (name, dtype) in [("div", DType::C32), ("polar", DType::F32)] {
            check(Combine { name, dtype }.into());
        }
        let dtype = DType::F32;
        check(Eval { dtype }.into());
    });
}

#[apply(unit_test)]
fn convolutions() {
    for costs in [CostTable::cpu(), CostTable::gpu()] {
        both(&series(), |a, b, pairs| {
            for method in [ConvMethod::Auto, ConvMethod::Direct, ConvMethod::Fft] {
                for mode in [ConvMode::Full, ConvMode::Same] {
                    let window = Window::new(mode);
                    let conv = Conv {
                        correlate: true,
                        dtype: DType::F32,
                        method,
                        window,
                    };
                    let any = Traits {
                        costs: &costs,
                        allowed: u64::MAX,
                        room: None,
                        binding: None,
                    };
                    let plan = |device| {
                        conv.plan(&PlanRequest {
                            inputs: &[a, b],
                            pairs: Some(pairs),
                            device,
                        })
                    };
                    let what = format!("{a} and {b}, {method}, {mode:?}");
                    // Skip plans of hundreds of MiB.
                    let few = a.total().min(b.total()) <= 5 && method == ConvMethod::Direct;
                    if costs.is_cpu() || few {
                        refused_or_planned(&what, plan(any));
                    }
                    let limited = Traits {
                        allowed: 1 << 20,
                        ..any
                    };
                    if a.total().min(b.total()) > 1 << 21 {
                        let refused = plan(limited);
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

#[apply(unit_test)]
fn lags_are_counted() {
    let launch = |m: usize, n: usize| {
        let [a, b] = [m, n].map(|n| Layout::from_lengths([n]).unwrap());
        let search = CorrelateMax {
            seek: Seek::Largest,
            method: ConvMethod::Direct,
        };
        planned(search, &[&a, &b], Some(&pairs_of(&a, &b)), None)
    };
    assert!(launch(1 << 31, 1).is_ok());
    assert!(launch(u32::MAX as usize, 0).is_ok(), "there are no lags");
    let error = launch((1 << 31) + 1, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "correlate_max: element 0: twice the number of lags of series of 2147483649 values exceeds the 32-bit index \
         limit of 4294967295"
    );
}

#[apply(unit_test)]
fn series_alone() {
    let room = FftLimits::new(1 << 15, 1 << 32);
    for x in series() {
        let what = x.to_string();
        let on = |op: Op, room| refused_or_planned(&what, planned(op, &[&x], None, room));
        for room in [None, Some(room)] {
            for transform in [Transform::Forward, Transform::Real] {
                on(transform.into(), room);
            }
        }
        let dtype = DType::F32;
        for reduction in [Reduction::Sum, Reduction::Norm2, Reduction::ArgMax] {
            on(
                Reduce {
                    reduction,
                    dtype,
                    axis: None,
                }
                .into(),
                None,
            );
        }
        for dtype in [DType::F32, DType::C32, DType::F16] {
            let kind = linear::Kind::Copy;
            on(Linear { kind, dtype }.into(), None);
            let layout = x.clone();
            on(Full { dtype, layout }.into(), None);
            for how in [
                How::Pad(vec![(1, 1 << 31)]),
                How::Pad(vec![(usize::MAX, usize::MAX)]),
                How::Slice {
                    start: vec![i64::MIN],
                    end: vec![i64::MAX],
                },
                How::Slice {
                    start: vec![-1],
                    end: vec![1 << 31],
                },
                How::Flip(vec![0]),
                How::Cut(vec![Cut::new((None, None, -1))]),
                How::Cut(vec![Cut::new((Some(i64::MIN), Some(i64::MAX), i64::MAX))]),
                How::Cut(vec![Cut::new((Some(i64::MAX), Some(i64::MIN), i64::MIN))]),
            ] {
                on(Strided { how, dtype }.into(), None);
            }
            let join = Join { dtype };
            refused_or_planned(&what, planned(join, &[&x, &x], None, None));
            let elements = vec![0, 0];
            on(Select { elements, dtype }.into(), None);
        }
        on(Convert::ToF16.into(), None);
        for depth in [0, 1, 1 << 20, usize::MAX] {
            on(OneHot { dtype, depth }.into(), None);
        }
        on(Dropout { dtype }.into(), None);
        for kind in [sequence::Kind::Arange, sequence::Kind::Linspace] {
            let layout = x.clone();
            on(
                Sequence {
                    kind,
                    dtype,
                    layout,
                }
                .into(),
                None,
            );
        }
        for kind in [random::Kind::Uniform, random::Kind::Normal] {
            let layout = x.clone();
            on(
                Random {
                    kind,
                    dtype,
                    layout,
                }
                .into(),
                None,
            );
        }
    }
}

#[apply(unit_test)]
fn pairs_of_matrices() {
    both(&matrices(), |a, b, pairs| {
        let what = format!("{a} and {b}");
        let check = |op: Op| refused_or_planned(&what, planned(op, &[a, b], Some(pairs), None));
        let dtype = DType::F32;
        let name = "add";
        check(Combine { name, dtype }.into());
        for axis in [0, 1] {
            let (along, dtype) = (Along::Axis(axis), DType::F16);
            check(Concat { along, dtype }.into());
        }
        let along = Along::Diagonal;
        check(Concat { along, dtype }.into());
        for kind in [kron::Kind::Kron, kron::Kind::Outer] {
            check(Kron { kind, dtype }.into());
        }
        for reduction in [PairReduction::Dot, PairReduction::Equivalent] {
            check(ReducePairs { reduction, dtype }.into());
        }
        for (ambient, transposed) in [(false, [false; 2]), (true, [true, false])] {
            let form = Form {
                ambient,
                transposed,
                ..Form::default()
            };
            for (target, binding) in SITES {
                let matmul = Matmul {
                    form,
                    dtype,
                    result: dtype,
                    target,
                };
                refused_or_planned(&what, on_gpu(matmul, &[a, b], Some(pairs), binding));
            }
        }
        check(
            Conv {
                correlate: false,
                dtype,
                method: ConvMethod::Auto,
                window: Window::default(),
            }
            .into(),
        );
    });
    for x in matrices() {
        let what = x.to_string();
        let (how, dtype) = (How::Transpose(vec![1, 0]), DType::F32);
        if x.total() <= 1 << 22 {
            let transpose = Strided { how, dtype };
            refused_or_planned(&what, planned(transpose, &[&x], None, None));
        }
        let reduction = Reduction::Box;
        let boxes = Reduce {
            reduction,
            dtype,
            axis: None,
        };
        refused_or_planned(&what, planned(boxes, &[&x], None, None));
    }
}

/// Lines along every axis, including 2³² − 1 lines without values.
#[apply(unit_test)]
fn lines_along_axes() {
    use super::lines::{Along, Cumulate, Cumulation, Function};
    use super::sort::{Sort, Wanted};
    use Function::{LogSumExp, Mean, Softmax};
    let most = u32::MAX as usize;
    let shapes = [[0, most, most], [most, 0, most], [most, most, 0]];
    let boxes = shapes.map(|shape| Layout::uniform(1, Shape::new(&shape).unwrap()).unwrap());
    let binding = Some(1 << 32);
    for x in series().into_iter().chain(matrices()).chain(boxes) {
        for axis in (0..x.rank()).map(Some).chain([None]) {
            for function in [Mean, LogSumExp, Softmax] {
                let along = Along {
                    function,
                    axis,
                    dtype: DType::F16,
                    result: DType::F16,
                };
                let what = format!("{function:?} of {x}, {axis:?}");
                refused_or_planned(&what, on_gpu(along, &[&x], None, binding));
            }
            for (reduction, dtype) in [
                (Reduction::Sum, DType::C32),
                (Reduction::Product, DType::F16),
                (Reduction::ArgMax, DType::F32),
            ] {
                let reduce = Reduce {
                    reduction,
                    dtype,
                    axis,
                };
                let what = format!("{reduce:?} of {x}");
                refused_or_planned(&what, on_gpu(reduce, &[&x], None, binding));
            }
        }
    }
    for x in series().into_iter().chain(matrices()) {
        for axis in 0..x.rank() {
            let (function, dtype) = (Cumulation::Sum, DType::F32);
            let cumulate = Cumulate {
                function,
                dtype,
                axis,
            };
            let planned = on_gpu(cumulate, &[&x], None, binding);
            refused_or_planned(&format!("cumsum of {x}, {axis}"), planned);
            let sort = Sort {
                op: "sort",
                dtype,
                axis: Some(axis),
                wanted: Wanted::Places,
                descending: false,
            };
            let planned = on_gpu(sort, &[&x], None, binding);
            refused_or_planned(&format!("sort of {x}, {axis}"), planned);
        }
    }
    // Results without terms count as work. Where no device holds them, no list of them is built.
    let columns = Layout::uniform(1, Shape::new(&[most, 0]).unwrap()).unwrap();
    let sum = Reduce {
        reduction: Reduction::Sum,
        dtype: DType::F32,
        axis: Some(1),
    };
    let refused = on_gpu(sum, &[&columns], None, binding).unwrap_err();
    assert_eq!(refused.kind(), "too_large", "{refused}");
    let few = Layout::uniform(1, Shape::new(&[1000, 0]).unwrap()).unwrap();
    assert_eq!(launched(sum, &[&few]).unwrap().work, 1000);
}

/// Windows of any extent, on any device.
#[apply(unit_test)]
fn pooled() {
    use super::pooling::{Extents, Kind, Pool};
    let most = u32::MAX as usize;
    let none = Layout::uniform(2, Shape::new(&[most, 0, most]).unwrap()).unwrap();
    for x in series().into_iter().chain(matrices()).chain([none]) {
        for (window, strides) in [
            (vec![1], None),
            (vec![most], None),
            (vec![usize::MAX], Some(vec![usize::MAX])),
            (vec![1 << 20], Some(vec![1])),
            (vec![1, 1], Some(vec![usize::MAX, 1])),
            (vec![usize::MAX, 1], None),
            (vec![1 << 16, 1 << 16], Some(vec![1, 1])),
        ] {
            let pool = Pool {
                kind: Kind::Max,
                dtype: DType::F32,
                window: Extents::new(&window),
                strides: strides.as_deref().map(Extents::new),
            };
            let what = format!("{window:?} by {strides:?} of {x}");
            for room in [None, Some(FftLimits::new(1 << 15, 1 << 32))] {
                planned_or(
                    &["rank", "size_overflow"],
                    &what,
                    planned(pool, &[&x], None, room),
                );
            }
        }
    }
}

/// Images of any extents, with numbers of any size.
#[apply(unit_test)]
fn images() {
    use super::cells::{Cells, How};
    use super::kit::Neighbours;
    use super::morphology::Morphology;
    let most = u32::MAX as usize;
    let dtype = DType::U32;
    let all = |x: &Layout, what: &str, op: Op, others: &[&Layout]| {
        let inputs: Vec<&Layout> = [x].into_iter().chain(others.iter().copied()).collect();
        for room in [None, Some(FftLimits::new(1 << 15, 1 << 32))] {
            let planned = planned(op.clone(), &inputs, None, room);
            planned_or(&["rank", "size_overflow", "too_large"], what, planned);
        }
    };
    for x in series().into_iter().chain(matrices()) {
        for pair in [[1, 1], [2, 3], [most as i64, 1], [1, i64::MAX]] {
            for how in [How::Upscale, How::Downscale, How::Tile, How::Translate] {
                let by = vec![pair].into();
                let what = format!("{how:?} of {x} by {pair:?}");
                all(&x, &what, Cells { how, by, dtype }.into(), &[]);
            }
        }
        for pair in [[0, 0], [most as i64, most as i64]] {
            let (how, by) = (How::Crop, vec![pair].into());
            all(&x, "crop", Cells { how, by, dtype }.into(), &[&x]);
        }
        let extremes = Morphology {
            neighbours: Neighbours::Eight,
            least: false,
            dtype,
        };
        all(&x, "dilate", extremes.into(), &[]);
        let one = Layout::uniform(x.len(), Shape::new(&[1, 1]).unwrap()).unwrap();
        all(
            &x,
            "match_template",
            super::occurrences::Occurrences.into(),
            &[&one],
        );
        let (boxes, values) = (
            Layout::from_lengths(vec![4; x.len()]),
            Layout::from_lengths(vec![1; x.len()]),
        );
        all(
            &x,
            "draw_boxes",
            super::figures::Figures::Boxes { dtype }.into(),
            &[&boxes.unwrap(), &values.unwrap()],
        );
        let table = Layout::from_lengths([most]).unwrap();
        let lookup = super::lookup::Lookup {
            dtype,
            index: DType::I32,
        };
        all(&x, "lookup", lookup.into(), &[&table]);
        all(&x, "runs", super::runs::Runs::Longest.into(), &[]);
    }
}

/// The CPU, and GPUs that bind at most 2³² − 1 bytes.
const SITES: [(Target, Option<u64>); 3] = {
    const MOST: Option<u64> = Some(u32::MAX as u64);
    [
        (Target::Cpu, None),
        (Target::Baseline, MOST),
        (Target::Native, MOST),
    ]
};

/// As many empty sums as possible: a result that no device holds is refused before its tiles or panels are listed.
#[apply(unit_test)]
fn much_of_nothing_is_refused_before_it_is_planned() {
    let most = u32::MAX as usize;
    let layout = |rows, columns| Layout::uniform(1, Shape::new(&[rows, columns]).unwrap()).unwrap();
    let dtype = DType::F32;
    let refused = |what: &str, planned: Result<Plan>| match planned {
        Err(Error::TooLarge { bytes, .. }) => assert_eq!(bytes, 4 * u64::from(u32::MAX), "{what}"),
        other => panic!("{what}: {other:?}"),
    };
    for (target, binding) in SITES.into_iter().skip(1) {
        let (a, b) = (layout(most, 0), layout(0, 1));
        let pairs = pairs_of(&a, &b);
        let matmul = Matmul {
            form: Form::default(),
            dtype,
            result: dtype,
            target,
        };
        let planned = on_gpu(matmul, &[&a, &b], Some(&pairs), binding);
        refused("matmul", planned);
        for (dense_left, shape, dense) in [
            (false, [1, 0], layout(0, most)),
            (true, [0, 1], layout(most, 0)),
        ] {
            let topology = Topology::new(shape, [8, 8], &[]).unwrap();
            let values = topology.values_layout(1).unwrap();
            let form = bsr::Form {
                transposed: false,
                dense_left,
                epilogue: Default::default(),
            };
            let product = bsr::BsrMatmul {
                form,
                topology,
                dtype,
                result: dtype,
                target,
            };
            let planned = on_gpu(product, &[&values, &dense], None, binding);
            refused("matmul", planned);
        }
        let (a, b) = (layout(8, 0), layout(0, 8));
        let pairs = pairs_of(&a, &b);
        let sampled = bsr::Sampled {
            topology: Topology::new([8, 8], [8, 8], &[(0, 0)]).unwrap(),
            transposed: [false; 2],
            dtype,
            result: dtype,
            target,
        };
        let planned = on_gpu(sampled, &[&a, &b], Some(&pairs), Some(128));
        assert_eq!(planned.unwrap_err().kind(), "too_large");
    }
    let nothing = Layout::from_lengths([]).unwrap();
    for model in [Model::Convolution, Model::Kronecker] {
        let inputs = [&nothing, &nothing, &layout(most, 0), &layout(0, 1)];
        let matmul = ShapeMatmul { model, dtype };
        let planned = on_gpu(matmul, &inputs, None, Some(u32::MAX.into()));
        refused("shape_matmul", planned);
    }
}

#[apply(unit_test)]
fn matrices_of_long_entries() {
    let room = FftLimits::new(1 << 15, 1 << 32);
    for (m, n) in LENGTHS.iter().flat_map(|&m| LENGTHS.map(|n| (m, n))) {
        let [a, b] = [m, n].map(|n| Layout::from_lengths([n]).unwrap());
        let grid = Layout::uniform(1, Shape::new(&[1, 1]).unwrap()).unwrap();
        let other = Layout::uniform(1, Shape::new(&[1, 1]).unwrap()).unwrap();
        for model in [Model::Convolution, Model::Kronecker] {
            for room in [None, Some(room)] {
                let dtype = DType::F32;
                let op = ShapeMatmul { model, dtype };
                let planned = planned(op, &[&a, &b, &grid, &other], None, room);
                if let Err(error) = planned {
                    let kinds = ["size_overflow", "too_large"];
                    assert!(kinds.contains(&error.kind()), "{m} and {n}: {error}");
                }
            }
        }
    }
}
