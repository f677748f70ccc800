//! An operation with all its arguments, as plain data.

use vsla::batch::Permutation;
use vsla::{
    Bsr, Indices, Layout, Pairing, Ragged, Topology,
    batch::PairList,
    conv::{ConvMethod, ConvMode},
    f16,
};

use super::batch::{Kind, element};
use super::values::Values;

/// [`Pairing`] that owns its list.
#[derive(Clone, Debug)]
pub enum Meeting {
    Elementwise,
    OneToAll,
    AllToOne,
    AllToAll,
    List(PairList),
}

impl Meeting {
    pub fn pairing(&self) -> Pairing<'_> {
        match self {
            Meeting::Elementwise => Pairing::Elementwise,
            Meeting::OneToAll => Pairing::OneToAll,
            Meeting::AllToOne => Pairing::AllToOne,
            Meeting::AllToAll => Pairing::AllToAll,
            Meeting::List(pairs) => Pairing::List(pairs),
        }
    }

    /// The pairs that are valid for batches of these sizes.
    pub fn pairs(&self, left: usize, right: usize) -> Vec<(usize, usize)> {
        match self {
            Meeting::Elementwise => (0..left.min(right)).map(|i| (i, i)).collect(),
            Meeting::OneToAll if left == 0 => Vec::new(),
            Meeting::OneToAll => (0..right).map(|j| (0, j)).collect(),
            Meeting::AllToOne if right == 0 => Vec::new(),
            Meeting::AllToOne => (0..left).map(|i| (i, 0)).collect(),
            Meeting::AllToAll => {
                let row = |i| (0..right).map(move |j| (i, j));
                (0..left).flat_map(row).collect()
            }
            Meeting::List(pairs) => {
                let pairs = pairs
                    .as_slice()
                    .iter()
                    .map(|&(i, j)| (i as usize, j as usize));
                pairs.filter(|&(i, j)| i < left && j < right).collect()
            }
        }
    }
}

/// Operations of two operands, value by value.
#[derive(Clone, Debug)]
pub enum Binary {
    Add,
    Sub,
    Hadamard,
    Conv {
        correlate: bool,
        mode: ConvMode,
        strides: Option<Vec<usize>>,
        method: ConvMethod,
    },
    ConvPlan {
        causal: bool,
    },
    Dot,
    Equivalent,
    Eval,
    Kron,
    Outer,
    Concat(usize),
    BlockDiag,
    Matmul {
        transposed: [bool; 2],
        ambient: bool,
        /// For f16: the sums without rounding.
        f32: bool,
        /// A bias for each right operand, and relu.
        bias: Option<Ragged<f32>>,
        /// One for each pair.
        residual: Option<Ragged<f32>>,
    },
    /// Of complex matrices, with the transposed right operand or without.
    ComplexMatmul {
        transposed: bool,
    },
    CorrelateMax,
    Sbd,
}

#[derive(Clone, Debug)]
pub enum Unary {
    Copy,
    Slice(Vec<i64>, Vec<i64>),
    Pad(Vec<(usize, usize)>),
    Flip(Vec<usize>),
    Resize(Layout),
    Transpose(Vec<usize>),
    Reshape(Layout),
    Broadcast(Layout),
    Neg,
    Scale(i32),
    Sum,
    Norm1,
    Norm2,
    Max,
    Argmax,
    Min,
    Argmin,
    Shrink,
    Degree,
    ToF16,
    ToF32,
    Fft,
    Ifft,
    Rfft,
    Irfft(Layout),
    Fft2,
    Ifft2,
    Rfft2,
    Irfft2(Layout),
    ScatterSet(Indices, Layout),
    ScatterAdd(Indices, Layout),
    Strided(Vec<(Option<i64>, Option<i64>, i64)>),
    /// The number of bins, and both ends in units of `Small`.
    Histogram(usize, [i32; 2]),
    HistogramEdges(Vec<i32>),
    OneHot(usize, Kind),
    /// The operand has the ids, of rows of this table.
    Embedding(Ragged<f32>),
    /// The scores are the operand.
    CrossEntropy(Ragged<u32>),
    /// A batch with the operand's layout and type.
    Created(Created),
    Dropout {
        p: f32,
        seed: u64,
        first: u32,
    },
    Stft(Ragged<f32>, usize),
    Istft(Ragged<f32>, usize, Layout),
}

/// A batch that follows from a few numbers.
#[derive(Clone, Debug)]
pub struct Created {
    pub name: &'static str,
    /// In units of `Small`.
    pub numbers: [i32; 2],
    pub seed: u64,
    /// The number of the first element.
    pub first: u32,
}

/// Operations on images of i32 or u32. Lists have a row for each element.
#[derive(Clone, Debug)]
pub enum Image {
    /// The labels, and their numbers.
    Label(Labels),
    Regions(Labels),
    /// Whether holes have eight neighbours; the background, and the value of filled cells.
    FillHoles(bool, [i32; 2]),
    /// With eight neighbours or four.
    Dilate(bool),
    Erode(bool),
    Rot90(i64),
    AntiTranspose,
    Upscale(Vec<[usize; 2]>),
    Downscale(Vec<[usize; 2]>),
    Tile(Vec<[usize; 2]>),
    Translate(Vec<[i64; 2]>, i32),
    BoundingBox(i32),
    Trim(i32),
    /// To the bounding box.
    Crop(i32),
    /// The bounding box, in the most common value.
    DrawBoxes(i32),
    /// In the least common value.
    DrawLines(Ragged<i32>),
    Lookup(Ragged<u32>),
    Bincount(usize),
    MostCommon,
    LeastCommon,
    Palette,
    /// The cells up to this place are the template.
    MatchTemplate([i64; 2]),
    Period(usize),
    /// Of images and their reflections.
    EqualElements,
    /// Without rows or columns that are equal to those on the other side.
    Compact(usize),
}

/// Which cells a component has. Colours are in units of `Small`.
#[derive(Clone, Debug)]
pub struct Labels {
    pub eight: bool,
    pub foreground: bool,
    pub background: i32,
}

impl Image {
    /// The operation on an element alone.
    fn alone(&self, element: usize) -> Image {
        match self {
            Image::Upscale(factors) => Image::Upscale(vec![factors[element]]),
            Image::Downscale(factors) => Image::Downscale(vec![factors[element]]),
            Image::Tile(repeats) => Image::Tile(vec![repeats[element]]),
            Image::Translate(shifts, fill) => Image::Translate(vec![shifts[element]], *fill),
            Image::DrawLines(lines) => Image::DrawLines(self::element(lines, element)),
            other => other.clone(),
        }
    }
}

/// Operations on a batch as a whole, which have no equivalent for a single element.
#[derive(Clone, Debug)]
pub enum Whole {
    Elements(usize, usize),
    Select(Vec<u32>),
    Reorder(Permutation),
    Sort,
    Split(Vec<usize>),
    Stack,
    StackGroups(Vec<usize>),
    StackAndBack,
    Window(usize, usize),
    Pyramid(Vec<usize>, bool),
    Join,
    ConcatAll(usize),
    SumBatch,
    /// The group of each element, and the number of groups.
    SumGroups(Vec<u32>, usize),
}

#[derive(Clone, Debug)]
pub enum Entries {
    Add,
    Transpose,
    Conv,
    Kron,
}

/// Products of block-sparse and dense matrices.
#[derive(Clone, Debug)]
pub enum Sparse {
    F32(Bsr<f32>, Ragged<f32>),
    F16(Bsr<f16>, Ragged<f16>),
}

#[derive(Clone, Debug)]
pub enum Op {
    Unary(Unary),
    Binary(Binary, Meeting),
    Gather(Indices, Meeting),
    Whole(Whole),
    /// Matrices of vectors, with their grids.
    Entries(Entries, [Layout; 2]),
    /// First, whether the dense matrix is on the left; second, whether the block-sparse matrix is transposed.
    Sparse(Sparse, [bool; 2]),
    /// Sampled blocks of f32 products, with the right matrix transposed.
    Sampled(Topology, [Ragged<f32>; 2]),
    Values(Values),
    Image(Image),
}

impl Op {
    /// The operation that computes element `pair` of the result from single elements, and which elements.
    pub fn alone(&self, pair: usize, lengths: &[usize]) -> Option<(Op, Vec<usize>)> {
        let range = |layout: &Layout| layout.range(pair..pair + 1).expect("an element");
        let list = |indices: &Indices, i: usize| {
            let rows = Ragged::from_rows([indices.list(i)]).expect("a list");
            Indices::new(rows).expect("of rank 1")
        };
        Some(match self {
            Op::Unary(unary) => {
                let unary = match unary {
                    Unary::Resize(layout) => Unary::Resize(range(layout)),
                    Unary::Reshape(layout) => Unary::Reshape(range(layout)),
                    Unary::Broadcast(layout) => Unary::Broadcast(range(layout)),
                    Unary::Irfft(layout) => Unary::Irfft(range(layout)),
                    Unary::Irfft2(layout) => Unary::Irfft2(range(layout)),
                    Unary::ScatterSet(indices, layout) => {
                        Unary::ScatterSet(list(indices, pair), range(layout))
                    }
                    Unary::ScatterAdd(indices, layout) => {
                        Unary::ScatterAdd(list(indices, pair), range(layout))
                    }
                    Unary::CrossEntropy(targets) => Unary::CrossEntropy(element(targets, pair)),
                    Unary::Istft(window, hop, layout) => {
                        Unary::Istft(window.clone(), *hop, range(layout))
                    }
                    Unary::Created(made) => Unary::Created(Created {
                        first: pair as u32,
                        ..made.clone()
                    }),
                    Unary::Dropout { p, seed, .. } => Unary::Dropout {
                        p: *p,
                        seed: *seed,
                        first: pair as u32,
                    },
                    other => other.clone(),
                };
                (Op::Unary(unary), vec![pair])
            }
            Op::Binary(binary, meeting) => {
                let (i, j) = *meeting.pairs(lengths[0], lengths[1]).get(pair)?;
                let mut binary = binary.clone();
                if let Binary::Matmul { bias, residual, .. } = &mut binary {
                    *bias = bias.as_ref().map(|bias| element(bias, j));
                    *residual = residual.as_ref().map(|residual| element(residual, pair));
                }
                (Op::Binary(binary, Meeting::Elementwise), vec![i, j])
            }
            Op::Gather(indices, meeting) => {
                let (i, j) = *meeting.pairs(lengths[0], indices.len()).get(pair)?;
                let alone = Op::Gather(list(indices, j), Meeting::Elementwise);
                (alone, vec![i])
            }
            Op::Sparse(sparse, form) => {
                let sparse = match sparse {
                    Sparse::F32(bsr, dense) => {
                        let set = if bsr.len() == 1 { 0 } else { pair };
                        Sparse::F32(one_set(bsr, set), element(dense, pair))
                    }
                    Sparse::F16(bsr, dense) => {
                        let set = if bsr.len() == 1 { 0 } else { pair };
                        Sparse::F16(one_set(bsr, set), element(dense, pair))
                    }
                };
                (Op::Sparse(sparse, *form), vec![])
            }
            Op::Sampled(topology, factors) => {
                let factors = factors.each_ref().map(|factor| element(factor, pair));
                (Op::Sampled(topology.clone(), factors), vec![])
            }
            Op::Values(values) => {
                let (values, chosen) = values.alone(pair, lengths)?;
                (Op::Values(values), chosen)
            }
            Op::Image(image) => (Op::Image(image.alone(pair)), vec![pair]),
            Op::Whole(_) | Op::Entries(..) => return None,
        })
    }
}

fn one_set<T: Copy>(bsr: &Bsr<T>, set: usize) -> Bsr<T> {
    Bsr::new(bsr.topology(), bsr.set(set).to_vec()).expect("a set")
}
