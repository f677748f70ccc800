//! Embeddings: rows of a table, selected by ids on the device.

use half::f16;

use super::Tensor;
use super::run::Call;
use crate::Result;
use crate::error::Named;
use crate::ops::embedding::{Embedding, slopes::Slopes};
use crate::ops::strided::View;
use crate::ragged::{DType, Float, Layout};

impl<T: Float> Tensor<T> {
    /// Looks up rows of this table by id, `c[.., k] = x[id, k]`.
    ///
    /// The table is a batch of one element (vocabulary, width). An element of ids of shape s becomes one of shape (s,
    /// width): n words become n rows. Ids are never read on the host, so an id outside the vocabulary gives a row of
    /// NaN and no error. Bit patterns of rows are preserved, including those of NaNs; empty elements have no rows.
    /// PyTorch calls it `embedding`. For indices on the host, [`gather_paired`](Self::gather_paired) takes rows of any
    /// type. Does not respect equivalence: the id 0 has a row.
    ///
    /// The gradient with respect to the table is, for each row, the sum of the cotangents that belong to its id.
    /// Cotangents are added in f32, in an order that depends on the ids alone: groups of 64, and the remainders before
    /// and after them, each as sums of eight. Runs give the same bits, because nothing is added atomically. |error| ≤
    /// γ_h Σ|g| with h ≤ 23 + ⌈n/512⌉ for an id that occurs n times; for f16, add half a unit in the last place. Ids
    /// outside the vocabulary add nothing.
    ///
    /// Cost: ids and the rows that they name read once, the result written once, in one dispatch. Cost of the gradient:
    /// that of [`argsort`](Tensor::argsort) of all ids as one line; then cotangents read once and the table written
    /// once, in two or three dispatches. An id that occurs n times takes about n/64 sequential steps.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let table = Ragged::from_shapes(vec![0.5f32, 1.5, 2.5, 3.5], 2, [Shape::new(&[2, 2])?])?;
    /// let ids = device.upload(&Ragged::from_rows([vec![1u32, 0], vec![], vec![7]])?)?;
    /// let rows = device.upload(&table)?.embedding(&ids)?.download_blocking()?;
    /// assert_eq!(rows.row(0), [2.5, 3.5, 0.5, 1.5]);
    /// assert_eq!((rows.shape(1), rows.shape(2)), (Shape::new(&[0, 2])?, Shape::new(&[1, 2])?));
    /// assert!(rows.row(2).iter().all(|x| x.is_nan()));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) unless the table is one element, and [`Rank`](crate::Error::Rank) unless it
    /// is a matrix, or for ids of rank 8; [`DeviceMismatch`](crate::Error::DeviceMismatch);
    /// [`SizeOverflow`](crate::Error::SizeOverflow) with the element whose rows do not fit;
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn embedding(&self, ids: &Tensor<u32>) -> Result<Tensor<T>> {
        let missing = match T::DTYPE {
            DType::F16 => u32::from(f16::NAN.to_bits()) * 0x1_0001,
            _ => f32::NAN.to_bits(),
        };
        self.embedding_or(missing, ids)
    }

    /// The same, with zeros for ids outside the vocabulary.
    pub(crate) fn embedding_or_zeros(&self, ids: &Tensor<u32>) -> Result<Tensor<T>> {
        self.embedding_or(0, ids)
    }

    fn embedding_or(&self, missing: u32, ids: &Tensor<u32>) -> Result<Tensor<T>> {
        self.check_device(ids).named("embedding")?;
        let dtype = T::DTYPE;
        let operands = [self.operand(), ids.operand()];
        Call {
            scalars: &[missing],
            ..Call::new(&self.device, Embedding { dtype }, &operands)
        }
        .one()
    }

    /// For each row of a table of this layout, the sum of the rows of this batch whose id names that row: the adjoint
    /// of [`embedding`](Self::embedding).
    pub(crate) fn embedding_slopes(&self, ids: &Tensor<u32>, table: &Layout) -> Result<Tensor<T>> {
        let line = Layout::from_lengths([ids.layout.total()])?;
        let line: Tensor<u32> = ids.run_with_layout(View::Divided, &line)?;
        let order = line.argsort(0)?;
        let dtype = T::DTYPE;
        let operands = [
            self.operand(),
            ids.operand(),
            order.operand(),
            self.shapes(table),
        ];
        let op = Slopes { dtype };
        Call::new(&self.device, op, &operands).one()
    }
}
