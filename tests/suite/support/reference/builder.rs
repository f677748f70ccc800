//! Builds results from the extents and values of each element.

use vsla::{Layout, Ragged, Shape};

use super::Sums;
use super::scalar::Arithmetic;

/// The extents of one element, row-major.
pub(super) struct Extents(pub(super) Vec<usize>);

impl Extents {
    pub(super) fn of<T: Copy>(batch: &Ragged<T>, element: usize) -> Extents {
        let shape = batch.layout().shape(element);
        Extents(
            shape
                .extents()
                .iter()
                .map(|&extent| extent as usize)
                .collect(),
        )
    }

    pub(super) fn size(&self) -> usize {
        self.0.iter().product()
    }

    pub(super) fn merge(&self, other: &Extents, f: impl Fn(usize, usize) -> usize) -> Extents {
        Extents(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(&m, &n)| f(m, n))
                .collect(),
        )
    }

    /// The positions of this box's values in a larger box with the same origin.
    pub(super) fn positions_in(&self, larger: &Extents) -> Vec<usize> {
        self.spaced_in(larger, &Extents(vec![1; self.0.len()]))
    }

    /// The same with a spacing of `steps` between neighbours along each axis.
    pub(super) fn spaced_in(&self, larger: &Extents, steps: &Extents) -> Vec<usize> {
        let mut positions = vec![0];
        let mut stride = 1;
        let mut strides = vec![0; self.0.len()];
        for axis in (0..self.0.len()).rev() {
            strides[axis] = stride * steps.0[axis];
            stride *= larger.0[axis];
        }
        for (&extent, stride) in self.0.iter().zip(strides) {
            positions = positions
                .iter()
                .flat_map(|&position| (0..extent).map(move |i| position + i * stride))
                .collect();
        }
        positions
    }
}

/// The values of a box within a larger one, zero elsewhere.
pub(super) fn spread<S: Arithmetic>(row: &[S], own: &Extents, larger: &Extents) -> Vec<S> {
    let mut out = vec![S::default(); larger.size()];
    for (&value, position) in row.iter().zip(own.positions_in(larger)) {
        out[position] = value;
    }
    out
}

pub(super) struct Builder<S> {
    pub(super) values: Vec<S>,
    pub(super) magnitudes: Vec<f64>,
    pub(super) terms: Vec<usize>,
    pub(super) shapes: Vec<Extents>,
}

impl<S> Default for Builder<S> {
    fn default() -> Builder<S> {
        Builder {
            values: Vec::new(),
            magnitudes: Vec::new(),
            terms: Vec::new(),
            shapes: Vec::new(),
        }
    }
}

impl<S: Arithmetic> Builder<S> {
    pub(super) fn finish(self, rank: usize) -> Sums<S> {
        let shapes = self
            .shapes
            .iter()
            .map(|extents| Shape::new(&extents.0).expect("the shape of a small result"));
        let layout = Layout::from_shapes(rank, shapes).expect("the layout of a small result");
        Sums {
            values: Ragged::from_parts(layout, self.values)
                .expect("as many values as the shapes say"),
            magnitudes: self.magnitudes,
            terms: self.terms,
        }
    }
}
