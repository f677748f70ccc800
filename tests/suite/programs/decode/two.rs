//! Operations on two batches, and on matrices.

use vsla::{
    Bsr, Layout, Ragged, Shape, Topology,
    batch::PairList,
    conv::{ConvMethod, ConvMode},
    f16,
};

use super::super::op::{Binary, Entries, Meeting, Sparse};
use super::{Bytes, Kind, MIDDLE, MOST, Op, PAIRS, Random, WORK};

/// Another batch of the same type and, if one exists, of the same rank; or the same batch.
pub fn partner(bytes: &mut Bytes<'_>, values: &[(Kind, Layout)], at: usize) -> usize {
    let (kind, layout) = &values[at];
    let from = bytes.below(values.len());
    let others = || (0..values.len()).map(|step| (from + step) % values.len());
    let alike = |&other: &usize| values[other].0 == *kind;
    let of_rank = |other: &usize| alike(other) && values[*other].1.rank() == layout.rank();
    let refused = bytes.one_in(32);
    let found = others().find(|other| {
        if refused {
            alike(other)
        } else {
            of_rank(other)
        }
    });
    found.unwrap_or(at)
}

pub fn meeting(bytes: &mut Bytes<'_>, left: usize, right: usize) -> Meeting {
    let listed = |bytes: &mut Bytes<'_>| {
        let pairs = if left * right == 0 {
            0
        } else {
            bytes.below(12)
        };
        let pair = |_| (bytes.below(left) as u32, bytes.below(right) as u32);
        Meeting::List(PairList::new((0..pairs).map(pair)).unwrap())
    };
    match bytes.below(8) {
        0..=3 if left == right || bytes.one_in(16) => Meeting::Elementwise,
        0..=4 if left == 1 || bytes.one_in(16) => Meeting::OneToAll,
        5 if right == 1 => Meeting::AllToOne,
        0..=5 if left * right <= PAIRS => Meeting::AllToAll,
        _ => listed(bytes),
    }
}

pub fn binary(
    bytes: &mut Bytes<'_>,
    values: &[(Kind, Layout)],
    at: usize,
) -> Option<(Op, Vec<usize>)> {
    let (kind, a) = &values[at];
    let other = partner(bytes, values, at);
    let b = &values[other].1;
    let meeting = meeting(bytes, a.len(), b.len());
    let pairs = meeting.pairs(a.len(), b.len());
    if pairs.len() > PAIRS {
        return None;
    }
    let (float, real) = (*kind == Kind::F32, !matches!(kind, Kind::F16 | Kind::C32));
    let factors = *kind != Kind::C32;
    let [full, same, valid, causal] = [
        ConvMode::Full,
        ConvMode::Same,
        ConvMode::Valid,
        ConvMode::Causal,
    ];
    let op = match bytes.below(20) {
        0 if real => Binary::Add,
        1 if real => Binary::Sub,
        2 if real => Binary::Hadamard,
        3..=5 if real => Binary::Conv {
            correlate: bytes.one_in(2),
            mode: bytes.pick(&[full, full, same, valid, causal]),
            strides: bytes
                .one_in(4)
                .then(|| (0..a.rank()).map(|_| 1 + bytes.below(3)).collect()),
            method: match float && bytes.one_in(2) {
                true => bytes.pick(&[ConvMethod::Direct, ConvMethod::Fft, ConvMethod::OverlapSave]),
                false => ConvMethod::Auto,
            },
        },
        6 if float => Binary::ConvPlan {
            causal: bytes.one_in(2),
        },
        7 if real => Binary::Dot,
        8 if real => Binary::Equivalent,
        9 if real => Binary::Eval,
        10 if real => Binary::Kron,
        11 if real => Binary::Outer,
        12 => {
            let beyond = usize::from(bytes.one_in(16));
            Binary::Concat(bytes.below(a.rank() + beyond))
        }
        13 => Binary::BlockDiag,
        14..=16 if factors && a.rank() == 2 && b.rank() == 2 => {
            matmul(bytes, *kind, [a, b], &pairs)
        }
        17 if float => Binary::CorrelateMax,
        18 if float => Binary::Sbd,
        _ if real => Binary::Add,
        _ => return None,
    };
    let size = |layout: &Layout, i: usize| layout.length(i);
    let ambient = |i: usize, j: usize, sum: bool| {
        let (a, b) = (a.shape(i), b.shape(j));
        let both = a.extents().iter().zip(b.extents());
        let sides = both.map(|(&m, &n)| if sum { m + n } else { m.max(n) } as usize);
        sides.product::<usize>()
    };
    let cost = |&(i, j): &(usize, usize)| {
        let product = size(a, i) * size(b, j);
        match &op {
            Binary::Add | Binary::Sub | Binary::Hadamard => (ambient(i, j, false), 0),
            Binary::Kron | Binary::Outer => (product, 0),
            Binary::Conv { .. } => (ambient(i, j, true), product),
            Binary::ConvPlan { .. } | Binary::Concat(_) | Binary::BlockDiag => {
                (ambient(i, j, true), 0)
            }
            Binary::Matmul { .. } => {
                let (m, n) = (a.shape(i).extents().to_vec(), b.shape(j).extents().to_vec());
                let [m, n] = [m, n].map(|extents| extents.into_iter().max().unwrap_or(0) as usize);
                (m * n, product)
            }
            _ => (size(b, j), product),
        }
    };
    let (results, work) = pairs
        .iter()
        .map(cost)
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    if results > 4 * MOST || work > WORK {
        return None;
    }
    Some((Op::Binary(op, meeting), vec![at, other]))
}

fn matmul(
    bytes: &mut Bytes<'_>,
    kind: Kind,
    [a, b]: [&Layout; 2],
    pairs: &[(usize, usize)],
) -> Binary {
    let transposed = [bytes.one_in(2), bytes.one_in(2)];
    let sides = |layout: &Layout, i: usize, transposed: bool| {
        let shape = layout.shape(i);
        let [m, n] = [shape.extents()[0], shape.extents()[1]].map(|extent| extent as usize);
        if transposed { [n, m] } else { [m, n] }
    };
    let left = |i| sides(a, i, transposed[0]);
    let right = |j| sides(b, j, transposed[1]);
    let fit = pairs.iter().all(|&(i, j)| left(i)[1] == right(j)[0]);
    let ambient = if fit {
        bytes.one_in(4)
    } else {
        !bytes.one_in(8)
    };
    let mut random = Random::new(bytes);
    let mut small =
        |layout: &Layout| Ragged::from_fn(layout, |_, _| random.integer(4) as f32).unwrap();
    let float = kind == Kind::F32;
    let bias = (float && bytes.one_in(3))
        .then(|| Layout::from_lengths((0..b.len()).map(|j| right(j)[1])).ok())
        .flatten()
        .map(|layout| small(&layout));
    let of_pair = |&(i, j): &(usize, usize)| Shape::new(&[left(i)[0], right(j)[1]]).expect("small");
    let residual = (float && bytes.one_in(3))
        .then(|| Layout::from_shapes(2, pairs.iter().map(of_pair)).ok())
        .flatten()
        .map(|layout| small(&layout));
    Binary::Matmul {
        transposed,
        ambient,
        f32: kind == Kind::F16 && bytes.one_in(2),
        bias,
        residual,
    }
}

pub fn entries(
    bytes: &mut Bytes<'_>,
    values: &[(Kind, Layout)],
    at: usize,
) -> Option<(Op, Vec<usize>)> {
    let other = partner(bytes, values, at);
    let (a, b) = (&values[at].1, &values[other].1);
    let grid =
        |m: usize, n: usize| Layout::from_shapes(2, [Shape::new(&[m, n]).expect("small")]).ok();
    let op = bytes.pick(&[0, 1, 2, 2, 3]);
    let divisor = |bytes: &mut Bytes<'_>, n: usize| match n {
        0 => 1 + bytes.below(3),
        n => (1..=1 + bytes.below(n))
            .rev()
            .find(|d| n % d == 0)
            .unwrap_or(1),
    };
    let columns = match op {
        0 | 1 => divisor(bytes, a.len()),
        _ => divisor(bytes, gcd(a.len(), b.len())),
    };
    let (rows, beyond) = (a.len() / columns, b.len() / columns);
    let terms = rows * columns * beyond;
    let longest = a.max_length() * b.max_length();
    if a.len().max(b.len()) > PAIRS
        || terms * longest > WORK
        || op == 3 && rows * beyond * longest > 2 * MOST
    {
        return None;
    }
    let left = grid(rows, columns)?;
    Some(match op {
        0 => (
            Op::Entries(Entries::Transpose, [left.clone(), left]),
            vec![at],
        ),
        1 if a.len() == b.len() => (
            Op::Entries(Entries::Add, [left.clone(), left]),
            vec![at, other],
        ),
        1 => (
            Op::Entries(Entries::Add, [left.clone(), left]),
            vec![at, at],
        ),
        2 => (
            Op::Entries(Entries::Conv, [left, grid(columns, beyond)?]),
            vec![at, other],
        ),
        _ => (
            Op::Entries(Entries::Kron, [left, grid(columns, beyond)?]),
            vec![at, other],
        ),
    })
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

pub fn sparse(bytes: &mut Bytes<'_>) -> Option<Op> {
    const SIDES: [usize; 6] = [8, 16, 32, 48, 64, 96];
    let block = [bytes.pick(&SIDES), bytes.pick(&SIDES)];
    let shape: [usize; 2] =
        [0, 1].map(|_| bytes.pick(&[0, 1, 8, 16, 20, 24, 33, 64, 70, 96, 130, 200]));
    let grid = [0, 1].map(|axis| shape[axis].div_ceil(block[axis]));
    let blocks = if grid[0] * grid[1] == 0 {
        0
    } else {
        bytes.below(13)
    };
    let places: Vec<(u32, u32)> = (0..blocks)
        .map(|_| (bytes.below(grid[0]) as u32, bytes.below(grid[1]) as u32))
        .collect();
    let topology = Topology::from_unsorted(shape, block, places).ok()?;
    let elements = bytes.below(4);
    let half = bytes.one_in(2);
    let form = [bytes.one_in(2), bytes.one_in(2)];
    let sampled = !half && bytes.one_in(3);
    let extents = |bytes: &mut Bytes<'_>, inner: usize, on_the_right: bool| {
        let shape = (0..elements).map(|_| {
            let outer = bytes.pick(&[0, 1, 2, 8, 9, 16, 17, 31, 32, 33, 40, 64, 65, 130]);
            let extents = if on_the_right {
                [inner, outer]
            } else {
                [outer, inner]
            };
            Shape::new(&extents).expect("small")
        });
        Layout::from_shapes(2, shape.collect::<Vec<_>>()).ok()
    };
    let mut random = Random::new(bytes);
    let mut small =
        |layout: &Layout| Ragged::from_fn(layout, |_, _| random.integer(4) as f32).unwrap();
    if sampled {
        let inner: Vec<usize> = (0..elements).map(|_| bytes.pick(&MIDDLE)).collect();
        let of = |m: usize| {
            let shapes = inner.iter().map(|&k| Shape::new(&[m, k]).expect("small"));
            Layout::from_shapes(2, shapes).ok()
        };
        let (a, b) = (of(shape[0])?, of(shape[1])?);
        return Some(Op::Sampled(topology, [small(&a), small(&b)]));
    }
    // A dense matrix on the left is multiplied by the rows of the stored matrix, or by its columns if that is
    // transposed.
    let inner = shape[usize::from(form[0] == form[1])];
    let dense = extents(bytes, inner, !form[0])?;
    let sets = if bytes.one_in(2) { 1 } else { elements };
    let values = topology.values_layout(sets).ok()?;
    let (values, dense) = (small(&values).into_parts().1, small(&dense));
    let bsr = Bsr::from_sets(&topology, sets, values).ok()?;
    let sparse = match half {
        false => Sparse::F32(bsr, dense),
        true => {
            let halves = bsr.values().cast(f16::from_f32).unwrap().into_parts().1;
            let bsr = Bsr::from_sets(&topology, sets, halves).ok()?;
            Sparse::F16(bsr, dense.cast(f16::from_f32).unwrap())
        }
    };
    Some(Op::Sparse(sparse, form))
}
