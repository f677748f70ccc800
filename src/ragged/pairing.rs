//! Pairs of elements from two batches.

use core::fmt;
use core::hash::{Hash, Hasher};
use std::sync::Arc;

use super::Layout;
use super::identity::hash_of;
use crate::error::Named;
use crate::error::{Count, Error, Result, Side};
use crate::host;

/// Determines which elements of two batches are paired.
///
/// | pairing | pairs, in order | needs |
/// | --- | --- | --- |
/// | `Elementwise` | (0, 0), (1, 1), …, (n−1, n−1) | batches of one size |
/// | `OneToAll` | (0, 0), (0, 1), …, (0, n−1) | a left batch of one element |
/// | `AllToOne` | (0, 0), (1, 0), …, (m−1, 0) | a right batch of one element |
/// | `AllToAll` | (0, 0), (0, 1), …, (1, 0), …: pair p is (p / n, p mod n) | nothing |
/// | `List` | as listed; repeats are allowed | every index inside its batch |
///
/// where m is the number of elements on the left and n that on the right. Operands are not copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pairing<'a> {
    /// Element i with element i. Binary tensor methods use this pairing by default.
    Elementwise,
    /// The one element on the left with every element on the right.
    OneToAll,
    /// Every element on the left with the one element on the right, such as the weights of a layer.
    AllToOne,
    /// Every element on the left with every element on the right. The left index varies slowest.
    AllToAll,
    /// Exactly these pairs.
    List(&'a PairList),
}

/// A list of (left, right) indices, for [`Pairing::List`].
///
/// The list and its hash are computed once, here; a pairing of batches with it compares their sizes with the largest
/// indices, whatever the number of pairs. Keep the list as long as you use it again, for instance through a training
/// loop: the plans and device copies that were made for it are then found without reading it. Equal lists that were
/// made separately share plans, too. Clones share the data.
///
/// ```
/// use vsla::{Device, Pairing, Ragged, batch::PairList};
///
/// let device = Device::cpu();
/// let x = device.upload(&Ragged::from_rows([vec![1, 2], vec![3]])?)?;
/// let crosswise = PairList::new([(0, 1), (1, 0)])?;
/// let mut y = x.clone();
/// for _ in 0..3 {
///     y = y.pair(&x, Pairing::List(&crosswise))?.add()?;
/// }
/// assert_eq!(y.download_blocking()?.to_vecs()?, [vec![10, 2], vec![6, 6]]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PairList(Arc<List>);

impl PairList {
    /// Makes a list. Any indices are valid: [`Tensor::pair`](crate::Tensor::pair) compares them with the batches.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] for more than 2³² − 1 pairs; [`Error::OutOfMemory`].
    pub fn new(pairs: impl IntoIterator<Item = (u32, u32)>) -> Result<PairList> {
        let pairs = host::collect(pairs).named("pairs")?;
        pair_count(pairs.len() as u128).named("pairs")?;
        let ends = pairs.iter().fold([0; 2], |[left, right], &(l, r)| {
            [left.max(l as usize + 1), right.max(r as usize + 1)]
        });
        Ok(PairList(Arc::new(List {
            hash: hash_of(&pairs[..]),
            pairs,
            ends,
        })))
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.0.pairs.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.0.pairs.is_empty()
    }

    /// The pairs.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.0.pairs
    }
}

impl fmt::Debug for PairList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PairList({})", Count(self.len(), "pair"))
    }
}

/// A pairing that was checked against the sizes of both batches. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Pairs {
    kind: Kind,
    len: usize,
    right: usize,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Elementwise,
    OneToAll,
    AllToAll,
    List(PairList),
}

/// Pairs and their hash. Lists with equal hashes are compared by contents.
#[derive(PartialEq, Eq)]
struct List {
    hash: u64,
    pairs: Vec<(u32, u32)>,
    /// The sizes of the smallest batches that hold all indices.
    ends: [usize; 2],
}

impl Hash for List {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Pairs {
    /// Pairs element i with element i.
    pub fn elementwise(left: &Layout, right: &Layout) -> Result<Pairs> {
        if left.len() != right.len() {
            return Err(Error::BatchSize {
                op: "",
                left: left.len(),
                right: right.len(),
                pairing: true,
                spread: Vec::new(),
            });
        }
        Ok(Pairs {
            kind: Kind::Elementwise,
            len: left.len(),
            right: right.len(),
        })
    }

    /// The requested pairing, checked. For a list, only the batch sizes that it needs are compared.
    pub fn new(left: &Layout, right: &Layout, pairing: Pairing<'_>) -> Result<Pairs> {
        let (kind, len) = match pairing {
            Pairing::Elementwise => return Pairs::elementwise(left, right),
            Pairing::OneToAll if left.len() != 1 => {
                return Err(Error::Pairing {
                    op: "",
                    expected: "a left batch of 1 element".into(),
                    got: left.len(),
                });
            }
            Pairing::AllToOne if right.len() != 1 => {
                return Err(Error::Pairing {
                    op: "",
                    expected: "a right batch of 1 element".into(),
                    got: right.len(),
                });
            }
            Pairing::OneToAll => (Kind::OneToAll, right.len()),
            // The same pairs.
            Pairing::AllToOne => (Kind::AllToAll, left.len()),
            Pairing::AllToAll => (Kind::AllToAll, all(left.len(), right.len())?),
            Pairing::List(list) => {
                let [least_left, least_right] = list.0.ends;
                if left.len() < least_left || right.len() < least_right {
                    check_list(left.len(), right.len(), list.as_slice())?;
                }
                (Kind::List(list.clone()), list.len())
            }
        };
        Ok(Pairs {
            kind,
            len,
            right: right.len(),
        })
    }

    /// The number of pairs, which is the number of elements in the result.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The (left, right) indices of pair `pair`. Panics unless `pair` is below [`len`](Self::len).
    pub fn get(&self, pair: usize) -> (usize, usize) {
        assert!(pair < self.len, "pair {pair} of {}", self.len);
        match &self.kind {
            Kind::Elementwise => (pair, pair),
            Kind::OneToAll => (0, pair),
            // A pair exists, so the right batch is not empty.
            Kind::AllToAll => (pair / self.right, pair % self.right),
            Kind::List(list) => {
                let (left, right) = list.as_slice()[pair];
                (left as usize, right as usize)
            }
        }
    }

    /// Every pair, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + '_ {
        (0..self.len).map(|pair| self.get(pair))
    }

    /// Calls `each` with the two lengths of every pair, in order, until it returns an error.
    pub fn try_lengths(
        &self,
        left: &Layout,
        right: &Layout,
        mut each: impl FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let (a, b) = (left.offsets().as_slice(), right.offsets().as_slice());
        if self.is_elementwise() {
            let mut both = a.windows(2).zip(b.windows(2));
            return both.try_for_each(|(a, b)| each(a[1] - a[0], b[1] - b[0]));
        }
        self.iter()
            .try_for_each(|(i, j)| each(a[i + 1] - a[i], b[j + 1] - b[j]))
    }

    /// Whether element i is paired with element i.
    pub fn is_elementwise(&self) -> bool {
        matches!(self.kind, Kind::Elementwise)
    }

    /// The pairing that was requested, or another one that gives the same pairs.
    pub fn pairing(&self) -> Pairing<'_> {
        match &self.kind {
            Kind::Elementwise => Pairing::Elementwise,
            Kind::OneToAll => Pairing::OneToAll,
            Kind::AllToAll => Pairing::AllToAll,
            Kind::List(list) => Pairing::List(list),
        }
    }

    /// The same pairs in the same order, for the batches in the other order; `left` is the size of the left batch.
    pub fn swapped(&self, left: usize) -> Result<Pairs> {
        let kind = match &self.kind {
            Kind::Elementwise => Kind::Elementwise,
            _ => Kind::List(PairList::new(
                self.iter().map(|(i, j)| (j as u32, i as u32)),
            )?),
        };
        Ok(Pairs {
            kind,
            len: self.len,
            right: left,
        })
    }

    /// The size of the list in bytes; 0 for other pairings.
    pub fn bytes(&self) -> usize {
        match &self.kind {
            Kind::List(list) => size_of_val(list.as_slice()),
            _ => 0,
        }
    }
}

fn all(left: usize, right: usize) -> Result<usize> {
    pair_count(left as u128 * right as u128)?;
    Ok(left * right)
}

fn pair_count(pairs: u128) -> Result<()> {
    if pairs > u32::MAX as u128 {
        return Err(Error::size_overflow(format!("a batch of {pairs} pairs")));
    }
    Ok(())
}

fn check_list(left: usize, right: usize, pairs: &[(u32, u32)]) -> Result<()> {
    for (pair, &(l, r)) in pairs.iter().enumerate() {
        for (side, index, len) in [
            (Side::Left, l as usize, left),
            (Side::Right, r as usize, right),
        ] {
            if index >= len {
                return Err(Error::PairIndex {
                    op: "",
                    pair,
                    side,
                    index,
                    len,
                });
            }
        }
    }
    Ok(())
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    fn listed(pairs: &[(u32, u32)]) -> PairList {
        PairList::new(pairs.iter().copied()).unwrap()
    }

    fn layout(elements: usize) -> Layout {
        Layout::from_lengths(vec![1; elements]).unwrap()
    }

    fn pairs(left: usize, right: usize, pairing: Pairing<'_>) -> Result<Vec<(usize, usize)>> {
        let pairs = Pairs::new(&layout(left), &layout(right), pairing).named("pair")?;
        let one = pairing == Pairing::AllToOne;
        let same = if one { Pairing::AllToAll } else { pairing };
        assert_eq!(pairs.pairing(), same);
        assert_eq!(pairs.iter().len(), pairs.len());
        Ok(pairs.iter().collect())
    }

    #[apply(unit_test)]
    fn pairs_come_in_the_documented_order() {
        let all = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)];
        assert_eq!(pairs(2, 3, Pairing::AllToAll), Ok(all.into()));
        assert_eq!(pairs(1, 3, Pairing::OneToAll), Ok(all[..3].into()));
        assert_eq!(pairs(2, 1, Pairing::AllToOne), Ok(vec![(0, 0), (1, 0)]));
        assert_eq!(pairs(0, 1, Pairing::AllToOne), Ok(vec![]));
        let list = [(1, 0), (0, 2), (1, 0)];
        assert_eq!(
            pairs(2, 3, Pairing::List(&listed(&list))),
            Ok(vec![(1, 0), (0, 2), (1, 0)])
        );
        for pairing in [Pairing::AllToAll, Pairing::List(&listed(&[]))] {
            assert_eq!(pairs(2, 0, pairing), Ok(vec![]));
        }
        assert_eq!(pairs(2, 2, Pairing::Elementwise), Ok(vec![(0, 0), (1, 1)]));
    }

    #[apply(unit_test)]
    fn impossible_pairs_are_refused() {
        let text = |error: Error| error.to_string();
        let elementwise = Pairs::elementwise(&layout(3), &layout(1)).named("add");
        assert_eq!(
            elementwise.map_err(text).unwrap_err(),
            "add: expected batches of equal size, got 3 elements and 1; pair unequal batches by AllToOne, AllToAll \
             or a List"
        );
        assert_eq!(
            pairs(2, 3, Pairing::OneToAll).map_err(text).unwrap_err(),
            "pair: expected a left batch of 1 element for this pairing, got 2; use AllToAll or a List"
        );
        assert_eq!(
            pairs(2, 3, Pairing::AllToOne).map_err(text).unwrap_err(),
            "pair: expected a right batch of 1 element for this pairing, got 3; use AllToAll or a List"
        );
        let list = listed(&[(1, 2), (0, 3)]);
        assert_eq!(
            pairs(2, 3, Pairing::List(&list)).map_err(text).unwrap_err(),
            "pair: pair 1: the right index 3 is outside a batch of 3 elements"
        );
        assert_eq!(
            pairs(1 << 16, 1 << 16, Pairing::AllToAll)
                .map_err(text)
                .unwrap_err(),
            "pair: a batch of 4294967296 pairs exceeds the 32-bit index limit of 4294967295"
        );
    }

    #[apply(unit_test)]
    fn lists_are_known_by_their_contents() {
        let (a, b) = (layout(1), layout(1));
        let new = |pairing: Pairing<'_>| Pairs::new(&a, &b, pairing).unwrap();
        let all = || {
            [
                Pairs::elementwise(&a, &b).unwrap(),
                new(Pairing::OneToAll),
                new(Pairing::AllToAll),
                new(Pairing::List(&listed(&[]))),
                new(Pairing::List(&listed(&[(0, 0)]))),
                new(Pairing::List(&listed(&[(0, 0), (0, 0)]))),
            ]
        };
        for (i, x) in all().iter().enumerate() {
            for (j, y) in all().iter().enumerate() {
                assert_eq!((x == y, hash_of(x) == hash_of(y)), (i == j, i == j));
            }
        }
    }
}
