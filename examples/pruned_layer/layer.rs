//! The layer: its weights, and the selection of blocks to keep.

use std::error::Error;
use std::path::Path;

use vsla::io::{Any, Contents};
use vsla::{Bsr, Layout, Ragged, Shape, Topology};

use crate::check::Value;

/// Side of the square patches within which generated weights share one scale.
const PATCH: usize = 32;

pub struct Layer {
    /// Outputs and inputs.
    pub shape: [usize; 2],
    /// Row-major: one row for each output.
    pub weights: Ragged<f32>,
}

impl Layer {
    /// Random weights that resemble those of a trained layer, important in some places and negligible in others:
    /// uniform in [-1, 1), times a scale from 0.01 to 1 for each patch.
    pub fn made_up(shape: [usize; 2], seed: u64) -> vsla::Result<Layer> {
        let layout = Layout::uniform(1, Shape::new(&shape)?)?;
        let mut weights = Ragged::random(&layout, seed)?;
        let [m, n] = shape;
        let patches = [m, n].map(|side| side.div_ceil(PATCH));
        let scales = Layout::from_lengths([patches[0] * patches[1]])?;
        let scales = Ragged::random(&scales, seed ^ u64::MAX)?.cast(|u| 10f32.powf(u - 1.0))?;
        for (i, row) in weights.values_mut().chunks_exact_mut(n).enumerate() {
            let scales = &scales.values()[i / PATCH * patches[1]..];
            for (j, weight) in row.iter_mut().enumerate() {
                *weight *= scales[j / PATCH];
            }
        }
        Ok(Layer { shape, weights })
    }

    pub fn read(path: &Path) -> Result<Layer, Box<dyn Error>> {
        let weights = match Any::read(path)? {
            Any::F32(Contents::Ragged(weights)) => Some(weights),
            Any::F64(Contents::Ragged(weights)) => Some(weights.cast(|weight| weight as f32)?),
            _ => None,
        };
        let one = weights.filter(|weights| weights.len() == 1 && weights.layout().rank() == 2);
        let Some(weights) = one else {
            let problem = "expected one matrix of f32 or f64";
            return Err(format!("{}: {problem}", path.display()).into());
        };
        let shape = weights.shape(0);
        let shape = [0, 1].map(|axis| shape.extents()[axis] as usize);
        Ok(Layer { shape, weights })
    }

    /// The bias of each row of outputs: uniform random numbers.
    pub fn bias<T: Value>(&self, seed: u64) -> vsla::Result<Ragged<T>> {
        let layout = Layout::from_lengths([self.shape[0]])?;
        Ragged::random(&layout, seed.wrapping_add(2))?.cast(T::of)
    }

    /// The input of the layer: rows of uniform random numbers.
    pub fn rows<T: Value>(&self, batch: usize, seed: u64) -> vsla::Result<Ragged<T>> {
        let layout = Layout::uniform(1, Shape::new(&[batch, self.shape[1]])?)?;
        Ragged::random(&layout, seed.wrapping_add(1))?.cast(T::of)
    }

    /// The weights reduced to the blocks of the largest norms, for each share of the blocks; a share that keeps as many
    /// blocks as the one before is skipped.
    pub fn pruned<T: Value>(&self, block: [usize; 2], shares: &[f64]) -> vsla::Result<Vec<Bsr<T>>> {
        let weights = self.weights.cast(T::of)?;
        let order = self.by_norm(block)?;
        let kept = shares
            .iter()
            .map(|share| (share * order.len() as f64).round() as usize);
        let mut kept: Vec<usize> = kept.collect();
        kept.dedup();
        let of = |kept: usize| {
            let kept = order[..kept].iter().copied();
            let topology = Topology::from_unsorted(self.shape, block, kept)?;
            Bsr::sample(&topology, weights.values())
        };
        kept.into_iter().map(of).collect()
    }

    /// All blocks in order of falling norm; of equal norms the one in front first.
    fn by_norm(&self, block: [usize; 2]) -> vsla::Result<Vec<(u32, u32)>> {
        let all = Topology::strided(self.shape, block, 1)?;
        let [_, columns] = all.grid();
        let mut squares = vec![0.0f64; all.len()];
        let n = self.shape[1];
        for (i, row) in self.weights.values().chunks_exact(n.max(1)).enumerate() {
            let squares = &mut squares[i / block[0] * columns..];
            for (square, weights) in squares.iter_mut().zip(row.chunks(block[1])) {
                *square += weights.iter().map(|&w| f64::from(w).powi(2)).sum::<f64>();
            }
        }
        let mut order: Vec<_> = all.blocks().zip(squares).collect();
        order.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        Ok(order.into_iter().map(|(place, _)| place).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_blocks_are_kept() {
        let layer = Layer::made_up([40, 50], 3).unwrap();
        let block = [8, 16];
        let norm = |(row, column): (u32, u32)| {
            let mut sum = 0.0;
            for i in (row as usize * 8)..40.min(row as usize * 8 + 8) {
                for j in (column as usize * 16)..50.min(column as usize * 16 + 16) {
                    sum += f64::from(layer.weights.values()[i * 50 + j]).powi(2);
                }
            }
            sum
        };
        let pruned = layer.pruned::<f32>(block, &[0.0, 0.3, 0.31, 1.0]).unwrap();
        assert_eq!(
            pruned
                .iter()
                .map(|p| p.topology().len())
                .collect::<Vec<_>>(),
            [0, 6, 20]
        );
        let all = pruned[2].topology().blocks();
        let (kept, gone): (Vec<_>, Vec<_>) =
            all.partition(|place| pruned[1].topology().blocks().any(|kept| kept == *place));
        let least = kept.into_iter().map(norm).fold(f64::INFINITY, f64::min);
        assert!(gone.into_iter().map(norm).all(|norm| norm < least));
        assert_eq!(pruned[2].to_dense().unwrap(), layer.weights);
    }
}
