//! Matrices of vectors: sums and products under both models.

mod independence;
mod kron;
#[cfg(feature = "gpu")]
mod limits;
mod refusals;

use libtest_mimic::Trial;
use proptest::collection::vec;
use vsla::{Device, Layout, Ragged, Result, Shape, product::ShapeMatrix};

use crate::support::bench::{Bench, folding_gpu};
use crate::support::compare::{Comparable, TINY, U, assert_exact, assert_identical, assert_within};
use crate::support::corpus::rng;
use crate::support::number::{Number, widened};
use crate::support::operation::{download, pick, upload};
use crate::support::property;
use crate::support::reference::{self, Arithmetic};
use independence::{alone, contained, deterministic, planned_once, views};
use kron::{kron_floats, kron_integers, kron_is_not_associative};
use refusals::refusals;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("goldens", goldens),
        ("nested", nested),
        ("transpose", transpose),
        ("add", add),
        ("integers", integers),
        ("floats", floats),
        ("short_entries_are_exact", short_entries_are_exact),
        ("kron::integers", kron_integers),
        ("kron::floats", kron_floats),
        ("kron::is_not_associative", kron_is_not_associative),
        ("contained", contained),
        ("alone", alone),
        ("views", views),
        ("deterministic", deterministic),
        ("laws", laws),
        ("shapes_that_stay_are_planned_once", planned_once),
        ("refusals", refusals),
    ]);
    trials.push(bench.on_gpu("folded", folding_gpu, |device| {
        integers(device);
        floats(device);
    }));
    #[cfg(feature = "gpu")]
    {
        use crate::support::bench::gpu;
        trials.push(bench.on_gpu("little_scratch", gpu, |_| limits::little_scratch()));
        trials.push(bench.on_gpu("limits", gpu, |_| limits::limits()));
    }
    trials
}

/// Matrices on the host: entries, and rows and columns of each matrix.
#[derive(Clone)]
struct Matrices<T> {
    entries: Ragged<T>,
    grid: Layout,
}

fn grid(extents: &[[usize; 2]]) -> Layout {
    let shapes = extents.iter().map(|extents| Shape::new(extents).unwrap());
    Layout::from_shapes(2, shapes).unwrap()
}

impl<T: Number> Matrices<T> {
    fn on(&self, device: &Device) -> ShapeMatrix<T> {
        ShapeMatrix::new(&upload(device, &self.entries), &self.grid).unwrap()
    }

    /// One of the matrices.
    fn one(&self, matrix: usize) -> Matrices<T> {
        let entries: Vec<usize> = self.grid.offsets().range(matrix).collect();
        Matrices {
            entries: pick(&self.entries, &entries),
            grid: self.grid.range(matrix..matrix + 1).unwrap(),
        }
    }
}

/// Two batches of matrices that can be multiplied.
#[derive(Clone)]
struct Case {
    name: &'static str,
    extents: Vec<[usize; 3]>,
    length: fn(&mut fastrand::Rng) -> usize,
}

fn cases() -> Vec<Case> {
    fn wild(rng: &mut fastrand::Rng) -> usize {
        [0, 1, 2, 5, 64, 100, 997, 3000][rng.usize(0..8)]
    }
    fn long(rng: &mut fastrand::Rng) -> usize {
        [0, 3, 9000, 20_000][rng.usize(0..4)]
    }
    let case = |name, extents: &[[usize; 3]], length| Case {
        name,
        extents: extents.to_vec(),
        length,
    };
    let shapes = [
        [1, 1, 1],
        [0, 3, 2],
        [2, 0, 3],
        [3, 2, 0],
        [0, 0, 0],
        [5, 4, 6],
        [1, 7, 1],
    ];
    vec![
        case("none", &[], |_| 0),
        case("empty entries", &[[3, 2, 3], [1, 1, 1]], |_| 0),
        case("short", &shapes, |rng| rng.usize(0..=9)),
        case("medium", &shapes, |rng| rng.usize(0..=120)),
        case("tiles", &[[9, 3, 10], [4, 4, 4]], |rng| rng.usize(30..=200)),
        case("edges", &[[2, 3, 2]; 9], |rng| {
            [31, 32, 33, 63, 64, 65, 128, 129][rng.usize(0..8)]
        }),
        case("wild", &[[3, 3, 3], [1, 1, 1], [2, 9, 5]], wild),
        case("long", &[[2, 3, 2], [1, 1, 1]], long),
    ]
}

impl Case {
    fn filled<T: Number>(
        &self,
        mut value: impl FnMut(&mut fastrand::Rng) -> T,
    ) -> [Matrices<T>; 2] {
        let mut rng = rng(self.name);
        [0, 1].map(|side| {
            let extents: Vec<[usize; 2]> = self
                .extents
                .iter()
                .map(|e| [e[side], e[side + 1]])
                .collect();
            let grid = grid(&extents);
            let lengths: Vec<usize> = (0..grid.total()).map(|_| (self.length)(&mut rng)).collect();
            let layout = Layout::from_lengths(lengths).unwrap();
            let entries = Ragged::from_fn(&layout, |_, _| value(&mut rng)).unwrap();
            Matrices { entries, grid }
        })
    }

    fn integers<T: Number>(&self) -> [Matrices<T>; 2] {
        self.filled(|rng| T::integer(rng, 9))
    }

    fn floats(&self) -> [Matrices<f32>; 2] {
        self.filled(|rng| rng.f32() * 2.0 - 1.0)
    }
}

/// A product in plain arithmetic.
struct Reference<S> {
    entries: Ragged<S>,
    /// For each value, the sum of its terms' absolute values, and its entry's Σ_j ‖a_ij‖ ‖b_jk‖
    /// and inner extent.
    magnitudes: Vec<f64>,
    norms: Vec<f64>,
    inner: Vec<usize>,
}

fn product<S: Arithmetic + Default>(
    a: (&Ragged<S>, &Layout),
    b: (&Ragged<S>, &Layout),
    kron: bool,
) -> Reference<S> {
    let norm = |row: &[S]| {
        row.iter()
            .map(|v| v.magnitude().powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let mut rows = Vec::new();
    let (mut magnitudes, mut norms, mut inners) = (Vec::new(), Vec::new(), Vec::new());
    let (mut first_a, mut first_b) = (0, 0);
    for (left, right) in a.1.shapes().zip(b.1.shapes()) {
        let [m, inner] = [0, 1].map(|axis| left.extents()[axis] as usize);
        let [other, n] = [0, 1].map(|axis| right.extents()[axis] as usize);
        assert_eq!(inner, other);
        for i in 0..m {
            for k in 0..n {
                let (mut sum, mut magnitude, mut both) = (Vec::new(), Vec::new(), 0.0);
                for j in 0..inner {
                    let pair = [(first_a + i * inner + j, first_b + j * n + k)];
                    let (x, y) = (a.0.row(pair[0].0), b.0.row(pair[0].1));
                    both += norm(x) * norm(y);
                    let (term, of_term) = if kron {
                        let term = reference::kron(a.0, b.0, &pair);
                        let sizes = term.values().iter().map(|v| v.magnitude()).collect();
                        (term, sizes)
                    } else {
                        let sums = reference::conv(a.0, b.0, &pair);
                        (sums.values, sums.magnitudes)
                    };
                    if term.values().len() > sum.len() {
                        sum.resize(term.values().len(), S::default());
                        magnitude.resize(sum.len(), 0.0);
                    }
                    for (at, value) in term.values().iter().enumerate() {
                        sum[at] = sum[at].plus(*value);
                        magnitude[at] += of_term[at];
                    }
                }
                norms.extend(std::iter::repeat_n(both, sum.len()));
                inners.extend(std::iter::repeat_n(inner, sum.len()));
                magnitudes.extend(magnitude);
                rows.push(sum);
            }
        }
        (first_a, first_b) = (first_a + m * inner, first_b + inner * n);
    }
    Reference {
        entries: Ragged::from_rows(rows).unwrap(),
        magnitudes,
        norms,
        inner: inners,
    }
}

fn of<T: Number>(a: &Matrices<T>, b: &Matrices<T>, kron: bool) -> Reference<T::Wide>
where
    T::Wide: Arithmetic,
{
    let (x, y) = (widened(&a.entries), widened(&b.entries));
    product((&x, &a.grid), (&y, &b.grid), kron)
}

impl Reference<f64> {
    /// Error bounds of sums by transforms, which direct sums also meet.
    fn bounds(&self) -> Vec<f64> {
        let lengths = self
            .entries
            .iter()
            .flat_map(|row| std::iter::repeat_n(row.len(), row.len()));
        let each = lengths.zip(&self.norms).zip(&self.inner);
        each.map(|((length, norm), inner)| {
            let length = length.next_power_of_two().max(64) as f64;
            let roundings = 1.5 * length.log2() + *inner as f64;
            roundings * U * norm + length * TINY
        })
        .collect()
    }
}

type Multiply<T> = fn(&ShapeMatrix<T>, &ShapeMatrix<T>) -> Result<ShapeMatrix<T>>;

fn run<T: Number>(device: &Device, [a, b]: &[Matrices<T>; 2], multiply: Multiply<T>) -> Ragged<T> {
    let c = multiply(&a.on(device), &b.on(device)).unwrap();
    let extents = a.grid.shapes().zip(b.grid.shapes());
    let expected =
        extents.map(|(x, y)| Shape::new(&[x.extents()[0] as usize, y.extents()[1] as usize]));
    let expected = Layout::from_shapes(2, expected.map(Result::unwrap)).unwrap();
    assert_eq!(c.grid(), &expected);
    download(c.entries())
}

/// A = [[[1, 2], [3]], [[], [0, 1]]] and B = [[[1], [1, 1]], [[2, 0, 1], [4]]].
fn goldens(device: &Device) {
    fn check<T: Number + Comparable>(device: &Device, number: fn(u8) -> T) {
        let matrix = |entries: [&[u8]; 4]| {
            let entries = entries.map(|entry| entry.iter().map(|&x| number(x)).collect::<Vec<_>>());
            Matrices {
                entries: Ragged::from_rows(entries).unwrap(),
                grid: grid(&[[2, 2]]),
            }
        };
        let a = matrix([&[1, 2], &[3], &[], &[0, 1]]);
        let b = matrix([&[1], &[1, 1], &[2, 0, 1], &[4]]);
        let both = [a.clone(), b];
        let expected = matrix([&[7, 2, 3], &[13, 3, 2], &[0, 2, 0, 1], &[0, 4]]).entries;
        assert_exact(
            "conv",
            &run(device, &both, |x, y| x.conv_matmul(y)),
            &expected,
        );
        let expected = matrix([&[7, 2, 3], &[13, 1, 2, 2], &[0, 0, 0, 2, 0, 1], &[0, 4]]).entries;
        assert_exact(
            "kron",
            &run(device, &both, |x, y| x.kron_matmul(y)),
            &expected,
        );
        let one = ShapeMatrix::<T>::identity(device, [2]).unwrap();
        let x = a.on(device);
        for (what, product) in [
            ("a 1", x.conv_matmul(&one)),
            ("1 a", one.conv_matmul(&x)),
            ("a ⊗ 1", x.kron_matmul(&one)),
            ("1 ⊗ a", one.kron_matmul(&x)),
        ] {
            assert_exact(what, &download(product.unwrap().entries()), &a.entries);
        }
    }
    check::<f32>(device, f32::from);
    check::<i32>(device, i32::from);
    check::<u32>(device, u32::from);
}

fn nested(device: &Device) {
    let two = vec![
        vec![
            vec![vec![1, 2], vec![], vec![3]],
            vec![vec![4], vec![5, 6], vec![]],
        ],
        vec![vec![vec![7]]],
        vec![],
        vec![vec![], vec![]],
    ];
    let matrices = ShapeMatrix::<i32>::from_nested(device, &two).unwrap();
    assert_eq!(matrices.grid(), &grid(&[[2, 3], [1, 1], [0, 0], [2, 0]]));
    assert_eq!(matrices.to_nested_blocking().unwrap(), two);
    let identities = ShapeMatrix::<u32>::identity(device, [1, 0, 3]).unwrap();
    let (one, none) = (|| vec![1], Vec::new);
    let expected = vec![
        vec![vec![one()]],
        vec![],
        vec![
            vec![one(), none(), none()],
            vec![none(), one(), none()],
            vec![none(), none(), one()],
        ],
    ];
    assert_eq!(identities.to_nested_blocking().unwrap(), expected);
    let error = ShapeMatrix::<i32>::from_nested(
        device,
        &[vec![vec![vec![1]]], vec![vec![vec![1]; 2], vec![]]],
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "shape_matrix: element 1: expected the shape (2, 2), got 0 entries in row 1"
    );
}

fn transpose(device: &Device) {
    for case in cases() {
        let [a, _] = case.floats();
        let (mut rows, mut extents) = (Vec::new(), Vec::new());
        for (begin, shape) in a.grid.offsets().as_slice().iter().zip(a.grid.shapes()) {
            let [m, n] = [0, 1].map(|axis| shape.extents()[axis] as usize);
            for k in 0..n {
                rows.extend((0..m).map(|i| a.entries.row(*begin as usize + i * n + k)));
            }
            extents.push([n, m]);
        }
        let expected = Ragged::from_rows(rows).unwrap();
        let transposed = a.on(device).transpose().unwrap();
        assert_eq!(transposed.grid(), &grid(&extents), "{}", case.name);
        assert_identical(case.name, &download(transposed.entries()), &expected);
        let back = transposed.transpose().unwrap();
        assert_identical(case.name, &download(back.entries()), &a.entries);
    }
}

fn add(device: &Device) {
    for case in cases() {
        let [a, _] = case.integers::<i32>();
        let mut rng = rng("other lengths");
        let lengths = a.entries.layout().lengths().map(|n| rng.usize(0..=n));
        let layout = Layout::from_lengths(lengths.collect::<Vec<_>>()).unwrap();
        let other = Ragged::from_fn(&layout, |element, i| (element + i) as i32).unwrap();
        let pairs = reference::elementwise(other.len());
        let expected = reference::add(&a.entries, &other, &pairs).values;
        let b = Matrices {
            entries: other,
            grid: a.grid.clone(),
        };
        let sum = a.on(device).add(&b.on(device)).unwrap();
        assert_eq!(sum.grid(), &a.grid);
        assert_exact(case.name, &download(sum.entries()), &expected);
    }
}

fn integers(device: &Device) {
    fn check<T: Number + Comparable>(device: &Device)
    where
        T::Wide: Arithmetic,
    {
        // Computing the longest entries by the definition is slow.
        for case in cases().into_iter().filter(|case| case.name != "long") {
            let both = case.integers::<T>();
            let expected = of(&both[0], &both[1], false);
            let got = run(device, &both, |x, y| x.conv_matmul(y));
            assert_eq!(got.layout(), expected.entries.layout(), "{}", case.name);
            let expected = expected.entries.cast(T::compared).unwrap();
            let none = vec![0.0; got.values().len()];
            assert_within(case.name, &got, &expected, &none);
        }
    }
    check::<i32>(device);
    check::<u32>(device);
}

fn floats(device: &Device) {
    for case in cases() {
        for both in [case.floats(), case.integers()] {
            let expected = of(&both[0], &both[1], false);
            let got = run(device, &both, |x, y| x.conv_matmul(y));
            assert_within(case.name, &got, &expected.entries, &expected.bounds());
        }
    }
}

/// Integer-valued f32 are exact without transforms: short entries, and few values on one side.
fn short_entries_are_exact(device: &Device) {
    let mut few = cases()[5].clone();
    few.name = "few";
    for (case, right) in [(&cases()[2], None), (&few, Some(4))] {
        let [a, mut b] = case.integers::<f32>();
        if let Some(most) = right {
            let rows: Vec<Vec<f32>> = b
                .entries
                .iter()
                .map(|row| row[..row.len().min(most)].to_vec())
                .collect();
            b.entries = Ragged::from_rows(rows).unwrap();
        }
        let expected = of(&a, &b, false);
        let got = run(device, &[a, b], |x, y| x.conv_matmul(y));
        let none = vec![0.0; got.values().len()];
        assert_within(case.name, &got, &expected.entries, &none);
    }
}

fn laws(device: &Device) {
    let entry = || vec(-9..=9i32, 0..5);
    let matrix = || vec(entry(), 4..=4);
    property::on(device, vec([matrix(), matrix(), matrix()], 0..4), |all| {
        let [a, b, c] = [0, 1, 2].map(|side| {
            let entries = all.iter().flat_map(|matrices| matrices[side].clone());
            Matrices {
                entries: Ragged::from_rows(entries.collect::<Vec<_>>()).unwrap(),
                grid: grid(&vec![[2, 2]; all.len()]),
            }
            .on(device)
        });
        let equal = |what: &str, x: ShapeMatrix<i32>, y: ShapeMatrix<i32>| {
            let same = x.entries().equivalent_blocking(y.entries()).unwrap();
            assert!(same.iter().all(|same| *same), "{what}");
        };
        let law = || -> Result<()> {
            let (ab, bc) = (a.conv_matmul(&b)?, b.conv_matmul(&c)?);
            equal("(ab)c = a(bc)", ab.conv_matmul(&c)?, a.conv_matmul(&bc)?);
            let (ac, sum) = (a.conv_matmul(&c)?, a.add(&b)?);
            equal("(a + b)c = ac + bc", sum.conv_matmul(&c)?, ac.add(&bc)?);
            let (left, right) = (a.conv_matmul(&b.add(&c)?)?, ab.add(&ac)?);
            equal("a(b + c) = ab + ac", left, right);
            let (left, right) = (
                b.transpose()?.conv_matmul(&a.transpose()?)?,
                ab.transpose()?,
            );
            equal("(ab)ᵀ = bᵀaᵀ", left, right);
            let (ac, bc) = (a.kron_matmul(&c)?, b.kron_matmul(&c)?);
            equal("(a + b) ⊗ c", sum.kron_matmul(&c)?, ac.add(&bc)?);
            Ok(())
        };
        law().unwrap();
    });
}
