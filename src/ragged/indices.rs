//! Lists of indices: the rows of an element that an operation reads or writes.

use core::fmt;
use core::hash::{Hash, Hasher};
use std::any::Any;
use std::sync::{Arc, OnceLock};

use super::derived::Derived;
use super::identity::hash_of;
use super::{Layout, Ragged};
use crate::error::Named;
use crate::error::{Count, Result};

/// Lists of indices along the first axis, one list per element, for [`gather`](crate::Tensor::gather),
/// [`scatter_add`](crate::Tensor::scatter_add) and [`scatter_set`](crate::Tensor::scatter_set).
///
/// Takes ownership of a batch of rows. Each `Indices` is planned and uploaded once; separately built equal indices
/// share the plan, too. Clones share the data.
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
    lists: Layout,
    values: Vec<u32>,
    hash: OnceLock<u64>,
    derived: Derived,
}

impl Indices {
    /// Uses the rows of a batch as lists. Copies neither the indices nor the offsets.
    ///
    /// # Errors
    /// [`Error::Rank`](crate::Error::Rank) unless the rank is 1.
    pub fn new(lists: Ragged<u32>) -> Result<Indices> {
        let (layout, values) = lists.into_parts();
        layout.check_rank(1).named("indices")?;
        Ok(Indices(Arc::new(Inner {
            lists: layout,
            values,
            hash: OnceLock::new(),
            derived: Derived::default(),
        })))
    }

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.0.lists.len()
    }

    /// Whether there are no lists. A batch of empty lists is not empty.
    pub fn is_empty(&self) -> bool {
        self.0.lists.is_empty()
    }

    /// List `i`.
    ///
    /// # Panics
    /// When there is no list `i`.
    pub fn list(&self, i: usize) -> &[u32] {
        &self.0.values[self.0.lists.offsets().range(i)]
    }

    /// All lists, end to end.
    pub(crate) fn values(&self) -> &[u32] {
        &self.0.values
    }

    /// The layout of the lists within [`values`](Self::values).
    pub(crate) fn lists(&self) -> &Layout {
        &self.0.lists
    }

    /// The cached data derived from these indices, made now if it is missing.
    pub(crate) fn derived<V: Any + Send + Sync>(
        &self,
        make: impl FnOnce() -> Result<Arc<V>>,
    ) -> Result<Arc<V>> {
        self.0.derived.get_or_make([0; 2], make)
    }
}

impl PartialEq for Indices {
    fn eq(&self, other: &Indices) -> bool {
        let (a, b) = (&*self.0, &*other.0);
        Arc::ptr_eq(&self.0, &other.0) || (a.lists == b.lists && a.values == b.values)
    }
}

impl Eq for Indices {}

/// Hashes all lists. The hash is computed once and cached.
impl Hash for Indices {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let contents = || (self.lists().offsets().as_slice(), self.values());
        state.write_u64(*self.0.hash.get_or_init(|| hash_of(contents())));
    }
}

impl fmt::Debug for Indices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lists, values) = (Count(self.len(), "list"), self.values().len());
        write!(f, "Indices({lists}, {values} in all)")
    }
}
