//! Strided slices, sums across elements, histograms, labels, created batches, frames and complex products.

use vsla::{Layout, Ragged, Shape};

use super::super::op::{Binary, Created, Meeting, Unary, Whole};
use super::two::{meeting, partner};
use super::{Bytes, Kind, MOST, Op, PAIRS, Random, WORK};

pub fn step(
    bytes: &mut Bytes<'_>,
    values: &[(Kind, Layout)],
    at: usize,
) -> Option<(Op, Vec<usize>)> {
    let (kind, x) = &values[at];
    let unary = |op| Some((Op::Unary(op), vec![at]));
    match (bytes.below(12), kind) {
        (0 | 1, _) => unary(strided(bytes, x.rank())),
        (2 | 3, _) => unary(Unary::Created(created(bytes, *kind, x.rank()))),
        (4, _) => Some((Op::Whole(sum(bytes, x)?), vec![at])),
        (5, Kind::C32) => unary(istft(bytes, x)?),
        (_, Kind::C32) => product(bytes, values, at),
        (5 | 6, _) => unary(histogram(bytes, x.len())?),
        (7, _) => unary(edges(bytes)),
        (8 | 9, Kind::F32 | Kind::F16) => unary(Unary::Dropout {
            p: bytes.below(41) as f32 / 40.0,
            seed: bytes.u8().into(),
            first: 0,
        }),
        (10, Kind::F32) => unary(cross_entropy(bytes, x)),
        (11, Kind::F32) => unary(stft(bytes, x)?),
        (10, Kind::U32) => unary(embedding(bytes, x)?),
        (_, Kind::U32) => {
            let depth = bytes.below(12);
            let to = bytes.pick(&[Kind::F32, Kind::F16, Kind::I32, Kind::U32]);
            (depth * x.total() <= 4 * MOST).then_some(unary(Unary::OneHot(depth, to)))?
        }
        _ => unary(edges(bytes)),
    }
}

fn strided(bytes: &mut Bytes<'_>, rank: usize) -> Unary {
    // Sometimes with one axis too few.
    let axes = if bytes.one_in(32) { rank - 1 } else { rank };
    let end = |bytes: &mut Bytes<'_>| match bytes.one_in(3) {
        true => None,
        false => Some(bytes.below(80) as i64 - 30),
    };
    let range = |_| {
        let step = match bytes.one_in(32) {
            true => 0,
            false => bytes.pick(&[1, 2, 3, 7, -1, -1, -2, -5]),
        };
        (end(bytes), end(bytes), step)
    };
    Unary::Strided((0..axes).map(range).collect())
}

fn created(bytes: &mut Bytes<'_>, kind: Kind, rank: usize) -> Created {
    let names: &[&str] = match kind {
        Kind::C32 => &["full"],
        Kind::I32 | Kind::U32 => &["full", "eye", "arange", "uniform"],
        Kind::F32 | Kind::F16 => &["full", "eye", "arange", "uniform", "normal", "linspace"],
    };
    let name = match bytes.pick(names) {
        "eye" if rank != 2 && !bytes.one_in(8) => "arange",
        name => name,
    };
    let first = bytes.below(64) as i32 - 8;
    Created {
        name,
        numbers: [first, first + bytes.below(64) as i32 - 4],
        seed: bytes.u8().into(),
        first: 0,
    }
}

fn sum(bytes: &mut Bytes<'_>, x: &Layout) -> Option<Whole> {
    // Groups have the smallest shape that contains their elements, which may be larger than any.
    let mut largest = vec![0; x.rank()];
    for shape in x.shapes() {
        for (most, &extent) in largest.iter_mut().zip(shape.extents()) {
            *most = extent.max(*most);
        }
    }
    let one: usize = largest.iter().map(|&extent| extent as usize).product();
    if one * x.len() > 8 * MOST {
        return None;
    }
    if bytes.one_in(2) {
        return Some(Whole::SumBatch);
    }
    let count = bytes.below(5);
    let beyond = usize::from(bytes.one_in(32));
    let groups = (0..x.len()).map(|_| bytes.below(count + beyond) as u32);
    Some(Whole::SumGroups(groups.collect(), count))
}

fn histogram(bytes: &mut Bytes<'_>, elements: usize) -> Option<Unary> {
    let bins = match bytes.one_in(32) {
        true => 0,
        false => bytes.pick(&[1, 2, 3, 7, 10, 100, 1000, 5000]),
    };
    let from = bytes.below(32) as i32 - 16;
    // Sometimes in the wrong order.
    let to = from + bytes.below(60) as i32 - 1;
    (bins * elements <= 4 * MOST).then_some(Unary::Histogram(bins, [from, to]))
}

fn edges(bytes: &mut Bytes<'_>) -> Unary {
    let mut edge = bytes.below(24) as i32 - 12;
    let count = if bytes.one_in(32) {
        1
    } else {
        2 + bytes.below(12)
    };
    let edges = (0..count).map(|_| {
        edge += bytes.pick(&[1, 1, 2, 3, 5]) - i32::from(bytes.one_in(128));
        edge
    });
    Unary::HistogramEdges(edges.collect())
}

fn embedding(bytes: &mut Bytes<'_>, ids: &Layout) -> Option<Unary> {
    let (rows, width) = (bytes.below(9), bytes.below(12));
    // Ids of any rank but the largest.
    let fits = ids.rank() < 8 && width * ids.total() <= 4 * MOST;
    let shape = Shape::new(&[rows, width]).ok().filter(|_| fits)?;
    let table = Layout::uniform(1, shape).ok()?;
    let table = Ragged::from_fn(&table, |_, i| i as f32 / 4.0 - 3.0).ok()?;
    Some(Unary::Embedding(table))
}

fn cross_entropy(bytes: &mut Bytes<'_>, x: &Layout) -> Unary {
    let rows = |shape: Shape| {
        let (_, rows) = shape.extents().split_last().expect("an axis");
        let rows: Vec<usize> = rows.iter().map(|&n| n as usize).collect();
        Shape::new(if rows.is_empty() { &[1] } else { &rows }).expect("smaller")
    };
    let rank = (x.rank() - 1).max(1);
    let layout = Layout::from_shapes(rank, x.shapes().map(rows)).expect("smaller");
    let mut random = Random::new(bytes);
    let classes = x
        .shapes()
        .map(|shape| shape.extents().last().map_or(0, |&n| n as usize));
    let classes: Vec<usize> = classes.collect();
    // The first targets beyond a row's length, too.
    let targets = Ragged::from_fn(&layout, |e, _| random.below(classes[e] + 1) as u32);
    Unary::CrossEntropy(targets.expect("smaller"))
}

/// A window of this size, without values whose squares are tiny.
fn window(bytes: &mut Bytes<'_>, size: usize) -> Ragged<f32> {
    let layout = Layout::from_lengths([size]).expect("small");
    let hann = bytes.one_in(2);
    let mut random = Random::new(bytes);
    let value = |_, j: usize| match hann {
        true => (std::f32::consts::PI * j as f32 / size as f32)
            .sin()
            .powi(2),
        false => random.integer(3) as f32 / 2.0,
    };
    Ragged::from_fn(&layout, value).expect("small")
}

const HOPS: [usize; 8] = [1, 2, 3, 4, 7, 16, 50, 1000];

fn stft(bytes: &mut Bytes<'_>, x: &Layout) -> Option<Unary> {
    let size = bytes.pick(&[1, 2, 3, 4, 5, 8, 15, 16, 31, 32, 33, 64, 100]);
    let hop = if bytes.one_in(32) {
        0
    } else {
        bytes.pick(&HOPS)
    };
    let frames = |n: usize| n.checked_sub(size).map_or(0, |left| left / hop.max(1) + 1);
    let frames: usize = x.lengths().map(frames).sum();
    let fits = frames * size <= 4 * MOST && (x.rank() == 1 || bytes.one_in(16));
    fits.then(|| Unary::Stft(window(bytes, size), hop))
}

/// The inverse of spectra that all have the same number of frequencies.
fn istft(bytes: &mut Bytes<'_>, x: &Layout) -> Option<Unary> {
    if x.rank() != 2 {
        return None;
    }
    let shapes: Vec<[usize; 2]> = x
        .shapes()
        .map(|shape| [0, 1].map(|axis| shape.extents()[axis] as usize))
        .collect();
    let columns = shapes.first()?[1];
    if columns == 0 || shapes.iter().any(|shape| shape[1] != columns) {
        return None;
    }
    let size = (2 * columns - 2 + bytes.below(2)).max(1);
    let hop = bytes.pick(&HOPS);
    let lengths = shapes
        .iter()
        .map(|&[frames, _]| match frames.checked_sub(1) {
            None => bytes.below(size),
            Some(steps) => steps * hop + size + bytes.below(hop.min(256)),
        });
    let layout = Layout::from_lengths(lengths.collect::<Vec<_>>()).ok()?;
    let fits = layout.total() <= 4 * MOST && x.total() * 2 <= 4 * MOST;
    fits.then(|| Unary::Istft(window(bytes, size), hop, layout))
}

/// A product of complex matrices; of each with its own transpose where no others fit.
fn product(
    bytes: &mut Bytes<'_>,
    values: &[(Kind, Layout)],
    at: usize,
) -> Option<(Op, Vec<usize>)> {
    let mut other = partner(bytes, values, at);
    let a = &values[at].1;
    if a.rank() != 2 {
        return None;
    }
    let mut meeting = meeting(bytes, a.len(), values[other].1.len());
    let sides = |layout: &Layout, i: usize| {
        let shape = layout.shape(i);
        [0, 1].map(|axis| shape.extents()[axis] as usize)
    };
    let fits = |b: &Layout, meeting: &Meeting, transposed: bool| {
        let inner = usize::from(transposed);
        let pairs = meeting.pairs(a.len(), b.len());
        b.rank() == 2
            && pairs
                .iter()
                .all(|&(i, j)| sides(a, i)[1] == sides(b, j)[inner])
    };
    let b = &values[other].1;
    let transposed = match bytes.one_in(2) {
        true if fits(b, &meeting, true) => true,
        _ if fits(b, &meeting, false) || bytes.one_in(16) => false,
        _ => {
            (other, meeting) = (at, Meeting::Elementwise);
            true
        }
    };
    let b = &values[other].1;
    let pairs = meeting.pairs(a.len(), b.len());
    let (mut results, mut work) = (0, 0);
    if b.rank() == 2 {
        for &(i, j) in &pairs {
            let ([m, k], right) = (sides(a, i), sides(b, j));
            let n = right[usize::from(!transposed)];
            (results, work) = (results + m * n, work + 4 * m * k * n);
        }
    }
    let small = pairs.len() <= PAIRS && results <= 2 * MOST && work <= WORK;
    let op = Op::Binary(Binary::ComplexMatmul { transposed }, meeting);
    small.then_some((op, vec![at, other]))
}
