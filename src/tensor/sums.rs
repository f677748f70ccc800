//! Sums across the elements of a batch.

use std::cmp::Reverse;

use super::Tensor;
use crate::ragged::{Layout, MAX_RANK, Number, PairList, Shape};
use crate::{Error, Pairing, Result, host};

impl<T: Number> Tensor<T> {
    /// The sum of all elements: a batch of one element, of the smallest shape that contains all of them.
    ///
    /// Missing entries are zero, as in [`add`](Self::add). A batch without elements gives an empty element. Any rank.
    /// Integers wrap. NaN and infinity stay at their index. Respects equivalence: trailing zeros add zeros. The order
    /// of additions follows from the shapes alone. Error bound of each value: |error| ≤ γ_h Σ|x| with h = ⌈log₂ n⌉ for
    /// n elements, where Σ|x| is over the values at its index; f16 is rounded at each of these h steps, so γ is that of
    /// f16. Cost: about log₂ n launches, which together move about 5 times the batch's values, and log₂ n times those
    /// of the largest element; on the host, a few words for each element.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![], vec![10, 20, 30]])?)?;
    /// assert_eq!(x.sum_batch()?.download_blocking()?.to_vecs()?, [vec![11, 22, 30]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`SizeOverflow`](Error::SizeOverflow) if the sum does not fit; [`TooLarge`](Error::TooLarge),
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn sum_batch(&self) -> Result<Tensor<T>> {
        let op = "sum_batch";
        let groups = host::filled(op, 0, self.len())?;
        self.sums(&groups, 1).map_err(|error| error.named(op))
    }

    /// The sums of groups of elements: element g of the result is the sum of all elements i with `groups[i] == g`, of
    /// the smallest shape that contains them.
    ///
    /// There are `count` groups; a group without elements gives an empty element. Otherwise it behaves like
    /// [`sum_batch`](Self::sum_batch), with the number of elements of the largest group as n.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![5], vec![10, 20, 30]])?)?;
    /// let sums = x.sum_groups(&[0, 2, 0], 3)?.download_blocking()?;
    /// assert_eq!(sums.to_vecs()?, [vec![11, 22, 30], vec![], vec![5]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ElementCount`](Error::ElementCount) unless `groups` has one entry per element; [`Index`](Error::Index) with
    /// the first group that is not below `count`; those of [`sum_batch`](Self::sum_batch).
    pub fn sum_groups(&self, groups: &[u32], count: usize) -> Result<Tensor<T>> {
        let op = "sum_groups";
        if groups.len() != self.len() {
            return Err(Error::ElementCount {
                op,
                expected: self.len(),
                got: groups.len(),
            });
        }
        if let Some(position) = groups.iter().position(|&group| group as usize >= count) {
            return Err(Error::Index {
                op,
                element: None,
                position,
                index: groups[position] as usize,
                len: count,
            });
        }
        self.sums(groups, count).map_err(|error| error.named(op))
    }

    /// Adds the elements of each group in pairs of similar length, then these sums, and so on.
    fn sums(&self, groups: &[u32], count: usize) -> Result<Tensor<T>> {
        let op = "sum_groups";
        let layout = self.layout();
        let mut members = host::collect(op, 0..groups.len() as u32)?;
        members.sort_unstable_by_key(|&i| {
            let element = i as usize;
            (groups[element], Reverse(layout.length(element)), i)
        });
        let mut sizes = host::zeroed::<u32>(op, count)?;
        groups.iter().for_each(|&group| sizes[group as usize] += 1);
        // Groups whose sums are not complete, each with its number of remaining members.
        let mut open = host::collect(op, (0u32..).zip(sizes))?;
        // Each batch of sums ends with an empty element, which takes the place of a missing partner.
        let nothing = Layout::uniform(1, Shape::new(&[0; MAX_RANK][..layout.rank()])?)?;
        let nothing = self.device().full(&nothing, T::default())?;
        let mut batch = self.join(&[&nothing])?;
        // Complete sums of each step, and the place of each group among all of them.
        let mut complete: Vec<Tensor<T>> = Vec::new();
        let mut places = host::zeroed::<u32>(op, count)?;
        let mut place = 0;
        loop {
            let empty = batch.len() as u32 - 1;
            let (mut rest, mut members_left) = (Vec::new(), &members[..]);
            let (mut chosen, mut pairs) = (Vec::new(), Vec::new());
            for &(group, size) in &open {
                let (own, others) = members_left.split_at(size as usize);
                members_left = others;
                if size > 1 {
                    let both = own.chunks(2);
                    let both = both.map(|both| (both[0], *both.get(1).unwrap_or(&empty)));
                    host::extend(op, &mut pairs, both)?;
                    host::push(op, &mut rest, (group, size.div_ceil(2)))?;
                } else {
                    host::push(op, &mut chosen, *own.first().unwrap_or(&empty))?;
                    places[group as usize] = place;
                    place += 1;
                }
            }
            if !chosen.is_empty() || count == 0 {
                complete.push(batch.select(&chosen)?);
            }
            if pairs.is_empty() {
                break;
            }
            members.truncate(pairs.len());
            members
                .iter_mut()
                .zip(0..)
                .for_each(|(member, i)| *member = i);
            host::push(op, &mut pairs, (empty, empty))?;
            let pairs = PairList::new(pairs)?;
            batch = batch.pair(&batch, Pairing::List(&pairs))?.add()?;
            open = rest;
        }
        let others: Vec<&Tensor<T>> = complete.iter().skip(1).collect();
        let all = complete[0].join(&others)?;
        match places.is_sorted() {
            true => Ok(all),
            false => all.select(&places),
        }
    }
}
