//! Lists of indices: which rows of an element an operation takes, or writes to.

use core::fmt;
use std::sync::Arc;

use super::{Layout, Ragged};
use crate::error::{Count, Error, Result};

/// Lists of indices along the first axis of elements, a list an element: for [`gather`](crate::Tensor::gather),
/// [`scatter_add`](crate::Tensor::scatter_add) and [`scatter_set`](crate::Tensor::scatter_set).
///
/// Made once, of a batch of rows that it takes over. What operations plan from it is kept with it, so the same indices are
/// planned and uploaded once: keep them rather than make equal ones. Cloning shares.
///
/// ```
/// use vsla::{Indices, Ragged};
///
/// let indices = Indices::new(Ragged::from_rows([vec![2, 0, 2], vec![]])?)?;
/// assert_eq!((indices.len(), indices.list(0)), (2, [2, 0, 2].as_slice()));
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone)]
pub struct Indices(Arc<Inner>);

struct Inner {
    /// Never that of a tensor: launches that a tensor's layout keeps hold it.
    lists: Layout,
    values: Vec<u32>,
}

impl Indices {
    /// The lists that are the rows of a batch. Copies the indices no more than the offsets.
    ///
    /// # Errors
    /// [`Error::Rank`] unless the rank is 1.
    pub fn new(lists: Ragged<u32>) -> Result<Indices> {
        let (layout, values) = lists.into_parts();
        if layout.rank() != 1 {
            return Err(Error::Rank {
                op: "indices",
                element: None,
                expected: "1".into(),
                got: layout.rank(),
            });
        }
        let lists = Layout::from_offsets(layout.offsets().clone());
        Ok(Indices(Arc::new(Inner { lists, values })))
    }

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.0.lists.len()
    }

    /// Whether there are no lists. Lists without indices are lists.
    pub fn is_empty(&self) -> bool {
        self.0.lists.is_empty()
    }

    /// List `i`.
    ///
    /// # Panics
    /// When there is no list `i`, as indexing a slice does.
    pub fn list(&self, i: usize) -> &[u32] {
        &self.0.values[self.0.lists.offsets().range(i)]
    }

    /// All lists, end to end.
    pub(crate) fn values(&self) -> &[u32] {
        &self.0.values
    }

    /// Where each list lies among the values. Its id is that of the indices.
    pub(crate) fn lists(&self) -> &Layout {
        &self.0.lists
    }
}

impl fmt::Debug for Indices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lists, values) = (Count(self.len(), "list"), self.values().len());
        write!(f, "Indices({lists}, {values} in all)")
    }
}
