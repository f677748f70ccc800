//! The corpus: named pairs of ragged batches that every operation must process correctly on every device.
//!
//! A case is a recipe: its data is only created when a trial requests it. Both batches of a case have the same number
//! of elements, but with different lengths, so that swapping left and right is detected.

use std::sync::Arc;

use fastrand::Rng;
use vsla::{Layout, Ragged, Shape};

use super::number::Number;

/// The seed of all randomness in the tests.
pub const SEED: u64 = 0x5EED_0F7E_575A_11D5;

/// The five sets of lengths used to benchmark this library.
pub const SETS: [(&str, [usize; 5]); 5] = [
    ("set_mixed", [8, 15, 142, 7, 456]),
    ("set_far_apart", [2, 3, 1000, 5, 2000]),
    ("set_attention", [32, 64, 128, 256, 512]),
    ("set_sensors", [8, 16, 32, 128, 256]),
    ("set_nearly_uniform", [32, 30, 35, 28, 33]),
];

/// The maximum multiply-adds of a case in [`small`]: a software GPU does about 10⁹ per second.
pub const SMALL_WORK: usize = 20_000_000;

/// A random number generator, seeded by its purpose.
pub fn rng(purpose: &str) -> Rng {
    // FNV-1a: unlike the standard library's hash, it never changes.
    let hash = purpose
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
    Rng::with_seed(SEED ^ hash)
}

/// The kind of float values in a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Uniform in [−1, 1).
    Plain,
    /// The same, with NaN and infinities in some elements.
    Nonfinite,
    /// Each element has its own magnitude, 1e-30 to 1e30, and its partner has the inverse.
    Magnitudes,
}

/// A case of the corpus: one or two batches.
#[derive(Clone)]
pub struct Case {
    pub name: String,
    pub content: Content,
    layouts: Arc<dyn Fn() -> (Layout, Layout) + Send + Sync>,
}

impl Case {
    fn new(name: &str, layouts: impl Fn() -> (Layout, Layout) + Send + Sync + 'static) -> Case {
        Case {
            name: name.to_string(),
            content: Content::Plain,
            layouts: Arc::new(layouts),
        }
    }

    /// Series with these lengths.
    fn series(
        name: &str,
        lengths: impl Fn() -> (Vec<usize>, Vec<usize>) + Send + Sync + 'static,
    ) -> Case {
        Case::new(name, move || {
            let (left, right) = lengths();
            assert_eq!(left.len(), right.len());
            (series(left), series(right))
        })
    }

    /// Series with these lengths; the right batch has the same lengths in a different order.
    fn shuffled(name: &'static str, lengths: impl Into<Vec<usize>>) -> Case {
        let lengths = lengths.into();
        Case::series(name, move || {
            let mut right = lengths.clone();
            rng(name).shuffle(&mut right);
            (lengths.clone(), right)
        })
    }

    fn with(mut self, content: Content) -> Case {
        self.content = content;
        self
    }

    pub fn layouts(&self) -> (Layout, Layout) {
        (self.layouts)()
    }

    /// Integers, for floats so small that every Σ|a_i b_j| is exact in f32, and for integer types over the whole range.
    pub fn integers<T: Number>(&self) -> (Ragged<T>, Ragged<T>) {
        let (left, right) = self.layouts();
        let longest = left.max_length().max(right.max_length()).max(1);
        let limit = (((1u32 << 24) - 1) as f64 / longest as f64)
            .sqrt()
            .min(1000.0) as i32;
        let fill = |layout: &Layout, side: &str| {
            let mut rng = rng(&format!("{} {side}", self.name));
            Ragged::from_fn(layout, |_, _| T::integer(&mut rng, limit)).unwrap()
        };
        (fill(&left, "left"), fill(&right, "right"))
    }

    /// f32 values of the case's content.
    pub fn floats(&self) -> (Ragged<f32>, Ragged<f32>) {
        let (left, right) = self.layouts();
        let mut rng = rng(&self.name);
        let exponents: Vec<f32> = match self.content {
            Content::Magnitudes => (0..left.len()).map(|_| rng.f32() * 60.0 - 30.0).collect(),
            _ => vec![0.0; left.len()],
        };
        let mut fill = |layout: &Layout, sign: f32| {
            Ragged::from_fn(layout, |element, _| {
                (rng.f32() * 2.0 - 1.0) * 10f32.powf(sign * exponents[element])
            })
            .unwrap()
        };
        let (mut a, b) = (fill(&left, 1.0), fill(&right, -1.0));
        if self.content == Content::Nonfinite {
            spoil(&mut a);
        }
        (a, b)
    }

    /// Whether it has more elements than most GPUs allow workgroups in one dimension of a dispatch. Where each element
    /// takes a workgroup, a software GPU takes long for them.
    pub fn has_very_many_elements(&self) -> bool {
        self.layouts().0.len() > u16::MAX.into()
    }

    /// The multiply-adds of directly convolving the case's pairs.
    pub fn work(&self) -> usize {
        let (left, right) = self.layouts();
        left.lengths()
            .zip(right.lengths())
            .map(|(m, n)| m * n)
            .sum()
    }
}

/// Which elements contain a NaN or an infinity.
pub fn spoilt(batch: &Ragged<f32>) -> Vec<bool> {
    batch
        .iter()
        .map(|row| row.iter().any(|value| !value.is_finite()))
        .collect()
}

/// Puts NaN and infinities into every third element: at the start, middle and end in turn.
fn spoil(batch: &mut Ragged<f32>) {
    let bad: [&[f32]; 4] = [
        &[f32::NAN],
        &[f32::INFINITY],
        &[f32::NEG_INFINITY],
        &[f32::INFINITY, f32::NEG_INFINITY, f32::NAN],
    ];
    let ranges: Vec<_> = (0..batch.len())
        .map(|i| batch.layout().offsets().range(i))
        .collect();
    for (turn, range) in ranges.into_iter().skip(1).step_by(3).enumerate() {
        let row = &mut batch.values_mut()[range];
        for (k, &value) in bad[turn % bad.len()].iter().enumerate() {
            let length = row.len().max(1);
            let at = [0, length / 2, length - 1][(turn + k) % 3];
            if let Some(slot) = row.get_mut(at) {
                *slot = value;
            }
        }
    }
}

fn series(lengths: Vec<usize>) -> Layout {
    Layout::from_lengths(lengths).expect("lengths of a test batch")
}

/// Random lengths in `range`.
fn draw(purpose: &str, elements: usize, range: std::ops::RangeInclusive<usize>) -> Vec<usize> {
    let mut rng = rng(purpose);
    (0..elements).map(|_| rng.usize(range.clone())).collect()
}

/// The length of the giant element: 2²⁰, or 2²⁴ if `VSLA_LARGE=1` permits the memory.
fn giant() -> usize {
    let large = std::env::var("VSLA_LARGE").is_ok_and(|value| value == "1");
    if large { 1 << 24 } else { 1 << 20 }
}

/// Cases that are suitable for every operation.
fn shared() -> Vec<Case> {
    let mut cases = vec![
        Case::shuffled("empty_batch", []),
        Case::shuffled("one_empty_element", [0]),
        Case::series("one_empty_side", || {
            (vec![0, 5, 0, 3, 1], vec![4, 0, 0, 0, 2])
        }),
        Case::shuffled("all_empty_70000", vec![0; 70_000]),
        Case::shuffled("single_values", vec![1; 300]),
        Case::series("single_values_or_none", || {
            (
                draw("single left", 300, 0..=1),
                draw("single right", 300, 0..=1),
            )
        }),
        Case::shuffled("one_value", [1]),
        Case::shuffled("edges_32", [31, 32, 33, 0, 31, 32, 33]),
        Case::shuffled("edges_64", [63, 64, 65, 1, 63, 64, 65]),
        Case::shuffled("edges_128", [127, 128, 129, 2, 127, 128, 129]),
        Case::shuffled("edges_256", [255, 256, 257, 3, 255, 256, 257]),
        Case::shuffled("edges_448", [447, 448, 449, 0, 447, 448, 449]),
        Case::shuffled("edges_512", [511, 512, 513, 4, 511, 512, 513]),
        Case::shuffled("edges_1024", [1023, 1024, 1025, 5, 1023, 1024, 1025]),
        Case::shuffled("primes", [2, 3, 5, 7, 11, 13, 101, 211, 499, 997, 1999]),
        Case::shuffled(
            "powers_of_two",
            (0..=11).map(|k| 1 << k).collect::<Vec<_>>(),
        ),
        Case::series("short_random", || {
            (
                draw("short left", 400, 0..=70),
                draw("short right", 400, 0..=70),
            )
        }),
        // More than 20 × 20 elements, so the folding GPU needs its third dimension.
        Case::series("tiny_5000", || {
            (
                draw("few left", 5000, 0..=5),
                draw("few right", 5000, 0..=5),
            )
        }),
        Case::series("tiny_70000", || {
            (
                draw("tiny left", 70_000, 0..=4),
                draw("tiny right", 70_000, 0..=4),
            )
        }),
        Case::series("nonfinite", || {
            (
                draw("nonfinite left", 40, 0..=300),
                draw("nonfinite right", 40, 0..=300),
            )
        })
        .with(Content::Nonfinite),
        Case::series("magnitudes", || {
            (
                draw("magnitudes left", 61, 1..=90),
                draw("magnitudes right", 61, 1..=90),
            )
        })
        .with(Content::Magnitudes),
    ];
    cases.extend(SETS.map(|(name, lengths)| Case::shuffled(name, lengths)));
    cases
}

/// All cases with series.
pub fn all() -> Vec<Case> {
    let mut cases = shared();
    cases.extend([
        Case::shuffled("edges_4096", [4095, 4096, 4097, 0, 4095, 4096, 4097]),
        Case::shuffled("edges_65536", [65_535, 65_536, 65_537]),
        Case::series("giant_among_dwarfs", || {
            let mut left = draw("dwarfs left", 200, 0..=9);
            let mut right = draw("dwarfs right", 200, 0..=9);
            left[70] = giant();
            right[70] = giant() - 3;
            right[140] = 100_003;
            (left, right)
        }),
        Case::series("giant_last", || (vec![3, 0, giant() + 1], vec![100, 7, 12])),
    ]);
    cases
}

/// The cases with series for operations whose work is the product of the lengths.
pub fn small() -> Vec<Case> {
    let mut cases = shared();
    cases.extend([
        Case::series("edges_4096", || {
            (vec![4095, 4096, 4097], vec![1023, 33, 449])
        }),
        Case::series("edges_4096_right", || {
            (vec![64, 257, 1], vec![4097, 4096, 4095])
        }),
        Case::series("edges_4096_both", || (vec![4096, 5], vec![4097, 9])),
        Case::series("giant_among_dwarfs", || {
            let mut left = draw("small dwarfs left", 200, 0..=9);
            let mut right = draw("small dwarfs right", 200, 0..=9);
            (left[70], right[70]) = (1 << 16, 129);
            (left[140], right[140]) = (65, 70_001);
            (left, right)
        }),
        Case::series("giant_last", || (vec![3, 0, 100_003], vec![100, 7, 12])),
    ]);
    cases
}

/// Batches of every rank, one case each. Extents of 0 and 1 are frequent, and shapes are drawn independently.
pub fn boxes() -> Vec<Case> {
    /// The largest extent for each rank, starting at 1, chosen to keep the square of a box cheap.
    const LARGEST: [usize; 8] = [200, 14, 7, 4, 3, 3, 2, 2];
    let mut cases: Vec<Case> = (1..=LARGEST.len())
        .map(|rank| {
            let name = format!("rank_{rank}");
            Case::new(&name.clone(), move || {
                let mut rng = rng(&name);
                let mut side = || {
                    let shapes = (0..40).map(|_| {
                        let extents: Vec<usize> = (0..rank)
                            .map(|_| match rng.usize(0..24) {
                                0 => 0,
                                1..6 => 1,
                                _ => rng.usize(1..=LARGEST[rank - 1]),
                            })
                            .collect();
                        shape(&extents)
                    });
                    let shapes: Vec<Shape> = shapes.collect();
                    boxed(rank, shapes)
                };
                (side(), side())
            })
        })
        .collect();
    cases.extend([
        Case::new("rank_2_extents_of_one", || {
            let left = [[1, 1], [1, 9], [9, 1], [1, 9], [1, 1], [6, 7], [1, 1]];
            let right = [[5, 5], [9, 1], [1, 9], [1, 9], [1, 4], [1, 1], [1, 1]];
            (
                boxed(2, left.map(|e| shape(&e))),
                boxed(2, right.map(|e| shape(&e))),
            )
        }),
        Case::new("rank_2_larger", || {
            let left = [[65, 33], [0, 4], [1, 300], [300, 1], [31, 64]];
            let right = [[33, 70], [3, 0], [17, 17], [17, 17], [64, 31]];
            (
                boxed(2, left.map(|e| shape(&e))),
                boxed(2, right.map(|e| shape(&e))),
            )
        }),
        Case::new("rank_3_larger", || {
            let left = [[17, 5, 16], [1, 1, 400], [8, 9, 10]];
            let right = [[5, 17, 9], [33, 1, 1], [10, 9, 8]];
            (
                boxed(3, left.map(|e| shape(&e))),
                boxed(3, right.map(|e| shape(&e))),
            )
        }),
        Case::new("rank_2_empty_batch", || (boxed(2, []), boxed(2, []))),
        Case::new("rank_3_all_empty", || {
            let empties = [[0, 3, 2], [4, 0, 1], [0, 0, 0]];
            let others = [[2, 2, 2], [0, 0, 0], [5, 0, 5]];
            (
                boxed(3, empties.map(|e| shape(&e))),
                boxed(3, others.map(|e| shape(&e))),
            )
        }),
        Case::new("rank_4_tiny_20000", || {
            let mut rng = rng("rank_4_tiny_20000");
            let mut side = || {
                let shapes: Vec<Shape> = (0..20_000)
                    .map(|_| shape(&[1, rng.usize(0..=2), rng.usize(1..=2), rng.usize(1..=2)]))
                    .collect();
                boxed(4, shapes)
            };
            (side(), side())
        }),
    ]);
    cases
}

fn shape(extents: &[usize]) -> Shape {
    Shape::new(extents).expect("a shape of a test batch")
}

fn boxed(rank: usize, shapes: impl IntoIterator<Item = Shape>) -> Layout {
    Layout::from_shapes(rank, shapes).expect("shapes of a test batch")
}
